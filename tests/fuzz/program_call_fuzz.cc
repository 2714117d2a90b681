// [program]: a declaration on the first line, then one argument a line.
#include "fuzz.h"
#include "task/check.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto [declaration, rest] = fuzz::CutLine(fuzz::TextOf(data, size));
  ProgramEntry entry{std::string(declaration), {}};
  while (!rest.empty()) {
    const auto [argument, after] = fuzz::CutLine(rest);
    entry.arguments.emplace_back(argument);
    rest = after;
  }
  const auto call = task::ParseProgramCall(entry);
  if (fuzz::ValueOf(call) == nullptr) return 0;
  CHECK(!call->function.empty() && call->parameters == entry.arguments.size());
  return 0;
}
