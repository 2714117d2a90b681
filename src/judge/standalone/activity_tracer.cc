#include "judge/standalone/activity_tracer.h"

#include <algorithm>
#include <utility>

namespace warpsmith::standalone {
namespace {

std::vector<ActivityRecord> Merge(cuda::ActivityRecords records) {
  std::vector<ActivityRecord> merged;
  for (cuda::KernelRecord& kernel : records.kernels) {
    merged.push_back({ActivityKind::kKernel, std::move(kernel.name), kernel.stream, kernel.start_ns,
                      kernel.end_ns, 0, kernel.graph_node != 0});
  }
  for (const cuda::TransferRecord& transfer : records.transfers) {
    const bool fill = transfer.kind == cuda::TransferRecord::Kind::kFill;
    merged.push_back({fill ? ActivityKind::kFill : ActivityKind::kCopy, "", transfer.stream,
                      transfer.start_ns, transfer.end_ns, transfer.bytes,
                      transfer.graph_node != 0});
  }
  std::stable_sort(
      merged.begin(), merged.end(),
      [](const ActivityRecord& a, const ActivityRecord& b) { return a.start_ns < b.start_ns; });
  return merged;
}

ActivityLog Absent(std::string why) {
  ActivityLog log;
  log.absent = std::move(why);
  return log;
}

}  // namespace

ActivityTracer::ActivityTracer(CUstream_st* stream) {
  auto trace = cuda::KernelTrace::Start(cuda::Traced::kEverything);
  if (!trace.ok()) {
    log_ = Absent(trace.error().Line());
    return;
  }
  trace_.emplace(std::move(trace).value());
  const auto version = cuda::CuptiVersion();
  log_.tracer = version.ok() ? *version : "CUPTI";
  const auto id = cuda::CuptiStreamId(stream);
  log_.stream = id.ok() ? *id : 0;
}

void ActivityTracer::Stamp(int64_t ActivityCall::*time) {
  if (!trace_) return;
  const auto now_ns = cuda::CuptiNowNs();
  if (now_ns.ok()) call_.*time = *now_ns;
}

void ActivityTracer::DeviceIdle() {
  Stamp(&ActivityCall::idle_ns);
  if (trace_) log_.calls.push_back(std::exchange(call_, {}));
}

ActivityLog ActivityTracer::Finish() {
  if (!trace_) return std::move(log_);
  auto records = trace_->StopAll();
  trace_.reset();
  if (!records.ok()) return Absent(records.error().Line());
  log_.records = Merge(std::move(records).value());
  return std::move(log_);
}

}  // namespace warpsmith::standalone
