#include "task/launch_expression.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/cuda_tokens.h"
#include "core/expression.h"

namespace warpsmith::task {
namespace {

constexpr int kMostSteps = 16;        // names that mean names that mean ...
constexpr size_t kMostBytes = 2'000;  // of an expression

const std::set<std::string_view> kDivideUp = {"ceil_div", "cdiv",   "ceilDiv", "CEIL_DIV",
                                              "div_up",   "divUp",  "DIV_UP",  "ceildiv",
                                              "CeilDiv",  "cdiv_up"};
const std::set<std::string_view> kCastTypes = {"int",     "long",     "unsigned",
                                               "size_t",  "int32_t",  "uint32_t",
                                               "int64_t", "uint64_t", "static_cast"};

class Converter {
 public:
  Converter(const Meaning& meaning, const std::function<bool(std::string_view)>& is_size)
      : meaning_(meaning), is_size_(is_size) {}

  std::optional<std::string> Convert(std::string_view text, int steps) const {
    const TokenList list = Tokenize(text);
    std::string out;
    for (size_t i = 0; i < list.size(); ++i) {
      if (IsCast(list, i)) {
        i = AfterCast(list, i);
        continue;
      }
      const auto part = Part(list, i, steps);
      if (!part || out.size() + part->size() > kMostBytes) return std::nullopt;
      out += *part;
    }
    return out;
  }

 private:
  // (int) x    int(x)    static_cast<int>(x)
  static bool IsCast(const TokenList& list, size_t i) {
    const bool parenthesised = list.Is(i, "(") && i + 1 < list.size() &&
                               kCastTypes.contains(list[i + 1].text) && list.closing[i] <= i + 4 &&
                               list.Is(list.closing[i], ")") && list.closing[i] + 1 < list.size();
    return parenthesised || kCastTypes.contains(list[i].text) || list.Is(i, "std") ||
           (list.Is(i, "::") && i > 0);
  }
  static size_t AfterCast(const TokenList& list, size_t i) {
    if (list.Is(i, "(")) return list.closing[i];
    if (!list.Is(i, "static_cast")) return i;
    while (i + 1 < list.size() && !list.Is(i, ">")) ++i;
    return i;
  }

  std::optional<std::string> Part(const TokenList& list, size_t& i, int steps) const {
    const Token& token = list[i];
    if (token.kind == TokenKind::kNumber) return NumberAt(list, i);
    if (token.kind == TokenKind::kWord) return Word(list, i, steps);
    if (token.kind != TokenKind::kPunctuation) return std::nullopt;
    const bool known = std::string_view("+-*/%()<>?:,=!&|").find(token.text) != std::string::npos;
    return known ? std::optional(" " + std::string(token.text)) : std::nullopt;
  }

  // 256, 256u, 1'024, 0x100, 1 << 20
  static std::optional<std::string> NumberAt(const TokenList& list, size_t& i) {
    const std::optional<int64_t> value = Number(list[i].text);
    if (!value) return std::nullopt;
    const bool shifted = list.Is(i + 1, "<") && list.Is(i + 2, "<") && i + 3 < list.size();
    if (!shifted) return " " + std::to_string(*value);
    const std::optional<int64_t> by = Number(list[i + 3].text);
    if (!by || *by > 40 || *value > (1 << 20)) return std::nullopt;
    i += 3;
    return " " + std::to_string(*value << *by);
  }
  static std::optional<int64_t> Number(std::string_view text) {
    std::string digits;
    for (const char c : text) {
      if (c != '\'') digits += c;
    }
    while (!digits.empty() && std::string_view("uUlL").find(digits.back()) != std::string::npos) {
      digits.pop_back();
    }
    const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    const char* begin = digits.data() + (hexadecimal ? 2 : 0);
    const char* end = digits.data() + digits.size();
    int64_t value = 0;
    const auto parsed = std::from_chars(begin, end, value, hexadecimal ? 16 : 10);
    if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
    return value;
  }

  std::optional<std::string> Word(const TokenList& list, size_t i, int steps) const {
    const std::string_view word = list[i].text;
    if (list.Is(i + 1, "(")) {
      if (kDivideUp.contains(word)) return " ceil_div";
      return word == "min" || word == "max" ? std::optional(" " + std::string(word)) : std::nullopt;
    }
    if (is_size_(word)) return " " + std::string(word);
    const std::optional<std::string> means = meaning_(word);
    if (!means || steps >= kMostSteps || *means == word) return std::nullopt;
    const auto converted = Convert(*means, steps + 1);
    if (!converted) return std::nullopt;
    const bool simple = converted->find_first_of("+-*/%<>?:,=!&|(") == std::string::npos;
    return simple ? *converted : " (" + *converted + ")";
  }

  const Meaning& meaning_;
  const std::function<bool(std::string_view)>& is_size_;
};

// "( n + 255) / 256", as a person would write it.
std::string Tidy(std::string_view text) {
  std::string tidy;
  for (const char c : text) {
    const bool after_open = c == ' ' && (tidy.empty() || tidy.back() == '(' || tidy.back() == ' ');
    if (after_open) continue;
    if ((c == ')' || c == ',' || c == '(') && !tidy.empty() && tidy.back() == ' ') {
      const bool call =
          c == '(' && tidy.size() > 1 &&
          (tidy.ends_with("min ") || tidy.ends_with("max ") || tidy.ends_with("ceil_div "));
      if (c != '(' || call) tidy.pop_back();
    }
    tidy += c;
  }
  return tidy;
}

}  // namespace

std::optional<std::string> AsExpression(std::string_view text, const Meaning& meaning,
                                        const std::function<bool(std::string_view)>& is_size) {
  const auto converted = Converter(meaning, is_size).Convert(text, 0);
  if (!converted) return std::nullopt;
  std::string tidy = Tidy(*converted);
  if (!Expression::Parse(tidy).ok()) return std::nullopt;
  return tidy;
}

std::optional<std::array<std::string, 3>> AsExtents(
    std::string_view text, const Meaning& meaning,
    const std::function<bool(std::string_view)>& is_size) {
  std::string whole(text);
  for (int steps = 0; steps < kMostSteps; ++steps) {
    const auto means = is_size(whole) ? std::nullopt : meaning(whole);
    if (!means) break;
    whole = *means;
  }
  const TokenList list = Tokenize(whole);
  std::array<std::string, 3> extents = {"1", "1", "1"};
  const size_t open = list.Is(0, "dim3") ? 1 : 0;
  const bool triple = (list.Is(0, "dim3") || list.Is(0, "{")) && open < list.size() &&
                      list.closing[open] + 1 == list.size();
  const auto parts = triple ? SplitAtCommas(list, open + 1, list.closing[open])
                            : std::vector<std::pair<size_t, size_t>>{{0, list.size()}};
  if (parts.empty() || parts.size() > extents.size()) return std::nullopt;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto one = AsExpression(Joined(list, parts[i].first, parts[i].second), meaning, is_size);
    if (!one) return std::nullopt;
    extents[i] = *one;
  }
  return extents;
}

}  // namespace warpsmith::task
