#include "screen.h"

#include <algorithm>
#include <charconv>

namespace warpsmith::attacks {
namespace {

class Terminal {
 public:
  void Write(std::string_view text) {
    while (!text.empty()) {
      if (text.starts_with("\x1b[")) {
        text.remove_prefix(Escape(text));
        continue;
      }
      Put(text.front());
      text.remove_prefix(1);
    }
  }
  std::vector<std::string> lines = {""};

 private:
  void Put(char c) {
    if (c == '\n') {
      ++row_;
      column_ = 0;
      if (row_ == lines.size()) lines.emplace_back();
    } else if (c == '\r') {
      column_ = 0;
    } else {
      std::string& line = lines[row_];
      if (column_ >= line.size()) line.resize(column_ + 1, ' ');
      line[column_++] = c;
    }
  }

  // How many characters of the text it takes.
  size_t Escape(std::string_view text) {
    const size_t end = std::min(text.find_first_not_of("0123456789;", 2), text.size() - 1);
    size_t number = 0;
    std::from_chars(text.data() + 2, text.data() + end, number);
    std::string& line = lines[row_];
    if (text[end] == 'A') row_ -= std::min(row_, std::max<size_t>(number, 1));
    if (text[end] == 'K' && number == 2) line.clear();
    if (text[end] == 'K' && number == 0) line.resize(std::min(line.size(), column_));
    return end + 1;
  }

  size_t row_ = 0, column_ = 0;
};

}  // namespace

std::vector<std::string> Screen(std::string_view text) {
  Terminal terminal;
  terminal.Write(text);
  return std::move(terminal.lines);
}

}  // namespace warpsmith::attacks
