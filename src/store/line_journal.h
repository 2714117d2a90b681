// A file of lines that is only appended to. A writer killed in the middle of a line leaves it torn;
// readers ignore a torn last line, the next writer cuts it off.
#ifndef WARPSMITH_STORE_LINE_JOURNAL_H_
#define WARPSMITH_STORE_LINE_JOURNAL_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/json_reader.h"
#include "base/result.h"

namespace warpsmith::store {

// The text without a last line that is torn.
std::string WholeLines(std::string text);
// All whole lines; empty for an empty file.
Result<std::string> ReadWholeLines(const std::filesystem::path& path);

// An object's text, "{...}", as a line (without its end) that begins with the digest of that text:
// {"sha256":"...", and the rest.
std::string WithLineDigest(const std::string& object);
// That `text`, which `line` was read from, fits its digest. Lines of earlier programs have none.
Status CheckLineDigest(const std::string& place, const JsonReader& line, std::string_view text);

// Made if it is missing. One writer at a time: the caller holds a lock.
class LineJournal {
 public:
  static Result<LineJournal> Open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  bool empty() const { return file_.bytes() == 0; }

  // `line` ends in the only newline it has. A full disk leaves nothing of it behind.
  Status Append(std::string_view line) { return file_.Append(line); }
  Status Sync() { return file_.Sync(); }  // what was appended survives a power cut

 private:
  explicit LineJournal(AppendFile file) : file_(std::move(file)) {}
  AppendFile file_;
};

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_LINE_JOURNAL_H_
