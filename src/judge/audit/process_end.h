// How a process ended that an audit had started, in words for a report.
#ifndef WARPSMITH_JUDGE_AUDIT_PROCESS_END_H_
#define WARPSMITH_JUDGE_AUDIT_PROCESS_END_H_

#include <string>

#include "base/subprocess.h"

namespace warpsmith::audit {

// "no end in time", or "status 1, 'the first line of its output'". Output is a candidate's to
// choose: no more than 300 bytes of it.
std::string HowItEnded(const ProcessOutcome& process);

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_PROCESS_END_H_
