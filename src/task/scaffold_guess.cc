#include "task/scaffold_guess.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/utf8.h"
#include "core/cuda_tokens.h"
#include "core/expression.h"

namespace warpsmith::task {
namespace {

// What a name of the host code stands for: another text, or nothing.
using Meaning = std::function<std::optional<std::string>(std::string_view name)>;

constexpr int kMostSteps = 16;        // names that mean names that mean ...
constexpr size_t kMostBytes = 2'000;  // of an expression

const std::set<std::string_view> kDivideUp = {"ceil_div", "cdiv",   "ceilDiv", "CEIL_DIV",
                                              "div_up",   "divUp",  "DIV_UP",  "ceildiv",
                                              "CeilDiv",  "cdiv_up"};
const std::set<std::string_view> kCastTypes = {"int",     "long",     "unsigned",
                                               "size_t",  "int32_t",  "uint32_t",
                                               "int64_t", "uint64_t", "static_cast"};

// The kind whose names ("|int|long|") hold a type as it is written.
template <typename Kind, size_t kCount>
std::optional<Kind> KindOf(const std::pair<Kind, std::string_view> (&kinds)[kCount],
                           const std::string& type) {
  for (const auto& [kind, names] : kinds) {
    if (names.find("|" + type + "|") != names.npos) return kind;
  }
  return std::nullopt;
}

constexpr std::pair<DType, std::string_view> kTensorTypes[] = {
    {DType::kF16, "|half|__half|half2|__half2|"},
    {DType::kBF16, "|nv_bfloat16|__nv_bfloat16|__nv_bfloat162|nv_bfloat162|"},
    {DType::kF32, "|float|float2|float4|void|"},
    {DType::kF64, "|double|double2|"},
    {DType::kI8, "|char|signed char|unsigned char|int8_t|uint8_t|"},
    {DType::kI32, "|int|unsigned int|unsigned|int32_t|uint32_t|int2|int4|"},
    {DType::kI64,
     "|long|long long|long int|int64_t|uint64_t|unsigned long|unsigned long long|size_t|"},
    {DType::kBool, "|bool|"},
};

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
    if (list.Is(i, "sizeof") && list.Is(i + 1, "(")) return SizeOf(list, i);
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
    const auto element = KindOf(kTensorTypes, type);
    const int elements = type.ends_with('4') ? 4 : type.ends_with('2') ? 2 : 1;
    if (!element) return std::nullopt;
    return " " + std::to_string(elements * ElementBytes(*element));
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

// "(n + 255) / 256" with what names mean put in their place. Nothing, where it is more than whole
// arithmetic. `is_size` names the sizes, which stay.
std::optional<std::string> AsExpression(std::string_view text, const Meaning& meaning,
                                        const std::function<bool(std::string_view)>& is_size) {
  const auto converted = Converter(meaning, is_size).Convert(text, 0);
  if (!converted) return std::nullopt;
  std::string tidy = Tidy(*converted);
  if (!Expression::Parse(tidy).ok()) return std::nullopt;
  return tidy;
}

// "dim3(16, 16)", a name that means one, or a number: always three.
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

constexpr std::pair<std::string_view, std::string_view> kScalarTypes[] = {
    {"i32", "|int|unsigned|unsigned int|int32_t|uint32_t|short|"},
    {"i64",
     "|long|long int|long long|long long int|unsigned long|unsigned long "
     "long|size_t|std::size_t|int64_t|uint64_t|std::int64_t|ptrdiff_t|"},
    {"f32", "|float|"},
    {"f64", "|double|"},
    {"bool", "|bool|"},
    {"none", "|cudaStream_t|CUstream|"},
};

Error Unfit(const std::string& what, const std::string& fix) {
  return {ErrorCode::kBadInput, what, fix};
}

// Why a function cannot be the task's; empty: it can.
std::string Obstacle(const CudaFunction& function) {
  const std::string name = (function.kernel ? "kernel '" : "function '") + function.name + "'";
  if (function.is_template) return name + " is a template";
  if (function.local) return name + " is static or in an unnamed namespace";
  if (!function.kernel && function.scoped) return name + " is in a namespace";
  if (!function.kernel && function.manages_memory) {
    return name + " allocates or copies memory itself, so its pointers are the host's";
  }
  size_t tensors = 0;
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const CudaParameter& parameter = function.parameters[i];
    const std::string which = parameter.name.empty() ? "parameter " + std::to_string(i + 1)
                                                     : "parameter '" + parameter.name + "'";
    const bool known = parameter.pointers == 0
                           ? KindOf(kScalarTypes, parameter.element).has_value()
                           : parameter.pointers == 1 && KindOf(kTensorTypes, parameter.element);
    const bool stream = KindOf(kScalarTypes, parameter.element) == "none";
    // A launch plan has no stream to give.
    if (!known || (stream && function.kernel))
      return which + " of " + name + " is a '" + parameter.type + "'";
    tensors += parameter.pointers == 1 ? 1 : 0;
  }
  return tensors > 0 ? "" : name + " takes no pointer";
}

constexpr char kHowToMend[] =
    "write a plain function: void run(const float* x, float* y, int n), which launches the kernel "
    "on device pointers, and pass --function run";

Result<const CudaFunction*> Wanted(const CudaFile& file, const std::string& wanted) {
  for (const CudaFunction& function : file.functions) {
    if (function.name != wanted) continue;
    if (const std::string why = Obstacle(function); !why.empty()) return Unfit(why, kHowToMend);
    return &function;
  }
  const std::string names = Joined(file.functions, ", ", &CudaFunction::name);
  return Unfit("no function '" + wanted + "' is defined",
               names.empty() ? "" : "there are: " + names);
}

// Higher is better; 0: not at all.
int Rank(const CudaFunction& function) {
  if (!Obstacle(function).empty() || function.name == "main") return 0;
  if (function.kernel) return 1;
  if (function.name == "launch_gpu_implementation") return 3;
  return function.launches.empty() ? 0 : 2;
}

// The last of the best: files build up to what they are for.
Result<const CudaFunction*> Choose(const CudaFile& file) {
  const CudaFunction* best = nullptr;
  std::string why;
  for (const CudaFunction& function : file.functions) {
    const int rank = Rank(function);
    if (rank > 0 && (best == nullptr || rank >= Rank(*best))) best = &function;
    if (rank == 0 && (function.kernel || !function.launches.empty())) why = Obstacle(function);
  }
  if (best != nullptr) return best;
  if (why.empty()) {
    return Unfit("no __global__ function is defined", "name the file that defines the kernel");
  }
  return Unfit(why, kHowToMend);
}

bool LooksLikeOutput(const std::string& name) {
  const std::string lower = AsciiLower(name);
  for (const char* word : {"out", "result", "dst", "dest"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return lower == "y" || lower == "c" || lower == "z" || lower == "o" || lower == "d_c" ||
         lower == "d_y";
}

// Pointers to const are inputs, the others outputs. Where nobody wrote const, names decide, and at
// last the order.
void AssignRoles(const CudaFunction& function, std::vector<GuessedTensor>& tensors) {
  size_t constants = 0;
  size_t at = 0;
  for (const CudaParameter& parameter : function.parameters) {
    if (parameter.pointers == 0) continue;
    tensors[at++].output = !parameter.constant;
    constants += parameter.constant ? 1 : 0;
  }
  if (constants > 0 || tensors.size() < 2) return;
  bool any = false;
  for (GuessedTensor& tensor : tensors) {
    tensor.output = LooksLikeOutput(tensor.name);
    any = any || tensor.output;
  }
  if (!any) tensors.back().output = true;
}

void AddParameters(const CudaFunction& function, Guess& guess) {
  int unnamed = 0;
  for (const CudaParameter& parameter : function.parameters) {
    const std::string name =
        parameter.name.empty() ? "argument" + std::to_string(++unnamed) : parameter.name;
    if (parameter.pointers == 1) {
      guess.tensors.push_back({name, *KindOf(kTensorTypes, parameter.element), false, {}});
      guess.arguments.push_back({"tensor", name});
      continue;
    }
    const std::string kind(*KindOf(kScalarTypes, parameter.element));
    if (kind == "i32" || kind == "i64") {
      guess.sizes.push_back({name, 0, 0});
      guess.arguments.push_back({kind, name});
    } else {
      guess.arguments.push_back({kind, kind == "f32" || kind == "f64" ? "1.0" : "0"});
    }
  }
}

bool IsProduct(const Guess& guess) {
  std::string names;
  for (const GuessedSize& size : guess.sizes) names += AsciiLower(size.name) + " ";
  const auto inputs = std::count_if(guess.tensors.begin(), guess.tensors.end(),
                                    [](const GuessedTensor& tensor) { return !tensor.output; });
  const auto has = [&](const char* name) { return names.find(name) != std::string::npos; };
  return guess.sizes.size() == 3 && has("m ") && has("n ") && has("k ") && inputs >= 2 &&
         static_cast<size_t>(inputs) < guess.tensors.size();
}

std::string SizeCalled(const Guess& guess, const std::string& lower) {
  for (const GuessedSize& size : guess.sizes) {
    if (AsciiLower(size.name) == lower) return size.name;
  }
  return lower;
}

void ShapeProduct(Guess& guess) {
  const std::string m = SizeCalled(guess, "m"), n = SizeCalled(guess, "n"),
                    k = SizeCalled(guess, "k");
  size_t inputs = 0;
  for (GuessedTensor& tensor : guess.tensors) {
    if (tensor.output) {
      tensor.shape = {m, n};
    } else if (++inputs <= 2) {
      tensor.shape = inputs == 1 ? std::vector{m, k} : std::vector{k, n};
    } else {
      tensor.shape = {n};
    }
  }
  guess.reduction_length = k;
  guess.flops = "2 * " + m + " * " + n + " * " + k;
}

void Shape(Guess& guess) {
  if (guess.sizes.empty()) guess.sizes.push_back({"n", 0, 0});  // the function fixes it itself
  if (IsProduct(guess)) return ShapeProduct(guess);
  std::vector<std::string> all;
  for (const GuessedSize& size : guess.sizes) all.push_back(size.name);
  if (all.size() > 8) all.resize(8);
  for (GuessedTensor& tensor : guess.tensors) tensor.shape = all;
}

// About 16 million elements where one tensor has all sizes; the hidden ones are odd.
void Measure(Guess& guess) {
  constexpr int64_t kOne[][2] = {{16'777'216, 8'388'617}};
  constexpr int64_t kTwo[][2] = {{4096, 2039}, {4096, 3001}};
  constexpr int64_t kProduct[][2] = {{1024, 509}, {1024, 767}, {1024, 331}};
  constexpr int64_t kThree[][2] = {{256, 127}, {256, 251}, {256, 131}};
  constexpr int64_t kMany[][2] = {{32, 17}, {64, 33}, {56, 29}, {48, 23}};
  const size_t count = guess.sizes.size();
  const auto* pairs = count == 1         ? kOne
                      : count == 2       ? kTwo
                      : IsProduct(guess) ? kProduct
                      : count == 3       ? kThree
                                         : kMany;
  for (size_t i = 0; i < count; ++i) {  // from the fifth on they are small: paddings, strides
    guess.sizes[i].value = i < 4 ? pairs[i][0] : 1;
    guess.sizes[i].odd_value = i < 4 ? pairs[i][1] : 1;
  }
}

struct FoundLaunch {
  const CudaFunction* host = nullptr;
  const CudaLaunch* launch = nullptr;
};

FoundLaunch FindLaunch(const CudaFile& file, const std::string& kernel) {
  for (const CudaFunction& function : file.functions) {
    for (const CudaLaunch& launch : function.launches) {
      if (launch.kernel == kernel && launch.configuration.size() >= 2) return {&function, &launch};
    }
  }
  return {};
}

// What the launching code calls a size: `f<<<g, b>>>(a, N)` of `f(float* x, int n)`: N is n.
std::map<std::string, std::string> NamesThere(const CudaLaunch& launch,
                                              const std::vector<CudaParameter>& parameters) {
  std::map<std::string, std::string> names;
  for (size_t i = 0; i < std::min(launch.arguments.size(), parameters.size()); ++i) {
    if (parameters[i].pointers == 0) names.emplace(launch.arguments[i], parameters[i].name);
  }
  return names;
}

bool IsSize(const Guess& guess, std::string_view name) {
  return std::any_of(guess.sizes.begin(), guess.sizes.end(),
                     [&](const GuessedSize& size) { return size.name == name; });
}

// The launch in the file, as far as it is whole arithmetic over what the kernel is given.
bool CopyLaunch(const CudaFile& file, const FoundLaunch& found, Guess& guess) {
  const auto names = NamesThere(*found.launch, guess.function->parameters);
  const Meaning meaning = [&](std::string_view name) -> std::optional<std::string> {
    const std::string key(name);
    if (const auto one = names.find(key); one != names.end()) return one->second;
    for (const auto* values : {&found.host->values, &file.values}) {
      if (const auto one = values->find(key); one != values->end()) return one->second;
    }
    return std::nullopt;
  };
  // A size of the kernel's own name, unless the launching code means something else by it.
  const auto is_size = [&](std::string_view name) {
    if (!IsSize(guess, name)) return false;
    const auto one = names.find(std::string(name));
    return one == names.end() || one->second == name;
  };
  const auto& configuration = found.launch->configuration;
  const auto grid = AsExtents(configuration[0], meaning, is_size);
  const auto block = AsExtents(configuration[1], meaning, is_size);
  if (!grid || !block) return false;
  if (configuration.size() > 2) {
    const auto shared = AsExpression(configuration[2], meaning, is_size);
    if (!shared) return false;
    if (*shared != "0") guess.shared_bytes = *shared;
  }
  guess.grid = *grid;
  guess.block = *block;
  return true;
}

// One thread for each element of the first output.
void InventLaunch(Guess& guess) {
  std::string elements;
  for (const GuessedTensor& tensor : guess.tensors) {
    if (!tensor.output || !elements.empty()) continue;
    for (const std::string& extent : tensor.shape) {
      elements += (elements.empty() ? "" : " * ") + extent;
    }
  }
  guess.grid = {"ceil_div(" + elements + ", 256)", "1", "1"};
  guess.block = {"256", "1", "1"};
}

}  // namespace

Result<Guess> GuessTask(const CudaFile& file, const std::string& wanted) {
  Guess guess;
  guess.function = wanted.empty() ? TRY(Choose(file)) : TRY(Wanted(file, wanted));
  AddParameters(*guess.function, guess);
  AssignRoles(*guess.function, guess.tensors);
  const auto is_output = [](const GuessedTensor& tensor) { return tensor.output; };
  if (std::none_of(guess.tensors.begin(), guess.tensors.end(), is_output)) {
    return Unfit("'" + guess.function->name + "' only takes pointers to const: nothing is written",
                 "take const away from the output's pointer");
  }
  Shape(guess);
  Measure(guess);
  if (!guess.function->kernel) return guess;
  const FoundLaunch found = FindLaunch(file, guess.function->name);
  guess.launch_found = found.launch != nullptr && CopyLaunch(file, found, guess);
  if (!guess.launch_found) InventLaunch(guess);
  return guess;
}

}  // namespace warpsmith::task
