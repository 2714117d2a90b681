#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "core/cuda_tokens.h"
#include "core/expression.h"
#include "task/scaffold_guess.h"

namespace warpsmith::task {
namespace {

constexpr int kMostSteps = 16;        // names that mean names that mean ...
constexpr size_t kMostBytes = 2'000;  // of an expression

const std::set<std::string_view> kCastTypes = {"int",     "long",     "unsigned",   "size_t",
                                               "int32_t", "uint32_t", "int64_t",    "uint64_t",
                                               "float",   "double",   "static_cast"};

}  // namespace

size_t CastAt(const TokenList& list, size_t i) {
  if (i >= list.size()) return list.size();
  if (list[i].text.ends_with("_cast") && list.Is(i + 1, "<")) {
    while (i + 1 < list.size() && !list.Is(i, ">")) ++i;
    return i;
  }
  const bool type = i + 1 < list.size() && kCastTypes.contains(list[i + 1].text);
  const bool short_one = list.closing[i] <= i + 4 && list.closing[i] + 1 < list.size();
  if (list.Is(i, "(") && type && short_one) return list.closing[i];
  const bool word = kCastTypes.contains(list[i].text) || list.Is(i, "std") || list.Is(i, "::");
  return word ? i : list.size();
}

std::optional<double> RealAt(const TokenList& list, size_t& i) {
  std::string text(list[i++].text);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  while (!hex && i < list.size() && std::string_view("eE-").find(text.back()) != text.npos) {
    text += list[i++].text;
  }
  std::erase(text, '\'');
  text.resize(text.find_last_not_of(hex ? "uUlL" : "uUlLfF") + 1);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return text.empty() || *end != '\0' ? std::nullopt : std::optional(value);
}

std::string ExpandedMacro(const std::string& macro, const TokenList& list, size_t at) {
  const TokenList body = Tokenize(macro);
  const size_t open = at + 1;
  if (body.size() == 0 || body.closing[0] >= body.size() || list.closing[open] >= list.size())
    return "";
  const auto names = SplitAtCommas(body, 1, body.closing[0]);
  const auto given = SplitAtCommas(list, open + 1, list.closing[open]);
  std::string text;
  if (names.size() != given.size()) return "";
  for (size_t i = body.closing[0] + 1; i < body.size() && text.size() < kMostBytes; ++i) {
    std::string word(body[i].text);
    for (size_t k = 0; k < names.size(); ++k) {
      const bool its = body[names[k].second - 1].text == body[i].text;
      if (its) word = "(" + Joined(list, given[k].first, given[k].second) + ")";
    }
    text += word + " ";
  }
  return text;
}

bool DividesUp(const std::string& name) {
  constexpr std::string_view kNames =
      "|ceil_div|cdiv|ceilDiv|CEIL_DIV|div_up|divUp|DIV_UP|ceildiv|CeilDiv|cdiv_up|";
  return kNames.find("|" + name + "|") != kNames.npos;
}

std::optional<int64_t> BytesOf(const std::string& type) {
  const auto element = TensorType(type);
  if (!element) return std::nullopt;
  return (IsDigit(type.back()) && type.back() < '5' ? type.back() - '0' : 1) *
         ElementBytes(*element);
}

namespace {

// Host code as an Expression over the sizes. Nothing, where it is more than whole arithmetic.
class Converter {
 public:
  Converter(const Meaning& meaning, const IsSize& is_size) : meaning_(meaning), is_size_(is_size) {}

  // "(n + 255) / 256" with what names mean put in their place.
  std::optional<std::string> Convert(std::string_view text, int steps = 0) const {
    const TokenList list = Tokenize(text);
    return Convert(list, 0, list.size(), steps);
  }

  // One of x, y, z of "dim3(16, 16)", of a name that means one, or of a number.
  std::optional<std::string> Extent(std::string text, size_t axis, int steps = 0) const {
    for (;; ++steps) {
      if (steps >= kMostSteps) return std::nullopt;
      if (const auto member = meaning_(text + "." + "xyz"[axis])) return Convert(*member, steps);
      const auto means = is_size_(text) ? std::nullopt : meaning_(text);
      if (!means) break;
      text = *means;
    }
    const TokenList list = Tokenize(text);
    const size_t open = list.Is(0, "dim3") ? 1 : 0;
    const bool triple = (open == 1 || list.Is(0, "{")) && open < list.size() &&
                        list.closing[open] + 1 == list.size();
    if (!triple) return axis == 0 ? Convert(text, steps) : "1";
    const auto parts = SplitAtCommas(list, open + 1, list.closing[open]);
    if (parts.empty() || parts.size() > 3) return std::nullopt;
    const auto part = [&](size_t i) { return Joined(list, parts[i].first, parts[i].second); };
    if (parts.size() == 1) return Extent(part(0), axis, steps + 1);
    return axis < parts.size() ? Convert(part(axis), steps) : "1";
  }

 private:
  std::optional<std::string> Convert(const TokenList& list, size_t begin, size_t end,
                                     int steps) const {
    std::string out;
    std::vector<size_t> marks = {0};  // in each bracket, where the left side of << or & begins
    for (size_t i = begin; i < end; ++i) {
      const size_t close = list.Is(i, "(") ? list.closing[i] : end;
      const bool pointer = close + 1 < end && list.Is(close - 1, "*");  // (const float4*)
      if (const size_t last = pointer ? close : CastAt(list, i); last < list.size()) {
        i = last;
        continue;
      }
      const bool twice = list.Is(i + 1, list[i].text);
      const bool mask = list.Is(i, "&") && !twice && !out.empty() && !out.ends_with("& ");
      if (mask || (twice && (list.Is(i, "<") || list.Is(i, ">")))) {
        if (!Masked(list, i, end, steps, marks.back(), out)) return std::nullopt;
        continue;
      }
      const auto part = Part(list, i, steps);
      if (!part || out.size() + part->size() > kMostBytes) return std::nullopt;
      const bool opens = out.empty() || out.back() == '(' || out.back() == ' ';
      // == and && are two tokens each.
      const bool twin = part->size() == 3 && out.size() > 1 && out.back() == ' ' &&
                        std::string_view("=!<>&|").find(out[out.size() - 2]) != out.npos &&
                        std::string_view("=&|").find((*part)[1]) != out.npos;
      if (twin) out.pop_back();
      out += opens && part->front() == ' ' ? part->substr(1) : *part;
      if (*part == "(") marks.push_back(out.size());
      if (*part == ")" && marks.size() > 1) marks.pop_back();
      if (part->size() > 1 &&
          std::string_view("?:,<>=!&|").find((*part)[part->size() - 2]) != out.npos)
        marks.back() = out.size();
    }
    return out.empty() ? std::nullopt : std::optional(out);
  }

  // x << 2, x >> 5, x & 31 and x & ~31, of which x begins at `mark`: as products.
  bool Masked(const TokenList& list, size_t& i, size_t end, int steps, size_t mark,
              std::string& out) const {
    const std::string sign(list[i].text);
    i += sign == "&" ? 1 : 2;
    const bool inverts = list.Is(i, "~");
    i += inverts ? 1 : 0;
    const size_t last = list.Is(i, "(") ? list.closing[i] : i;
    if (last >= end || steps >= kMostSteps) return false;
    const auto by = ValueOf(Convert(list, i, last + 1, steps + 1).value_or(""), {});
    if (!by || *by < 0 || *by > (sign == "&" ? 1 << 30 : 40)) return false;
    if (sign == "&" && (*by & (*by + 1)) != 0) return false;
    const std::string unit = std::to_string(sign == "&" ? *by + 1 : int64_t{1} << *by);
    out.insert(mark, "(");
    out += ")" +
           std::string(sign == "<"               ? " * "
                       : sign == "&" && !inverts ? " % "
                                                 : " / ") +
           unit + (inverts ? " * " + unit : "");
    i = last;
    return true;
  }

  std::optional<std::string> Part(const TokenList& list, size_t& i, int steps) const {
    const Token& token = list[i];
    if (token.kind == TokenKind::kNumber) return WholeAt(list, i);
    if (list.Is(i, "sizeof") && list.Is(i + 1, "(")) return SizeOf(list, i);
    const bool rounds_up = list.Is(i, "ceil") || list.Is(i, "ceilf");
    if (rounds_up && list.Is(i + 1, "(")) return Ceiling(list, i, steps);
    if (token.kind == TokenKind::kWord) return Word(list, i, steps);
    if (token.kind != TokenKind::kPunctuation) return std::nullopt;
    const bool known = std::string_view("+-*/%()<>?:,=!&|").find(token.text) != std::string::npos;
    if (!known) return std::nullopt;
    const std::string text(token.text);
    return text == "(" || text == ")" ? text : text == "," ? ", " : " " + text + " ";
  }

  // sizeof(float4), or of another name for it
  std::optional<std::string> SizeOf(const TokenList& list, size_t& i) const {
    std::string type = Joined(list, i + 2, list.closing[i + 1]);
    i = list.closing[i + 1];
    if (const auto means = meaning_(type)) type = *means;
    const auto bytes = BytesOf(type);
    return bytes ? std::optional(std::to_string(*bytes)) : std::nullopt;
  }

  // ceil((float)n / 256), ceil(n / 256.0): of one division.
  std::optional<std::string> Ceiling(const TokenList& list, size_t& i, int steps) const {
    const size_t begin = i + 2, close = list.closing[i + 1];
    size_t slash = close;
    for (size_t at = begin; at < close; ++at) {
      const bool sum = list.Is(at, "+") || list.Is(at, "-");
      const bool factor = list.Is(at, "*") || list.Is(at, "/") || list.Is(at, "%");
      if (sum || (factor && slash < close)) return std::nullopt;
      if (list.Is(at, "/")) slash = at;
      if (list.Is(at, "(")) at = list.closing[at];
    }
    if (slash >= close || close >= list.size()) return std::nullopt;
    const auto above = Convert(list, begin, slash, steps);
    const auto below = Convert(list, slash + 1, close, steps);
    if (!above || !below) return std::nullopt;
    i = close;
    return "ceil_div(" + *above + ", " + *below + ")";
  }

  // 256, 256.0f, 1 << 20
  static std::optional<std::string> WholeAt(const TokenList& list, size_t& i) {
    auto value = RealAt(list, i);
    if (value && list.Is(i, "<") && list.Is(i + 1, "<") && i + 2 < list.size()) {
      const auto by = RealAt(list, i += 2);
      value = by && *by <= 40 ? std::optional(std::ldexp(*value, static_cast<int>(*by))) : by;
    }
    --i;
    if (!value || *value != std::trunc(*value) || *value > 9e15) return std::nullopt;
    return std::to_string(static_cast<int64_t>(*value));
  }

  std::optional<std::string> Word(const TokenList& list, size_t& i, int steps) const {
    const std::string word(list[i].text);
    if (list.Is(i + 1, "(")) {
      if (DividesUp(word)) return "ceil_div";
      for (const char* const one : {"min", "max"}) {
        if (AsciiLower(word).ends_with(one)) return one;
      }
      const auto macro = steps < kMostSteps ? meaning_(word + "(") : std::nullopt;
      const std::string text = macro ? ExpandedMacro(*macro, list, i) : "";
      const auto expanded = text.empty() ? std::nullopt : Convert(text, steps + 1);
      i = list.closing[i + 1];
      return expanded ? std::optional("(" + *expanded + ")") : std::nullopt;
    }
    std::optional<std::string> converted;
    if (list.Is(i + 1, ".") && i + 2 < list.size() && steps < kMostSteps) {
      const size_t axis = std::string_view("xyz").find(list[i + 2].text);
      if (axis < 3 && list[i + 2].text.size() == 1) converted = Extent(word, axis, steps + 1);
      i += 2;
    } else if (is_size_(word)) {
      return word;
    } else if (const auto means = meaning_(word); means && steps < kMostSteps && *means != word) {
      converted = Convert(*means, steps + 1);
    }
    if (!converted) return std::nullopt;
    const bool simple = converted->find_first_of("+-*/%<>?:,=!&|(") == std::string::npos;
    return simple ? *converted : "(" + *converted + ")";
  }

  const Meaning& meaning_;
  const IsSize& is_size_;
};

// "s * 2.0f", "-dt / (dx * dx)", where names stand for constants. `left`: so many are looked at.
std::optional<double> RealOf(const std::string& text, const Meaning& meaning, int& left) {
  const TokenList list = Tokenize(text);
  double sum = 0, term = 1;
  for (size_t i = 0; i < list.size();) {
    const bool sign = list.Is(i, "+") || list.Is(i, "-"), divides = list.Is(i, "/");
    if (--left < 0 || (i > 0 && !sign && !divides && !list.Is(i, "*"))) return std::nullopt;
    if (sign) {
      sum += i > 0 ? term : 0;
      term = list.Is(i, "-") ? -1 : 1;
    }
    i += sign || i > 0 ? 1 : 0;
    if (const size_t last = CastAt(list, i); i < list.size() && last < list.size()) i = last + 1;
    if (i >= list.size()) return std::nullopt;
    const bool number = list[i].kind == TokenKind::kNumber;
    const bool bracket = list.Is(i, "(") && list.closing[i] < list.size();
    const size_t close = bracket ? list.closing[i] : i;
    const auto means = bracket ? Joined(list, i + 1, close) : meaning(std::string(list[i].text));
    const auto nested = means && !number ? RealOf(*means, meaning, left) : std::nullopt;
    const auto value = number ? RealAt(list, i) : nested;
    if (!value) return std::nullopt;
    if (!number) i = close + 1;
    term = divides ? term / *value : term * *value;
  }
  return list.size() > 0 ? std::optional(sum + term) : std::nullopt;
}

}  // namespace

Meaning MeaningAt(const CudaFile& file, const CudaFunction& function, size_t offset) {
  return [&file, &function, offset](const std::string& name) -> std::optional<std::string> {
    auto after = function.values.lower_bound({name, offset});
    if (after != function.values.begin() && (--after)->first.first == name) return after->second;
    const auto one = file.values.find(name);
    return one == file.values.end() ? std::nullopt : std::optional(one->second);
  };
}

std::optional<std::string> AsExpression(const std::string& text, const Meaning& meaning,
                                        const IsSize& is_size) {
  const auto converted = Converter(meaning, is_size).Convert(text);
  return converted && Expression::Parse(*converted).ok() ? converted : std::nullopt;
}

std::optional<std::string> AsExtent(const std::string& text, size_t axis, const Meaning& meaning,
                                    const IsSize& is_size) {
  const auto converted = Converter(meaning, is_size).Extent(text, axis);
  return converted && Expression::Parse(*converted).ok() ? converted : std::nullopt;
}

std::string ConstantOf(const std::string& text, const Meaning& meaning, const std::string& type) {
  if (text == "true" || text == "false") return text == "true" ? "1" : "0";
  const bool single = type == "float";
  if (!single && type != "double") {
    const auto whole = AsExpression(text, meaning, [](auto) { return false; });
    if (const auto value = ValueOf(whole.value_or(""), {})) return std::to_string(*value);
  }
  int left = 256;
  const auto value = RealOf(text, meaning, left);
  if (value && std::abs(*value) < 1e15 && !single && type != "double") {
    return std::to_string(static_cast<int64_t>(*value));
  }
  if (!value || !std::isfinite(single ? static_cast<float>(*value) : *value)) return "";
  char shown[32];
  const auto end = single ? std::to_chars(shown, shown + 32, static_cast<float>(*value))
                          : std::to_chars(shown, shown + 32, *value);
  const std::string number(shown, end.ptr);
  return number.find_first_of(".e") == number.npos ? number + ".0" : number;
}

std::optional<int64_t> ValueOf(const std::string& expression, const Sizes& sizes) {
  const auto parsed = Expression::Parse(expression);
  const auto value = parsed.ok() ? parsed->Evaluate(sizes) : Result<int64_t>(Error{});
  return value.ok() ? std::optional(*value) : std::nullopt;
}

std::set<std::string> WordsIn(const std::string& expression) {
  const TokenList list = Tokenize(expression);
  std::set<std::string> words;
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].kind == TokenKind::kWord && !list.Is(i + 1, "(")) words.emplace(list[i].text);
  }
  return words;
}

}  // namespace warpsmith::task
