#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/text.h"
#include "core/cuda_tokens.h"
#include "core/expression.h"
#include "task/scaffold_guess.h"

namespace warpsmith::task {
namespace {

// What a name of the host code stands for: another text, or nothing.
using Meaning = std::function<std::optional<std::string>(const std::string& name)>;
using IsSize = std::function<bool(std::string_view name)>;

constexpr int kMostSteps = 16;        // names that mean names that mean ...
constexpr size_t kMostBytes = 2'000;  // of an expression
constexpr size_t kMostLaunches = 8;   // that are tried

const std::set<std::string_view> kDivideUp = {"ceil_div", "cdiv",   "ceilDiv", "CEIL_DIV",
                                              "div_up",   "divUp",  "DIV_UP",  "ceildiv",
                                              "CeilDiv",  "cdiv_up"};
const std::set<std::string_view> kCastTypes = {"int",     "long",     "unsigned",   "size_t",
                                               "int32_t", "uint32_t", "int64_t",    "uint64_t",
                                               "float",   "double",   "static_cast"};

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
    for (size_t i = begin; i < end; ++i) {
      if (const size_t last = CastAt(list, i); last < list.size()) {
        i = last;
        continue;
      }
      const auto part = Part(list, i, steps);
      if (!part || out.size() + part->size() > kMostBytes) return std::nullopt;
      out += *part;
    }
    return out.empty() ? std::nullopt : std::optional(out);
  }

  // The last token of a cast: (int) x    int(x)    static_cast<int>(x). The size: there is none.
  static size_t CastAt(const TokenList& list, size_t i) {
    if (list.Is(i, "static_cast")) {
      while (i + 1 < list.size() && !list.Is(i, ">")) ++i;
      return i;
    }
    const bool type = i + 1 < list.size() && kCastTypes.contains(list[i + 1].text);
    const bool short_one = list.closing[i] <= i + 4 && list.closing[i] + 1 < list.size();
    if (list.Is(i, "(") && type && short_one) return list.closing[i];
    const bool word = kCastTypes.contains(list[i].text) || list.Is(i, "std") || list.Is(i, "::");
    return word ? i : list.size();
  }

  std::optional<std::string> Part(const TokenList& list, size_t& i, int steps) const {
    const Token& token = list[i];
    if (token.kind == TokenKind::kNumber) return NumberAt(list, i);
    if (list.Is(i, "sizeof") && list.Is(i + 1, "(")) return SizeOf(list, i);
    const bool rounds_up = list.Is(i, "ceil") || list.Is(i, "ceilf");
    if (rounds_up && list.Is(i + 1, "(")) return Ceiling(list, i, steps);
    if (token.kind == TokenKind::kWord) return Word(list, i, steps);
    if (token.kind != TokenKind::kPunctuation) return std::nullopt;
    const bool known = std::string_view("+-*/%()<>?:,=!&|").find(token.text) != std::string::npos;
    return known ? std::optional(" " + std::string(token.text)) : std::nullopt;
  }

  // sizeof(float4), or of another name for it
  std::optional<std::string> SizeOf(const TokenList& list, size_t& i) const {
    std::string type = Joined(list, i + 2, list.closing[i + 1]);
    i = list.closing[i + 1];
    if (const auto means = meaning_(type)) type = *means;
    const auto element = TensorType(type);
    if (!element) return std::nullopt;
    const int elements = IsDigit(type.back()) ? type.back() - '0' : 1;
    return " " + std::to_string(elements * ElementBytes(*element));
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
    return " ceil_div( " + *above + " , " + *below + " )";
  }

  // 256, 256u, 1'024, 0x100, 256.0f, 1 << 20
  static std::optional<std::string> NumberAt(const TokenList& list, size_t& i) {
    std::optional<int64_t> value = Number(list[i].text);
    if (value && list.Is(i + 1, "<") && list.Is(i + 2, "<") && i + 3 < list.size()) {
      const std::optional<int64_t> by = Number(list[i += 3].text);
      if (!by || *by > 40 || *value > (1 << 20)) return std::nullopt;
      *value <<= *by;
    }
    return value ? std::optional(" " + std::to_string(*value)) : std::nullopt;
  }
  static std::optional<int64_t> Number(std::string_view text) {
    std::string digits(text);
    std::erase(digits, '\'');
    digits.resize(digits.find_last_not_of("uUlL") + 1);
    const size_t point = std::min(digits.find('.'), digits.size());
    if (digits.find_first_not_of(".0fF", point) == digits.npos) digits.resize(point);
    char* end = nullptr;
    errno = 0;
    const int64_t value = std::strtoll(digits.c_str(), &end, 0);
    const bool whole = !digits.empty() && *end == '\0' && errno == 0;
    return whole ? std::optional(value) : std::nullopt;
  }

  std::optional<std::string> Word(const TokenList& list, size_t& i, int steps) const {
    const std::string word(list[i].text);
    if (list.Is(i + 1, "(")) {
      if (kDivideUp.contains(word)) return " ceil_div";
      return word == "min" || word == "max" ? std::optional(" " + word) : std::nullopt;
    }
    std::optional<std::string> converted;
    if (list.Is(i + 1, ".") && i + 2 < list.size() && steps < kMostSteps) {
      const size_t axis = std::string_view("xyz").find(list[i + 2].text);
      if (axis < 3 && list[i + 2].text.size() == 1) converted = Extent(word, axis, steps + 1);
      i += 2;
    } else if (is_size_(word)) {
      return " " + word;
    } else if (const auto means = meaning_(word); means && steps < kMostSteps && *means != word) {
      converted = Convert(*means, steps + 1);
    }
    if (!converted) return std::nullopt;
    const bool simple = converted->find_first_of("+-*/%<>?:,=!&|(") == std::string::npos;
    return simple ? *converted : " (" + *converted + ")";
  }

  const Meaning& meaning_;
  const IsSize& is_size_;
};

// "( n + 255) / 256", as a person would write it. Nothing, where it is no expression.
std::optional<std::string> Tidy(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::string tidy;
  for (const char c : *text) {
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
  return Expression::Parse(tidy).ok() ? std::optional(tidy) : std::nullopt;
}

struct FoundLaunch {
  const CudaFunction* host = nullptr;
  const CudaLaunch* launch = nullptr;
};

// The first of them.
std::vector<FoundLaunch> LaunchesOf(const CudaFile& file, const std::string& kernel) {
  std::vector<FoundLaunch> found;
  for (const CudaFunction& function : file.functions) {
    for (const CudaLaunch& launch : function.launches) {
      const bool its = launch.kernel == kernel && launch.configuration.size() >= 2;
      if (its && found.size() < kMostLaunches) {
        found.push_back({&function, &launch});
      }
    }
  }
  return found;
}

// The last that the launching function assigned before the launch, or a constant of the file.
Meaning MeaningAt(const CudaFile& file, const FoundLaunch& found) {
  return [&file, found](const std::string& name) -> std::optional<std::string> {
    const auto& local = found.host->values;
    auto after = local.lower_bound({name, found.launch->offset});
    if (after != local.begin() && (--after)->first.first == name) return after->second;
    const auto one = file.values.find(name);
    return one == file.values.end() ? std::nullopt : std::optional(one->second);
  };
}

// What the launching code calls a size: `f<<<g, b>>>(a, (int)N)` of `f(float* x, int n)`: N is n.
std::map<std::string, std::string> NamesThere(const CudaLaunch& launch,
                                              const std::vector<CudaParameter>& parameters) {
  std::map<std::string, std::string> names;
  const Meaning none = [](const std::string&) { return std::nullopt; };
  const IsSize any = [](std::string_view) { return true; };
  for (size_t i = 0; i < std::min(launch.arguments.size(), parameters.size()); ++i) {
    if (parameters[i].pointers > 0) continue;
    const auto name = Tidy(Converter(none, any).Convert(launch.arguments[i]));
    names.emplace(name.value_or(launch.arguments[i]), parameters[i].name);
  }
  return names;
}

bool CopyOne(const CudaFile& file, const FoundLaunch& found, Guess& guess) {
  const auto names = NamesThere(*found.launch, guess.function->parameters);
  const Meaning there = MeaningAt(file, found);
  const Meaning meaning = [&](const std::string& name) {
    const auto one = names.find(name);
    return one == names.end() ? there(name) : one->second;
  };
  // A size of the kernel's own name, unless the launching code means something else by it.
  const IsSize is_size = [&](std::string_view name) {
    const auto named = [&](const GuessedSize& size) { return size.name == name; };
    if (std::ranges::none_of(guess.sizes, named)) return false;
    const auto one = names.find(std::string(name));
    return one == names.end() || one->second == name;
  };
  const Converter converter(meaning, is_size);
  const auto& configuration = found.launch->configuration;
  std::array<std::string, 3> extents[2];
  for (size_t i = 0; i < 6; ++i) {
    const auto extent = Tidy(converter.Extent(configuration[i / 3], i % 3));
    if (!extent) return false;
    extents[i / 3][i % 3] = *extent;
  }
  if (configuration.size() > 2) {
    const auto shared = Tidy(converter.Convert(configuration[2]));
    if (!shared) return false;
    if (*shared != "0") guess.shared_bytes = *shared;
  }
  guess.grid = extents[0];
  guess.block = extents[1];
  guess.launched_by = found.host->name;
  return true;
}

// "2.0f", "-.5", "1e-5f", "true" as TOML's number; empty: it is none.
std::string NumberOf(std::string text) {
  if (text == "true" || text == "false") return text == "true" ? "1" : "0";
  while (!text.empty() && std::string_view("fFlL").find(text.back()) != std::string::npos) {
    text.pop_back();
  }
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !std::isfinite(value))
    return "";
  char number[32];
  const auto end = std::to_chars(std::begin(number), std::end(number), value).ptr;
  return {number, end};
}

}  // namespace

std::vector<LaunchConstant> ConstantArguments(const CudaFile& file, const CudaFunction& kernel) {
  std::vector<LaunchConstant> constants(kernel.parameters.size());
  for (const FoundLaunch& found : LaunchesOf(file, kernel.name)) {
    if (found.launch->arguments.size() != constants.size()) continue;
    const Meaning meaning = MeaningAt(file, found);
    const IsSize none = [](std::string_view) { return false; };
    for (size_t i = 0; i < constants.size(); ++i) {
      std::string text = found.launch->arguments[i];
      const bool literal = text.find_first_of("0123456789") <= 1;  // "8", "-1"
      for (int steps = 0; steps < kMostSteps; ++steps) text = meaning(text).value_or(text);
      constants[i].value = NumberOf(text);
      const std::string& type = kernel.parameters[i].element;
      const auto whole = Tidy(Converter(meaning, none).Convert(text));
      if (!whole || type == "float" || type == "double") continue;
      const auto value = Expression::Parse(*whole)->Evaluate({});
      if (value.ok()) constants[i] = {std::to_string(*value), literal && *value < 32};
    }
    break;
  }
  return constants;
}

void CopyLaunch(const CudaFile& file, Guess& guess) {
  for (const FoundLaunch& found : LaunchesOf(file, guess.function->name)) {
    if (CopyOne(file, found, guess)) return;
  }
}

}  // namespace warpsmith::task
