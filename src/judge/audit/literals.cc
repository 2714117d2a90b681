#include "judge/audit/literals.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace warpsmith::audit {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsWord(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<Literal> Run() {
    while (at_ < text_.size()) Step();
    FlushNumbers();
    return std::move(literals_);
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Starts(std::string_view part) const { return text_.substr(at_).starts_with(part); }
  char Next() {
    const char c = Peek();
    line_ += c == '\n' ? 1 : 0;
    ++at_;
    return c;
  }
  void Skip(size_t count) {
    for (; count > 0 && at_ < text_.size(); --count) Next();
  }

  void Step() {
    const char c = Peek();
    if (Starts("//")) return Skip(std::min(text_.find('\n', at_), text_.size()) - at_);
    if (Starts("/*")) return Skip(EndAfter("*/", 2) - at_);
    if (c == '"') return String(false);
    if (c == '\'') return Character();
    if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) return Number();
    if (IsWord(c)) return Word();
    if (!IsSpace(c)) string_open_ = false;
    if (!IsSpace(c) && std::string_view(",+-{}").find(c) == std::string_view::npos) FlushNumbers();
    Next();
  }

  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

  size_t EndAfter(std::string_view mark, size_t from) const {
    const size_t found = text_.find(mark, at_ + from);
    return found == std::string_view::npos ? text_.size() : found + mark.size();
  }

  // Names, and the prefixes of literals: u8"", L'', R"()".
  void Word() {
    const size_t begin = at_;
    while (IsWord(Peek())) Next();
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool prefix = word == "u8" || word == "u" || word == "U" || word == "L";
    const bool raw = word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR";
    if (Peek() == '"' && (prefix || raw)) return String(raw);
    if (Peek() == '\'' && prefix) return Character();
    string_open_ = false;
    FlushNumbers();
  }

  void String(bool raw) {
    FlushNumbers();
    if (!string_open_) literals_.push_back({LiteralKind::kString, line_, ""});
    string_open_ = true;
    Next();  // the quote
    if (raw) return RawString();
    while (at_ < text_.size() && Peek() != '"' && Peek() != '\n') Escaped(&literals_.back().bytes);
    if (Peek() == '"') Next();
  }

  void RawString() {
    constexpr size_t kMaxDelimiter = 16;
    const size_t open = text_.find('(', at_);
    if (open == std::string_view::npos || open - at_ > kMaxDelimiter) return;
    const std::string close = ")" + std::string(text_.substr(at_, open - at_)) + "\"";
    const size_t end = std::min(text_.find(close, open + 1), text_.size());
    literals_.back().bytes += text_.substr(open + 1, end - open - 1);
    Skip(end + close.size() - at_);
  }

  // One character of a string, or what its escape stands for.
  void Escaped(std::string* bytes) {
    const char c = Next();
    if (c != '\\' || at_ >= text_.size()) {
      bytes->push_back(c);
      return;
    }
    const char kind = Next();
    constexpr std::string_view kLetters = "abfnrtv", kMeanings = "\a\b\f\n\r\t\v";
    const size_t letter = kLetters.find(kind);
    if (letter != std::string_view::npos) return bytes->push_back(kMeanings[letter]);
    if (kind == '\n') return;  // the line goes on
    if (kind == 'x') return bytes->push_back(Digits(16, 64));
    if (kind >= '0' && kind <= '7') {
      --at_;
      return bytes->push_back(Digits(8, 3));
    }
    bytes->push_back(kind);
  }

  char Digits(int base, int most) {
    uint32_t value = 0;
    for (; most > 0; --most) {
      const int digit = HexValue(Peek());
      if (digit < 0 || digit >= base) break;
      value = value * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
      Next();
    }
    return static_cast<char>(value);
  }

  void Character() {
    Next();  // the quote
    std::string bytes;
    while (at_ < text_.size() && Peek() != '\'' && Peek() != '\n') Escaped(&bytes);
    if (Peek() == '\'') Next();
    string_open_ = false;
    AddNumber(bytes.empty() ? 0 : static_cast<unsigned char>(bytes.back()), 1);
  }

  void Number() {
    const size_t begin = at_;
    number_is_hex_ = Starts("0x") || Starts("0X");
    while (IsWord(Peek()) || Peek() == '.' || (Peek() == '\'' && IsWord(Peek(1))) ||
           IsExponentSign()) {
      Next();
    }
    std::string digits(text_.substr(begin, at_ - begin));
    std::erase(digits, '\'');
    string_open_ = false;
    if (const auto integer = Integer(digits)) return AddNumber(*integer, WidthOf(*integer));
    AddNumber(std::bit_cast<uint64_t>(std::strtod(digits.c_str(), nullptr)), 8);
  }

  bool IsExponentSign() const {
    if (Peek() != '+' && Peek() != '-') return false;
    const char before = at_ > 0 ? static_cast<char>(text_[at_ - 1] | 0x20) : '\0';
    return before == 'p' || (before == 'e' && !number_is_hex_);
  }

  static std::optional<uint64_t> Integer(std::string_view digits) {
    int base = 10;
    if (digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'x') {
      base = 16;
    } else if (digits.size() > 2 && digits[0] == '0' && (digits[1] | 0x20) == 'b') {
      base = 2;
    } else if (digits.size() > 1 && digits[0] == '0') {
      base = 8;
    }
    if (base == 16 || base == 2) digits.remove_prefix(2);
    uint64_t value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    const std::string_view suffix(parsed.ptr,
                                  static_cast<size_t>(digits.data() + digits.size() - parsed.ptr));
    const bool known = suffix.find_first_not_of("uUlLzZ") == std::string_view::npos;
    if (parsed.ec == std::errc::result_out_of_range) return ~uint64_t{0};
    return parsed.ec == std::errc() && known ? std::optional(value) : std::nullopt;
  }

  static int WidthOf(uint64_t value) {
    return value < 0x100 ? 1 : value < 0x10000 ? 2 : value < 0x1'0000'0000 ? 4 : 8;
  }

  void AddNumber(uint64_t value, int width) {
    if (numbers_.empty()) {
      numbers_line_ = line_;
      width_ = 1;
    }
    numbers_.push_back(value);
    width_ = std::max(width_, width);
  }

  void FlushNumbers() {
    if (numbers_.empty()) return;
    Literal literal{LiteralKind::kNumbers, numbers_line_, ""};
    for (const uint64_t value : numbers_) {
      for (int byte = 0; byte < width_; ++byte) {
        literal.bytes.push_back(static_cast<char>(value >> (8 * byte)));
      }
    }
    numbers_.clear();
    literals_.push_back(std::move(literal));
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1, numbers_line_ = 1, width_ = 1;
  bool string_open_ = false;  // nothing but blanks and comments since the last string
  bool number_is_hex_ = false;
  std::vector<uint64_t> numbers_;
  std::vector<Literal> literals_;
};

}  // namespace

std::vector<Literal> ReadLiterals(std::string_view source) { return Reader(source).Run(); }

}  // namespace warpsmith::audit
