// What the device did while a candidate ran alone, held against what it was to do.
//
// The records come from inside the candidate's process (judge/standalone/activity_log.h). For a
// program they are advice: absence of a finding proves nothing, so the report says whose word it is.
#ifndef WARPSMITH_JUDGE_AUDIT_ACTIVITY_H_
#define WARPSMITH_JUDGE_AUDIT_ACTIVITY_H_

#include <optional>
#include <string>
#include <vector>

#include "core/form.h"
#include "judge/audit/finding.h"
#include "judge/standalone/activity_log.h"

namespace warpsmith::audit {

struct ActivitySubject {
  Form form = Form::kKernel;
  std::vector<std::string> own_kernels;  // as compiled, mangled; empty: not known
  std::vector<std::string> allow;        // the task's
};

// Rejected: a kernel of a library that the task does not allow; a kernel that is not the
// candidate's own, where those are known and the task allows no library; work that began after a
// call was over; work on another stream that outlasts everything on the call's own, after the call
// returned.
AuditFinding JudgeActivity(const standalone::ActivityLog& log, const ActivitySubject& subject);

// Time in which at least one record was running, per call; nullopt without calls. Wall time from a
// call's begin to the idle device beside it.
struct ActivityTimes {
  double busy_us = 0, wall_us = 0;
};
std::optional<ActivityTimes> TimesPerCall(const standalone::ActivityLog& log);

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_ACTIVITY_H_
