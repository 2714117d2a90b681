#include "judge/profile/csv.h"

#include <algorithm>

namespace warpsmith::profile {

bool CsvReader::AtLineEnd() const {
  return at_ >= text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
}

void CsvReader::SkipEmptyLines() {
  while (at_ < text_.size() && AtLineEnd()) at_ += text_[at_] == '\r' ? 2 : 1;
}

std::string CsvReader::Quoted() {
  std::string cell;
  for (++at_; at_ < text_.size(); ++at_) {
    if (text_[at_] != '"') {
      cell += text_[at_];
      continue;
    }
    if (text_.substr(at_ + 1, 1) == "\"") {
      cell += '"';
      ++at_;
      continue;
    }
    ++at_;
    if (AtLineEnd() || text_[at_] == ',') return cell;
    --at_;  // followed by anything else it does not close the cell
    cell += '"';
  }
  truncated_ = true;
  return cell;
}

std::string CsvReader::Plain() {
  const size_t start = at_;
  while (!AtLineEnd() && text_[at_] != ',') ++at_;
  return std::string(text_.substr(start, at_ - start));
}

bool CsvReader::HasMore() {
  SkipEmptyLines();
  return at_ < text_.size();
}

std::optional<CsvRecord> CsvReader::Next() {
  if (!HasMore()) return std::nullopt;
  CsvRecord record;
  while (true) {
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    record.push_back(quoted ? Quoted() : Plain());
    if (AtLineEnd()) break;
    ++at_;  // the comma
  }
  SkipEmptyLines();
  return record;
}

std::string_view CsvReader::TakeLine() {
  const size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string_view line = text_.substr(at_, end - at_);
  at_ = std::min(end + 1, text_.size());
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool CsvReader::NextStartsWith(std::string_view prefix) {
  SkipEmptyLines();
  return text_.substr(at_).starts_with(prefix);
}

}  // namespace warpsmith::profile
