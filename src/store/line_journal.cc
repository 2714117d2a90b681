#include "store/line_journal.h"

#include "base/file.h"

namespace warpsmith::store {

std::string WholeLines(std::string text) {
  const size_t last = text.rfind('\n');
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

Result<std::string> ReadWholeLines(const std::filesystem::path& path) {
  return WholeLines(TRY(ReadFile(path)));
}

Result<LineJournal> LineJournal::Open(const std::filesystem::path& path) {
  std::error_code unknown;
  const bool missing = !std::filesystem::exists(path, unknown) && !unknown;
  const size_t whole_bytes = missing ? 0 : TRY(ReadWholeLines(path)).size();
  return LineJournal(TRY(AppendFile::Open(path, static_cast<int64_t>(whole_bytes))));
}

}  // namespace warpsmith::store
