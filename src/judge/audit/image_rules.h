// What a kernel's cubin may not hold, whatever it computes. Read from its own bytes: no
// disassembler is needed, and nothing runs.
#ifndef WARPSMITH_JUDGE_AUDIT_IMAGE_RULES_H_
#define WARPSMITH_JUDGE_AUDIT_IMAGE_RULES_H_

#include <optional>
#include <string>
#include <string_view>

#include "core/launch_plan.h"
#include "core/verdict.h"

namespace warpsmith::audit {

// "programmatic-launch": a kernel that the plan launches programmatically, before what lies ahead
// of it has ended, has no instruction that waits for it (griddepcontrol.wait, ACQBULK in SASS
// of 9.0 to 12.0). "device-heap": a kernel calls the device's malloc, whose memory outlives the
// launch and is seen by no comparison. Nothing is said of an image that is no ELF file: it will not
// load.
std::optional<Rejected> RefuseImage(const LaunchPlan& plan, std::string_view image);

// What the driver would refuse: a kernel of the plan that the image lacks, or that takes another
// number of parameters. Nothing is said of an image that is no ELF file.
std::optional<std::string> PlanMismatch(const LaunchPlan& plan, std::string_view image);

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_IMAGE_RULES_H_
