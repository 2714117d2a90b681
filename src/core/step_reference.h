// How a step is named outside its run: "run:<run>#<index>". Verdicts are so named to coding agents
// and in the knowledge base.
#ifndef WARPSMITH_CORE_STEP_REFERENCE_H_
#define WARPSMITH_CORE_STEP_REFERENCE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warpsmith {

struct StepReference {
  std::string run;
  int64_t index = 0;
};

std::string TextOf(const StepReference& reference);
// Nullopt where the text names no step. A run's id may hold any character, '#' included.
std::optional<StepReference> StepReferenceFrom(std::string_view text);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_STEP_REFERENCE_H_
