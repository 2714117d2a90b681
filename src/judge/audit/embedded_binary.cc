#include "judge/audit/embedded_binary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "base/text.h"
#include "judge/audit/audit.h"

namespace warpsmith::audit {
namespace {

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
    if (IsWordCharacter(c)) return Word();
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
    while (IsWordCharacter(Peek())) Next();
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
    while (IsWordCharacter(Peek()) || Peek() == '.' ||
           (Peek() == '\'' && IsWordCharacter(Peek(1))) || IsExponentSign()) {
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

using std::string_view_literals::operator""sv;

constexpr size_t kSmallestDense = 256;  // shorter ones say nothing about their density
constexpr double kDense = 0.85;

struct Magic {
  std::string_view bytes, what;
  bool at_start = false;  // too short to look for anywhere
};
constexpr std::array<Magic, 8> kMagics = {{{"\x7f"
                                            "ELF"sv,
                                            "an ELF file"},
                                           {"\xb1\x43\x62\x46"sv, "a fat binary's wrapper"},
                                           {"\x50\xed\x55\xba"sv, "a fat binary"},
                                           {"PK\x03\x04"sv, "a ZIP archive", true},
                                           {"\x1f\x8b\x08"sv, "gzip data", true},
                                           {"\x28\xb5\x2f\xfd"sv, "zstd data", true},
                                           {"\xfd"
                                            "7zXZ"sv,
                                            "xz data", true},
                                           {"BZh9"sv, "bzip2 data", true}}};

bool IsBase64(char c) { return IsWordCharacter(c) || c == '+' || c == '/' || c == '=' || c == '-'; }

// The longest run of base64 (or hexadecimal) digits; line ends do not break it.
size_t LongestEncodedRun(std::string_view bytes) {
  size_t longest = 0, run = 0;
  for (const char c : bytes) {
    if (c == '\n' || c == '\r') continue;
    run = IsBase64(c) ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

size_t DistinctBytes(std::string_view bytes) {
  std::array<bool, 256> seen{};
  for (const char c : bytes) seen.at(static_cast<unsigned char>(c)) = true;
  return static_cast<size_t>(std::count(seen.begin(), seen.end(), true));
}

bool IsText(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte < 0x7f) || c == '\n' || c == '\t' || c == '\r';
  });
}

bool IsDense(const Literal& literal) {
  if (literal.bytes.size() < kSmallestDense) return false;
  if (literal.kind == LiteralKind::kString && IsText(literal.bytes)) return false;
  return Density(literal.bytes) > kDense;
}

std::optional<std::string> FoundIn(const Literal& literal) {
  const std::string_view bytes = literal.bytes;
  for (const Magic& magic : kMagics) {
    if (magic.at_start ? bytes.starts_with(magic.bytes) : Contains(bytes, magic.bytes)) {
      return std::string(magic.what);
    }
  }
  if (Contains(bytes, ".target sm_") && Contains(bytes, ".entry")) return "PTX text";
  // A run of one letter is a ruler, not a message.
  if (LongestEncodedRun(bytes) > kMaxEncodedBytes && DistinctBytes(bytes) > 12) {
    return "over " + std::to_string(kMaxEncodedBytes) + " bytes of base64 or hexadecimal digits";
  }
  if (bytes.size() > kMaxDenseBytes && IsDense(literal)) {
    return std::to_string(bytes.size()) + " bytes as dense as compressed data";
  }
  return std::nullopt;
}

std::string Place(const std::string& path, int line) { return path + ":" + std::to_string(line); }

}  // namespace

std::vector<Literal> ReadLiterals(std::string_view source) { return Reader(source).Run(); }

double Density(std::string_view bytes) {
  std::array<size_t, 256> counts{};
  for (const char c : bytes) ++counts.at(static_cast<unsigned char>(c));
  double bits = 0;
  for (const size_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(bytes.size());
    bits -= share * std::log2(share);
  }
  const double most = std::log2(static_cast<double>(std::min<size_t>(256, bytes.size())));
  return bytes.size() < 2 ? 0 : bits / most;
}

AuditFinding AuditSources(const std::map<std::string, std::string>& sources) {
  size_t literals = 0, dense_bytes = 0;
  for (const auto& [path, text] : sources) {
    for (const std::string_view taker : {".incbin"sv, "#embed"sv}) {
      if (Contains(text, taker)) {
        return Violated(kEmbeddedBinary, path + ": " + std::string(taker) + " takes a file in");
      }
    }
    for (const Literal& literal : ReadLiterals(text)) {
      ++literals;
      if (const auto found = FoundIn(literal)) {
        return Violated(kEmbeddedBinary, Place(path, literal.line) + ": a literal holds " + *found);
      }
      if (!IsDense(literal)) continue;
      dense_bytes += literal.bytes.size();
      if (dense_bytes <= kMaxDenseBytesTotal) continue;
      return Violated(kEmbeddedBinary, Place(path, literal.line) + ": literals of " +
                                           std::to_string(dense_bytes) +
                                           " bytes together are as dense as compressed data");
    }
  }
  return Clean(kEmbeddedBinary, std::to_string(literals) + " literals read");
}

}  // namespace warpsmith::audit
