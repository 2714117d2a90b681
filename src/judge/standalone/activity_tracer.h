// Watches the calls of a stand-alone run through CUPTI.
#ifndef WARPSMITH_JUDGE_STANDALONE_ACTIVITY_TRACER_H_
#define WARPSMITH_JUDGE_STANDALONE_ACTIVITY_TRACER_H_

#include <optional>

#include "base/result.h"
#include "cuda/cupti.h"
#include "judge/standalone/activity_log.h"

namespace warpsmith::standalone {

// Where CUPTI is not there or refuses, nothing is lost but the records: the log says why.
class ActivityTracer {
 public:
  // `stream`: the one that calls work on; null: the default stream.
  explicit ActivityTracer(CUstream_st* stream);

  void CallBegins() { Stamp(&ActivityCall::begin_ns); }
  void CallReturned() { Stamp(&ActivityCall::returned_ns); }
  void DeviceIdle();  // ends the call
  ActivityLog Finish();

 private:
  void Stamp(int64_t ActivityCall::*time);

  ActivityLog log_;
  ActivityCall call_;
  std::optional<cuda::KernelTrace> trace_;
};

}  // namespace warpsmith::standalone

#endif  // WARPSMITH_JUDGE_STANDALONE_ACTIVITY_TRACER_H_
