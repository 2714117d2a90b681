// Whether a candidate that comes with a driver defines the launch that the driver declares, as far
// as their texts tell.
#ifndef WARPSMITH_TASK_KERNELBENCH_LAUNCH_MATCH_H_
#define WARPSMITH_TASK_KERNELBENCH_LAUNCH_MATCH_H_

#include <string>
#include <string_view>
#include <vector>

#include "task/kernelbench/launch_declaration.h"

namespace warpsmith::kernelbench {

// One spelling for each type that a linker takes for the same: without std:: and const that no
// caller sees, int64_t for long, half for __half.
std::string PlainType(std::string_view type);

struct LaunchMatch {
  LaunchDeclaration declaration;  // for candidates: the driver's, perhaps with C linkage
  std::string note;               // what a person should know; empty: nothing
};

// `definitions`: none, where nothing is known of them. C linkage is taken from a definition that
// differs in nothing else: the driver does not need its own.
LaunchMatch Match(const LaunchDeclaration& declared,
                  const std::vector<LaunchDeclaration>& definitions);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_LAUNCH_MATCH_H_
