#include "task/cuda_scan.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <set>

#include "base/text.h"
#include "core/cuda_tokens.h"

namespace warpsmith::task {
namespace {

using Words = std::set<std::string_view>;

Words WordsOf(std::string_view text) {
  const auto words = Split(text, ' ');
  return {words.begin(), words.end()};
}

const Words kQualifiers = WordsOf(
    "const volatile __restrict__ __restrict restrict struct unsigned signed "
    "__grid_constant__");
// What may follow a ')' and have one of its own, and so is never the name of a function.
const Words kNotFunctions = WordsOf(
    "if for while switch return sizeof alignas alignof decltype noexcept catch "
    "__align__ __attribute__ __declspec asm __launch_bounds__ __maxnreg__ "
    "__cluster_dims__ __block_size__ static_assert requires explicit");
const Words kNoPartOfAResult = WordsOf(
    "extern static inline __forceinline__ __global__ __host__ __noinline__ constexpr "
    "__inline__ __forceinline virtual");
const Words kMemoryCalls = WordsOf(
    "cudaMalloc cudaMallocAsync cudaMallocManaged cudaMallocHost cudaMemcpy "
    "cudaMemcpyAsync cudaMemcpyToSymbol cudaMemcpyToSymbolAsync cudaHostAlloc malloc cuMemAlloc "
    "cuMemcpyHtoD");
const Words kCommandLine = WordsOf("argv optarg atoi atol atoll stoi stol strtol strtoul");
const Words kBareTypes = WordsOf("int long char float double short bool");

// No launch and no value of a name is longer; hostile text must not be read again and again.
constexpr size_t kMostTokens = 512;

bool IsWord(const TokenList& list, size_t i) {
  return i < list.size() && list[i].kind == TokenKind::kWord;
}

// tokens of one parameter, its default argument left out.
CudaParameter ParameterFrom(const TokenList& list, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (list.Is(i, "=")) end = i;
  }
  CudaParameter parameter;
  size_t last_word = end;
  for (size_t i = begin; i < end; ++i) {
    if (list.Is(i, "*") || list.Is(i, "[")) ++parameter.pointers;
    if (list.Is(i, "const") && parameter.pointers == 0) parameter.constant = true;
    if (IsWord(list, i) && !list.Is(i, "const") && !list.Is(i, "__restrict__")) last_word = i;
  }
  // Its name is the last word, if a type is left without it.
  size_t words_before = 0;
  for (size_t i = begin; i < last_word && i < end; ++i) {
    words_before += IsWord(list, i) && (!kQualifiers.contains(list[i].text) ||
                                        list.Is(i, "unsigned") || list.Is(i, "signed"));
  }
  const bool named = last_word < end && words_before > 0 &&
                     !(last_word > begin && list.Is(last_word - 1, "::")) &&
                     !kBareTypes.contains(list[last_word].text);
  if (named) parameter.name = list[last_word].text;
  const size_t type_end = named ? last_word : end;
  parameter.type = Joined(list, begin, type_end);
  for (size_t i = begin; i < type_end; ++i) {
    const bool qualifier =
        kQualifiers.contains(list[i].text) && !list.Is(i, "unsigned") && !list.Is(i, "signed");
    if (!IsWord(list, i) && !list.Is(i, "::") && !list.Is(i, "<") && !list.Is(i, ">")) continue;
    if (qualifier) continue;
    const bool space = IsWord(list, i) && !parameter.element.empty() &&
                       parameter.element.back() != ':' && parameter.element.back() != '<';
    parameter.element += (space ? " " : "") + std::string(list[i].text);
  }
  return parameter;
}

std::vector<CudaParameter> ParametersFrom(const TokenList& list, size_t begin, size_t end) {
  std::vector<CudaParameter> parameters;
  if (end == begin + 1 && list.Is(begin, "void")) return parameters;
  for (const auto& [first, last] : SplitAtCommas(list, begin, end)) {
    parameters.push_back(ParameterFrom(list, first, last));
  }
  return parameters;
}

std::vector<std::string> TextsFrom(const TokenList& list, size_t begin, size_t end) {
  std::vector<std::string> texts;
  for (const auto& [first, last] : SplitAtCommas(list, begin, end)) {
    texts.push_back(Joined(list, first, last));
  }
  return texts;
}

// Reads the inside of one function.
class Body {
 public:
  Body(const TokenList& list, size_t begin, size_t end, CudaFunction& function)
      : list_(list), end_(end), function_(function) {
    bool dim3 = false;  // we are in a declaration of some
    for (size_t i = begin; i < end; ++i) {
      dim3 = list_.Is(i, "dim3") || (dim3 && !list_.Is(i, ";"));
      if (list_.Is(i, "<<<")) Launch(i);
      if (!IsWord(list_, i)) continue;
      if (kMemoryCalls.contains(list_[i].text)) function_.manages_memory = true;
      if (list_.Is(i, "extern")) Extern(i);
      const bool index = list_.Is(i, "threadIdx") || list_.Is(i, "blockIdx");
      if (index && list_.Is(i + 1, ".") && (list_.Is(i + 2, "y") || list_.Is(i + 2, "z"))) {
        function_.axes.insert(Joined(list_, i, i + 3));
      }
      if (list_.Is(i + 1, "(")) Call(i);
      // What another function writes has no value that we know.
      const bool given_away = i > begin + 1 && list_.Is(i - 1, "&") &&
                              (list_.Is(i - 2, "(") || list_.Is(i - 2, ",")) &&
                              (list_.Is(i + 1, ")") || list_.Is(i + 1, ","));
      if (given_away) Keep(i, i + 1, "");
      if (list_.Is(i + 1, "=") && !list_.Is(i + 2, "=")) {
        Value(i);
      } else if (dim3 && !list_.Is(i, "dim3")) {
        Dim3(i);
      }
    }
  }

 private:
  // kernel<<<...>>>(...) or kernel<int, 4><<<...>>>(...)
  void Launch(size_t at) {
    size_t close = at + 1;
    const size_t most = std::min(end_, at + kMostTokens);
    while (close < most && !list_.Is(close, ">>>") && !list_.Is(close, ";") &&
           !list_.Is(close, "<<<")) {
      ++close;
    }
    if (!list_.Is(close, ">>>")) return;
    size_t name = at, depth = 0;
    while (name > 0 && at - name < kMostTokens && (depth > 0 || list_.Is(name - 1, ">"))) {
      depth += list_.Is(--name, ">") ? 1 : 0;
      depth -= list_.Is(name, "<") ? 1 : 0;
    }
    if (name == 0 || !IsWord(list_, name - 1)) return;
    CudaLaunch launch;
    launch.offset = list_[at].offset;
    launch.kernel = list_[name - 1].text;
    launch.configuration = TextsFrom(list_, at + 1, close);
    if (list_.Is(close + 1, "(") && list_.closing[close + 1] < end_) {
      launch.arguments = TextsFrom(list_, close + 2, list_.closing[close + 1]);
    }
    function_.launches.push_back(std::move(launch));
  }

  void Call(size_t at) {
    const size_t close = list_.closing[at + 1];
    if (close >= std::min(end_, at + kMostTokens) || kNotFunctions.contains(list_[at].text)) return;
    function_.calls.push_back(
        {std::string(list_[at].text), {}, TextsFrom(list_, at + 2, close), list_[at].offset});
  }

  // extern __shared__ float tile[];   extern __align__(16) __shared__ char bytes[];
  void Extern(size_t i) {
    for (const size_t most = std::min(end_, i + 8); i < most && !list_.Is(i, ";"); ++i) {
      function_.dynamic_shared = function_.dynamic_shared || list_.Is(i, "__shared__");
    }
  }

  void Keep(size_t begin, size_t end, std::string value) {
    function_.values.emplace(std::pair(Joined(list_, begin, end), list_[begin].offset), value);
  }

  // name = value;   name.x = value;   What the command line gives replaces no default, and what a
  // loop counts has no value.
  void Value(size_t i) {
    size_t stop = i + 2;
    bool given = false, counted = false;
    size_t otherwise = 0;  // of argc > 1 ? atoi(argv[1]) : 1024
    const size_t most = std::min(end_, i + kMostTokens);
    while (stop < most && !list_.Is(stop, ";") && !list_.Is(stop, ",") && !list_.Is(stop, "=")) {
      given = given || kCommandLine.contains(list_[stop].text);
      if (list_.Is(stop, ":")) otherwise = stop + 1;
      stop = list_.closing[stop] < end_ ? list_.closing[stop] + 1 : stop + 1;
    }
    for (size_t back = 2; back < std::min<size_t>(i, 5); ++back) {
      counted = counted || (list_.Is(i - back, "for") && list_.Is(i - back + 1, "("));
    }
    const bool through =
        i > 1 && list_.Is(i - 1, "*") && !IsWord(list_, i - 2) && !list_.Is(i - 2, ">");  // *p = 0
    if (through) return;
    const bool member = i > 1 && list_.Is(i - 1, ".") && IsWord(list_, i - 2);
    const size_t begin = given ? otherwise : i + 2;
    if (begin == 0 || (!member && (list_.Is(i - 1, ".") || list_.Is(i - 1, "->")))) return;
    Keep(member ? i - 2 : i, i + 1, counted ? "" : Joined(list_, begin, std::min(stop, most)));
  }

  // dim3 a(x, y), b{x};   dim3 c, d;
  void Dim3(size_t i) {
    const bool given = list_.Is(i + 1, "(") || list_.Is(i + 1, "{");
    const size_t close = given ? list_.closing[i + 1] : end_;
    if (close < std::min(end_, i + kMostTokens)) {
      Keep(i, i + 1, "dim3(" + Joined(list_, i + 2, close) + ")");
    } else if (list_.Is(i - 1, "dim3") || (list_.Is(i - 1, ",") && list_.Is(i + 1, ";"))) {
      Keep(i, i + 1, "dim3(1)");
    }
  }

  const TokenList& list_;
  size_t end_;
  CudaFunction& function_;
};

// The file at namespace scope: one declaration after the other.
class Scanner {
 public:
  explicit Scanner(std::string_view source) : source_(source), list_(Tokenize(source)) {}

  CudaFile Run() {
    Scope(0, list_.size(), {});
    for (CudaFunction& function : file_.functions) {
      for (CudaParameter& parameter : function.parameters) Resolve(parameter);
      std::erase_if(function.calls, [&](const CudaLaunch& call) {
        return !names_.contains(call.kernel) && !kMemoryCalls.contains(call.kernel);
      });
    }
    return std::move(file_);
  }

 private:
  struct Surroundings {
    bool c_linkage = false, unnamed = false, named = false;
  };

  void Scope(size_t begin, size_t end, Surroundings around) {
    size_t start = begin;  // of the declaration that we are in
    for (size_t i = begin; i < end; ++i) {
      if (list_[i].kind == TokenKind::kDirective) {
        Directive(list_[i].text);
        if (start == i) start = i + 1;
      } else if (list_.Is(i, ";") || list_.Is(i, "}")) {
        Constant(start, i);
        start = i + 1;
      } else if (list_.Is(i, "(") || list_.Is(i, "[")) {
        i = std::min(list_.closing[i], end);
      } else if (list_.Is(i, "{")) {
        const size_t close = std::min(list_.closing[i], end);
        Braces(start, i, close, around);
        i = close;
        if (!list_.Is(i + 1, ";")) start = i + 1;
      }
    }
  }

  void Braces(size_t start, size_t open, size_t close, Surroundings around) {
    const bool linkage =
        open >= start + 2 && list_.Is(open - 2, "extern") && list_.Is(open - 1, "\"C\"");
    for (size_t i = start; i < open; ++i) {
      if (!list_.Is(i, "namespace")) continue;
      const bool has_name = i + 1 < open;
      around.named = around.named || has_name;
      around.unnamed = around.unnamed || !has_name;
      return Nested(open, close, around);
    }
    if (linkage) {
      around.c_linkage = true;
      return Nested(open, close, around);
    }
    Function(start, open, close, around);
  }

  // Namespaces deeper than any honest file has are skipped: the recursion must end.
  void Nested(size_t open, size_t close, const Surroundings& around) {
    if (depth_ >= 32) return;
    ++depth_;
    Scope(open + 1, close, around);
    --depth_;
  }

  // The '(' of the parameters: after a name, and closed by what stands before the body.
  size_t ParametersOf(size_t start, size_t open) const {
    size_t at = open;
    while (at > start && (list_.Is(at - 1, "const") || list_.Is(at - 1, "noexcept") ||
                          list_.Is(at - 1, "override"))) {
      --at;
    }
    if (at == start || !list_.Is(at - 1, ")")) return open;
    for (size_t i = start; i < at; ++i) {
      if (list_.Is(i, "(") && list_.closing[i] == at - 1) return i;
      if (list_.Is(i, "(")) i = std::min(list_.closing[i], at);
    }
    return open;
  }

  void Function(size_t start, size_t open, size_t close, const Surroundings& around) {
    const size_t parameters = ParametersOf(start, open);
    if (parameters == open || parameters == start || !IsWord(list_, parameters - 1)) return;
    CudaFunction function;
    function.name = list_[parameters - 1].text;
    if (kNotFunctions.contains(function.name)) return;
    bool device = false, host = false;
    size_t result = start;
    for (size_t i = start; i < parameters - 1; ++i) {
      function.kernel = function.kernel || list_.Is(i, "__global__");
      function.is_template = function.is_template || list_.Is(i, "template");
      function.local = function.local || list_.Is(i, "static");
      function.c_linkage = function.c_linkage || list_.Is(i, "\"C\"");
      device = device || list_.Is(i, "__device__");
      host = host || list_.Is(i, "__host__");
      // A method of a class, or an operator.
      if (list_.Is(i, "operator") || list_.Is(i, "struct") || list_.Is(i, "class")) return;
    }
    // int at(int i, int j) { return i * kWide + j; } is a macro with parameters.
    if (list_.Is(open + 1, "return") && close > open + 3 && list_.Is(close - 1, ";")) {
      Define(function.name + "(", Joined(list_, parameters, list_.closing[parameters] + 1) +
                                      Joined(list_, open + 2, close - 1));
    }
    if (list_.Is(parameters - 2, "::")) return;
    function.result = ResultOf(result, parameters - 1);
    function.c_linkage = function.c_linkage || around.c_linkage;
    function.local = function.local || around.unnamed;
    function.scoped = around.named;
    function.offset = list_[start].offset;
    function.parameters = ParametersFrom(list_, parameters + 1, list_.closing[parameters]);
    function.body_at = list_[open].offset + 1;
    function.body = source_.substr(function.body_at);
    if (close < list_.size()) function.body.resize(list_[close].offset - function.body_at);
    Body(list_, open + 1, close, function);
    if (device && !host) return file_.helpers.push_back(std::move(function));
    names_.insert(function.name);
    file_.functions.push_back(std::move(function));
  }

  std::string ResultOf(size_t begin, size_t end) const {
    std::string result;
    for (size_t i = begin; i < end; ++i) {
      if (list_[i].kind == TokenKind::kDirective || list_[i].kind == TokenKind::kText) continue;
      if (kNoPartOfAResult.contains(list_[i].text)) continue;
      if (list_.Is(i + 1, "(")) {  // an attribute with arguments
        i = std::min(list_.closing[i + 1], end);
        continue;
      }
      result += (result.empty() || !IsWord(list_, i) ? "" : " ") + std::string(list_[i].text);
    }
    return result;
  }

  // constexpr int kTile = 16;   using real = float;   typedef float real;
  void Constant(size_t begin, size_t end) {
    if (list_.Is(begin, "typedef") && begin + 2 < end) {
      return Define(list_[end - 1].text, Joined(list_, begin + 1, end - 1));
    }
    for (size_t i = begin + 1; i + 1 < end; ++i) {
      if (!list_.Is(i, "=") || !IsWord(list_, i - 1)) continue;
      return Define(list_[i - 1].text, Joined(list_, i + 1, end));
    }
  }

  // Two that differ stand in an #if, and which of them holds is not known.
  void Define(std::string_view name, const std::string& value) {
    const auto [at, fresh] = file_.values.emplace(name, value);
    if (!fresh && at->second != value) at->second.clear();
  }

  void Resolve(CudaParameter& parameter) const {
    const auto alias = file_.values.find(parameter.element);
    const size_t at = parameter.type.rfind(parameter.element);
    if (alias == file_.values.end() || alias->second.empty() || at == std::string::npos) return;
    parameter.type.replace(at, parameter.element.size(), alias->second);
    parameter.element = alias->second;
  }

  // What stands in an #ifdef of a name that is not defined is left out.
  void Directive(std::string_view text) {
    const TokenList words = Tokenize(text.substr(1));
    const bool negates = words.Is(0, "ifndef"), named = negates || words.Is(0, "ifdef");
    if (named || words.Is(0, "if")) {
      const bool out = named && words.size() > 1 && defined_.contains(words[1].text) == negates;
      branches_.push_back(!named ? Branch::kUnknown : out ? Branch::kOut : Branch::kIn);
    } else if (!branches_.empty() && words.Is(0, "endif")) {
      branches_.pop_back();
    } else if (Branch* here = branches_.empty() ? nullptr : &branches_.back();
               here != nullptr && *here != Branch::kUnknown && words.Is(0, "else")) {
      *here = *here == Branch::kIn ? Branch::kOut : Branch::kIn;
    }
    if (std::ranges::count(branches_, Branch::kOut) > 0) return;
    if (words.Is(0, "define") && words.size() > 1) defined_.emplace(words[1].text);
    if (words.Is(0, "define") && words.size() > 2) {
      const bool takes =
          words.Is(2, "(") && words[2].offset == words[1].offset + words[1].text.size();
      const std::string value = Joined(words, 2, words.size());
      file_.values.emplace(std::string(words[1].text) + (takes ? "(" : ""), value);
    } else if (words.Is(0, "include") && words.size() > 1) {
      Include(text, words[1]);
    }
  }

  void Include(std::string_view text, const Token& first) {
    if (first.kind == TokenKind::kText && first.text.size() > 2) {
      file_.includes.emplace_back(first.text.substr(1, first.text.size() - 2));
      return;
    }
    const size_t open = text.find('<'), close = text.find('>');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) return;
    file_.system_includes.emplace_back(text.substr(open + 1, close - open - 1));
  }

  std::string_view source_;
  TokenList list_;
  CudaFile file_;
  std::set<std::string> names_;                         // of functions
  enum class Branch : uint8_t { kIn, kOut, kUnknown };  // of #if, of which all branches are read
  std::vector<Branch> branches_;
  std::set<std::string, std::less<>> defined_ = {"__CUDACC__", "__NVCC__", "__cplusplus"};
  int depth_ = 0;
};

}  // namespace

CudaFile ScanCuda(std::string_view source) { return Scanner(source).Run(); }

}  // namespace warpsmith::task
