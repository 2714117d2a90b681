#include "core/program_shim.h"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "core/cuda_tokens.h"

namespace warpsmith {
namespace {

// With a host compiler alone: the bridge has no device code.
constexpr char kShimFile[] = "warpsmith_shim.cpp";
constexpr std::string_view kBlanks = " \t\r\n";
constexpr int64_t kLowest = INT64_MIN;

Error BadEntry(const Task& task, const std::string& what, const std::string& fix) {
  return Error{ErrorCode::kBadInput, fmt::format("task {}: program: {}", task.name, what), fix};
}

// "f" and the parameters of `... f(T a, U<V, W> b)`.
struct Declaration {
  std::string text;  // without a semicolon
  std::string function;
  std::vector<std::string> parameters;
};

Result<Declaration> Parse(const Task& task) {
  Declaration declaration;
  std::string_view text = Trimmed(task.program->declaration);
  while (text.ends_with(';')) text = Trimmed(text.substr(0, text.size() - 1));
  const size_t open = text.find('('), close = text.rfind(')');
  const Error malformed =
      BadEntry(task, fmt::format("'{}' declares no function", text),
               "declare it like: void run(float* out, const float* in, int64_t n)");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return malformed;
  }
  if (text.find_first_of(";{}#\\") != std::string_view::npos) return malformed;
  const std::string_view before = Trimmed(text.substr(0, open));
  size_t name = before.size();
  while (name > 0 && IsWordCharacter(before[name - 1])) --name;
  declaration.function = before.substr(name);
  if (!IsIdentifier(declaration.function) || name == 0) return malformed;
  declaration.text = text;
  const TokenList list = Tokenize(text.substr(open + 1, close - open - 1));
  if (list.size() == 1 && list.Is(0, "void")) return declaration;
  for (const auto& [begin, end] : SplitAtCommas(list, 0, list.size())) {
    declaration.parameters.push_back(Joined(list, begin, end));
  }
  return declaration;
}

// One C++ expression that ends where it should: it closes nothing that it has not opened.
Status CheckArgument(const Task& task, std::string_view argument) {
  const Error bad = BadEntry(task, fmt::format("argument '{}' is no single expression", argument),
                             "name a tensor, or write one C++ expression over the sizes");
  std::string open;
  for (const char c : argument) {
    constexpr std::string_view kOpening = "([{", kClosing = ")]}";
    if (std::string_view(";#\\\n\r\"'").find(c) != std::string_view::npos) return bad;
    if (kOpening.find(c) != std::string_view::npos) open += kClosing[kOpening.find(c)];
    if (kClosing.find(c) == std::string_view::npos) continue;
    if (open.empty() || open.back() != c) return bad;
    open.pop_back();
  }
  if (Trimmed(argument).empty() || !open.empty()) return bad;
  return {};
}

// The type of `const float* __restrict__ x`, `float x[]`, `void*`: all up to the last star.
Result<std::string> PointerTypeOf(const Task& task, std::string_view parameter) {
  const size_t star = parameter.rfind('*');
  if (star != std::string_view::npos) return std::string(Trimmed(parameter.substr(0, star + 1)));
  const size_t bracket = parameter.find('[');
  size_t end = bracket == std::string_view::npos ? 0 : bracket;
  while (end > 0 && kBlanks.find(parameter[end - 1]) != std::string_view::npos) --end;
  while (end > 0 && IsWordCharacter(parameter[end - 1])) --end;
  if (end == 0) {
    return BadEntry(task,
                    fmt::format("parameter '{}' is given a tensor but is no pointer", parameter),
                    "declare it as a pointer: tensors are device addresses");
  }
  return std::string(Trimmed(parameter.substr(0, end))) + "*";
}

Result<std::string> ArgumentText(const Task& task, const std::string& argument,
                                 const std::string& parameter) {
  for (size_t i = 0; i < task.tensors.size(); ++i) {
    if (task.tensors[i].name != argument) continue;
    return fmt::format("static_cast<{}>(tensors[{}])", TRY(PointerTypeOf(task, parameter)), i);
  }
  return argument;
}

Result<std::string> SizeArguments(const Task& task, const Workload& workload) {
  std::string text;
  for (const auto& [name, value] : workload.sizes) {
    if (!IsIdentifier(name)) {
      return BadEntry(task, fmt::format("the size '{}' is no C++ name", name),
                      "name sizes like N or k2");
    }
    const std::string number = value == kLowest ? "INT64_MIN" : fmt::format("INT64_C({})", value);
    text += fmt::format("  [[maybe_unused]] const int64_t {} = {};\n", name, number);
  }
  return text;
}

Result<std::string> CallText(const Task& task, const Declaration& declaration) {
  const std::vector<std::string>& arguments = task.program->arguments;
  if (arguments.size() != declaration.parameters.size()) {
    return BadEntry(task,
                    fmt::format("{} parameters are declared but {} arguments given",
                                declaration.parameters.size(), arguments.size()),
                    "give each parameter one argument, in order");
  }
  std::string list;
  for (size_t i = 0; i < arguments.size(); ++i) {
    TRY(CheckArgument(task, arguments[i]));
    list += (i == 0 ? "" : ",\n      ") +
            TRY(ArgumentText(task, arguments[i], declaration.parameters[i]));
  }
  return fmt::format("{}({})", declaration.function, list);
}

Result<std::string> ShimText(const Task& task, const Workload& workload) {
  const Declaration declaration = TRY(Parse(task));
  const std::string call = TRY(CallText(task, declaration));
  return fmt::format(
      "#include <cuda_bf16.h>\n#include <cuda_fp16.h>\n#include <cuda_runtime.h>\n"
      "#include <array>\n#include <cstddef>\n#include <cstdint>\n#include <string>\n"
      "#include <tuple>\n#include <vector>\n\n{};\n\n"
      "extern \"C\" __attribute__((visibility(\"default\"))) void {}(void* const* tensors) {{\n"
      "  (void)tensors;\n{}  {};\n}}\n",
      declaration.text, kProgramEntry, TRY(SizeArguments(task, workload)), call);
}

}  // namespace

Status CheckProgramEntry(const Task& task) {
  if (!task.program) return {};
  TRY(CallText(task, TRY(Parse(task))));
  return {};
}

Result<Candidate> WithProgramShim(const Candidate& candidate, const Task& task,
                                  const Workload& workload) {
  if (candidate.form != Form::kProgram) return candidate;
  if (!task.program) {
    return BadEntry(task, "the task does not say how a program is called",
                    "give it [program] with a declaration and arguments");
  }
  Candidate whole = candidate;
  std::string file = kShimFile;
  while (whole.sources.contains(file)) file.insert(0, "_");
  whole.sources[file] = TRY(ShimText(task, workload));
  whole.entry = file;
  return whole;
}

}  // namespace warpsmith
