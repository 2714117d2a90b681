// launch_gpu_implementation in a driver's C++ text: what is found is one line, and
// found again with as many parameters.
#include "fuzz.h"
#include "task/kernelbench/launch_match.h"
#include "task/program_call.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto definitions = kernelbench::FindLaunchDefinitions(fuzz::TextOf(data, size));
  for (const auto& defined : definitions) {
    CHECK(kernelbench::Match(defined, definitions).note.empty());
  }
  const auto found = kernelbench::FindLaunchDeclaration(fuzz::TextOf(data, size));
  if (fuzz::ValueOf(found) == nullptr) return 0;
  const std::string text = kernelbench::DeclarationText(*found);
  CHECK(text.find('\n') == text.npos);
  const auto again = kernelbench::FindLaunchDeclaration(text + ";");
  // What is no C++ ("const" alone as a parameter) may change its names, not its arguments.
  if (fuzz::ValueOf(again)) CHECK(again->parameters.size() == found->parameters.size());
  kernelbench::CapturingDefinition(*found);
  kernelbench::Match(*found, definitions);
  return 0;
}
