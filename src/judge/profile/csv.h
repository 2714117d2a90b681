// Comma-separated records (RFC 4180), read forgivingly: what cannot be a quote is a character.
#ifndef WARPSMITH_JUDGE_PROFILE_CSV_H_
#define WARPSMITH_JUDGE_PROFILE_CSV_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::profile {

using CsvRecord = std::vector<std::string>;

// Reads records one by one. Lines end in LF or CRLF; a quoted cell may hold both, and commas, and
// quotes doubled. A quote inside a quoted cell that no comma, line end or quote follows is taken as
// it is. Empty lines are skipped. Every text is readable: there are no errors but Truncated().
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  std::optional<CsvRecord> Next();  // nullopt at the end
  bool HasMore();
  // The rest of the current line as it stands, before Next(); moves past it.
  std::string_view TakeLine();
  // What Next() would read begins with `prefix`.
  bool NextStartsWith(std::string_view prefix);
  // The text ended inside a quoted cell.
  bool Truncated() const { return truncated_; }

 private:
  void SkipEmptyLines();
  bool AtLineEnd() const;
  std::string Quoted();
  std::string Plain();

  std::string_view text_;
  size_t at_ = 0;
  bool truncated_ = false;
};

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_CSV_H_
