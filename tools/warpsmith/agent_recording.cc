#include "agent_recording.h"

#include <map>

#include "store/recorder.h"
#include "util/clock.h"

namespace warpsmith::cli {
namespace {

constexpr const char* kFamily = "agent";

Point PointOf(int64_t step) { return {kFamily, {{"step", step}}}; }

std::string ToolchainOf(const std::vector<JudgedStep>& steps) {
  for (const JudgedStep& one : steps) {
    if (!one.step.verdict.evidence.toolchain.empty()) return one.step.verdict.evidence.toolchain;
  }
  return "";
}

}  // namespace

Result<RecordedRun> FindRecordedRun(const store::RecordedDevice& device, const Task& task,
                                    const Workload& workload) {
  for (const auto& recording : device.Recordings()) {
    for (size_t i = 0; i < recording->spaces().size(); ++i) {
      const store::SpaceLine& space = recording->spaces()[i];
      if (TaskId(space.task) != TaskId(task) || space.workload.sizes != workload.sizes) continue;
      store::Memos memos = TRY(recording->ReadMemos(static_cast<int>(i)));
      if (memos.empty()) continue;
      return RecordedRun{space.task, space.workload, static_cast<int64_t>(space.space.size()),
                         std::move(memos)};
    }
  }
  return Error{ErrorCode::kNotRecorded,
               device.Info().origin + " holds no run of the agent on task '" + task.name + "'",
               "name the task that it was recorded with, or another recording"};
}

Status RecordRun(const std::filesystem::path& path, const RunRecord& run,
                 const std::vector<JudgedStep>& steps, const store::Memos& memos) {
  if (std::filesystem::exists(path)) {
    return Error{ErrorCode::kConfig, path.string() + " is there already",
                 "record to another file, or remove this one"};
  }
  auto recorder = TRY(store::Recorder::Open(
      path, {run.device, ToolchainOf(steps), UtcTimestamp(), run.command, {}}));
  std::map<std::string, Point> points;  // by candidate; the same twice is one verdict
  std::vector<Point> all;
  for (const JudgedStep& one : steps) {
    const bool is_final = one.protocol.level == Level::kCertified;
    if (is_final) continue;
    all.push_back(PointOf(one.step.index));
    points.emplace(CandidateId(one.step.candidate), all.back());
  }
  const int space =
      TRY(recorder->AddSpace({run.task, run.workload, Space("agent/" + run.id, std::move(all))}));
  for (const JudgedStep& one : steps) {
    Job job{"", run.task, run.workload, one.step.candidate, std::nullopt, one.protocol};
    const Point& point = points.at(CandidateId(one.step.candidate));
    job.candidate.provenance.family = point.family;
    job.candidate.provenance.config = point.config;
    job.key = MeasurementKey(job.candidate, job.task, job.workload, job.protocol);
    TRY(recorder->Append(space, job, {job.key, one.step.verdict, one.step.cost.gpu_seconds}));
  }
  for (const auto& [key, text] : memos) TRY(recorder->AppendMemo(space, key, text));
  return recorder->Finalize();
}

}  // namespace warpsmith::cli
