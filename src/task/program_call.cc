#include "task/program_call.h"

#include <algorithm>
#include <set>

#include "core/cuda_tokens.h"

namespace warpsmith::task {
namespace {

Error BadCall(const std::string& what, const std::string& fix) {
  return {ErrorCode::kBadInput, "program." + what, fix};
}

// Words that an expression may use without their being anyone's name.
const std::set<std::string_view> kKnownWords = {
    "true",     "false",           "nullptr", "static_cast", "sizeof",   "int",    "long",
    "unsigned", "signed",          "short",   "char",        "float",    "double", "bool",
    "size_t",   "int32_t",         "int64_t", "uint32_t",    "uint64_t", "std",    "const",
    "void",     "reinterpret_cast"};

void CollectNames(const std::string& argument, std::vector<std::string>& names) {
  const TokenList list = Tokenize(argument);
  for (size_t i = 0; i < list.size(); ++i) {
    if (list[i].kind != TokenKind::kWord || kKnownWords.contains(list[i].text)) continue;
    const bool scoped = list.Is(i + 1, "::") || (i > 0 && list.Is(i - 1, "::"));
    if (scoped || list.Is(i + 1, "(")) continue;  // a function, or what a namespace holds
    const std::string name(list[i].text);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
}

}  // namespace

Result<ProgramCall> ParseProgramCall(const ProgramEntry& entry) {
  const TokenList list = Tokenize(entry.declaration);
  size_t open = 0;
  while (open < list.size() && !list.Is(open, "(")) ++open;
  const bool named = open > 1 && open < list.size() && list[open - 1].kind == TokenKind::kWord;
  if (!named || list.closing[open] == list.size()) {
    return BadCall("declaration: '" + entry.declaration + "' declares no function",
                   "write it as in C++: \"void run(const void* x, void* y, int64_t n)\"");
  }
  ProgramCall call;
  call.function = list[open - 1].text;
  const size_t close = list.closing[open];
  const bool is_void = close == open + 2 && list.Is(open + 1, "void");
  call.parameters = is_void ? 0 : SplitAtCommas(list, open + 1, close).size();
  if (call.parameters != entry.arguments.size()) {
    return BadCall("arguments: " + std::to_string(entry.arguments.size()) + ", and " +
                       call.function + " takes " + std::to_string(call.parameters),
                   "give one argument for each parameter of the declaration");
  }
  for (const std::string& argument : entry.arguments) CollectNames(argument, call.names);
  return call;
}

}  // namespace warpsmith::task
