// The rules that find a kernel's bottlenecks. Private to this folder.
#ifndef WARPSMITH_JUDGE_PROFILE_RULES_H_
#define WARPSMITH_JUDGE_PROFILE_RULES_H_

#include <string>
#include <vector>

#include "judge/profile/bottleneck.h"

namespace warpsmith::profile {

// Whether the use of any unit was counted.
bool HasCounters(const KernelProfile& kernel);

// What is said of one kernel of a plan of so many launches, in any order; their `kernel` is filled
// in by the caller. Weights may be beyond 0 to 1, because counters may say anything.
std::vector<Statement> KernelStatements(const KernelProfile& kernel, const ProblemFacts& facts,
                                        size_t launches);

// About the whole plan: where the work lies under the part's roofline.
std::vector<Statement> RooflineStatements(const ProblemFacts& facts, double time_us,
                                          bool has_counters);

// "83" for 83.2, "0.41" for 0.412: for sentences.
std::string Rounded(double value);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_RULES_H_
