#include "store/line_journal.h"

#include "base/file.h"
#include "base/sha256.h"

namespace warpsmith::store {
namespace {

constexpr std::string_view kDigestStart = "{\"sha256\":\"";
constexpr size_t kDigestDigits = 64;

}  // namespace

std::string WholeLines(std::string text) {
  const size_t last = text.rfind('\n');
  text.resize(last == std::string::npos ? 0 : last + 1);
  return text;
}

Result<std::string> ReadWholeLines(const std::filesystem::path& path) {
  return WholeLines(TRY(ReadFile(path)));
}

std::string WithLineDigest(const std::string& object) {
  return std::string(kDigestStart) + Sha256Hex(object) + "\"," + object.substr(1);
}

Status CheckLineDigest(const std::string& place, const JsonReader& line, std::string_view text) {
  if (!line.Has("sha256")) return {};
  const size_t rest = kDigestStart.size() + kDigestDigits + 2;
  if (text.size() > rest && text == WithLineDigest("{" + std::string(text.substr(rest)))) return {};
  return Error{ErrorCode::kBadInput, place + ": not what was written: its SHA-256 is another",
               "fetch the file again, or remove the line so that it is made again"};
}

Result<LineJournal> LineJournal::Open(const std::filesystem::path& path) {
  std::error_code unknown;
  const bool missing = !std::filesystem::exists(path, unknown) && !unknown;
  const size_t whole_bytes = missing ? 0 : TRY(ReadWholeLines(path)).size();
  return LineJournal(TRY(AppendFile::Open(path, static_cast<int64_t>(whole_bytes))));
}

}  // namespace warpsmith::store
