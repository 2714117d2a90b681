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

// A run's best are certified in a run of their own: "<the run's id>/certify-<hash>".
inline constexpr std::string_view kCertification = "/certify-";
// The run whose best a run certifies; of any other run its own id.
inline std::string_view CertifiedRun(std::string_view id) {
  return id.substr(0, id.rfind(kCertification));
}
inline bool IsCertification(std::string_view id) { return CertifiedRun(id) != id; }

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_STEP_REFERENCE_H_
