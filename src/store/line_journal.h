// A file of lines that is only appended to. A writer killed in the middle of a line leaves it torn;
// readers ignore a torn last line, the next writer cuts it off.
#ifndef WARPSMITH_STORE_LINE_JOURNAL_H_
#define WARPSMITH_STORE_LINE_JOURNAL_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "util/result.h"

namespace warpsmith::store {

// All whole lines; empty for an empty file.
Result<std::string> ReadWholeLines(const std::filesystem::path& path);

// Made if it is missing. One writer at a time: the caller holds a lock.
class LineJournal {
 public:
  static Result<LineJournal> Open(const std::filesystem::path& path);
  LineJournal(LineJournal&& other) noexcept
      : path_(std::move(other.path_)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        bytes_(other.bytes_) {}
  LineJournal& operator=(LineJournal&&) = delete;
  ~LineJournal();

  const std::filesystem::path& path() const { return path_; }
  bool empty() const { return bytes_ == 0; }

  // `line` ends in the only newline it has. A full disk leaves nothing of it behind.
  Status Append(std::string_view line);
  Status Sync();  // what was appended survives a power cut

 private:
  LineJournal(std::filesystem::path path, int descriptor, int64_t bytes)
      : path_(std::move(path)), descriptor_(descriptor), bytes_(bytes) {}

  std::filesystem::path path_;
  int descriptor_;
  int64_t bytes_;  // of whole lines
};

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_LINE_JOURNAL_H_
