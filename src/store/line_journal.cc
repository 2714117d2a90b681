#include "store/line_journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "util/file.h"

namespace warpsmith::store {
namespace {

Error Failed(std::string_view action, const std::filesystem::path& path) {
  return {ErrorCode::kIo, std::string(action) + " " + path.string() + ": " + std::strerror(errno),
          "look at free space and permissions; the lines before are unharmed"};
}

}  // namespace

Result<std::string> ReadWholeLines(const std::filesystem::path& path) {
  std::string text = TRY(ReadFile(path));
  const size_t last = text.rfind('\n');
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

Result<LineJournal> LineJournal::Open(const std::filesystem::path& path) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return Failed("opening", path);
  LineJournal journal(path, descriptor, 0);
  journal.bytes_ = static_cast<int64_t>(TRY(ReadWholeLines(path)).size());
  if (ftruncate(descriptor, journal.bytes_) != 0) return Failed("cutting a torn line off", path);
  return journal;
}

LineJournal::~LineJournal() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status LineJournal::Append(std::string_view line) {
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(descriptor_, line.data() + written, line.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const Error error = Failed("appending to", path_);
      if (ftruncate(descriptor_, bytes_) != 0) return Failed("taking a torn line back from", path_);
      return error;
    }
    written += static_cast<size_t>(count);
  }
  bytes_ += static_cast<int64_t>(line.size());
  return {};
}

Status LineJournal::Sync() {
  if (fdatasync(descriptor_) != 0) return Failed("syncing", path_);
  return {};
}

}  // namespace warpsmith::store
