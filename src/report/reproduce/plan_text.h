// A launch plan as C++: a class of support/measure.h's kind. Private to this folder.
#ifndef WARPSMITH_REPORT_REPRODUCE_PLAN_TEXT_H_
#define WARPSMITH_REPORT_REPRODUCE_PLAN_TEXT_H_

#include <string>

#include "core/resolved_plan.h"

namespace warpsmith::reproduce {

// What the class is called, what it prints, and where its cubin lies.
struct ClassNames {
  std::string type, title, cubin;
};

// `plan` tells integers from floats, which the resolved one no longer does.
std::string PlanClass(const ClassNames& names, const Task& task, const LaunchPlan& plan,
                      const ResolvedPlan& resolved);

}  // namespace warpsmith::reproduce

#endif  // WARPSMITH_REPORT_REPRODUCE_PLAN_TEXT_H_
