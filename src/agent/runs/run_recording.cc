#include "agent/runs/run_recording.h"

#include <nlohmann/json.hpp>

#include <map>

#include "base/clock.h"
#include "base/json_reader.h"
#include "core/json_fields.h"
#include "store/recorder.h"

namespace warpsmith::agent {

constexpr auto FieldsOf(const TokenBudgetEnd*) {
  using T = TokenBudgetEnd;
  return std::tuple(Needed("limit", &T::limit), Needed("fitted", &T::fitted));
}
constexpr auto FieldsOf(const RecordedEnd*) {
  using T = RecordedEnd;
  return std::tuple(Needed("evaluations", &T::evaluations), Needed("limit", &T::limit),
                    Optional("wallet", &T::token_budget));
}

namespace {

using nlohmann::json;

constexpr const char* kFamily = "agent";

Point PointOf(int64_t step) { return {kFamily, {{"step", step}}}; }

std::string ToolchainOf(const std::vector<JudgedStep>& steps) {
  for (const JudgedStep& one : steps) {
    if (!one.step.verdict.evidence.toolchain.empty()) return one.step.verdict.evidence.toolchain;
  }
  return "";
}

// Under which the space has verdicts, of this level.
std::optional<Protocol> ProtocolIn(const store::Recording& recording, int space, Level level) {
  for (const store::LineStart& start : recording.verdict_starts()) {
    const Protocol& protocol = recording.protocols().at(static_cast<size_t>(start.protocol));
    if (start.at.space == space && protocol.level == level) return protocol;
  }
  return std::nullopt;
}

Result<RecordedEnd> RecordedEndFrom(const std::string& source, const std::string& text) {
  const std::string name = source + ": memo " + kEndKey;
  const json parsed = TRY(ParseJson(name, text));
  return json_fields::ReadAs<RecordedEnd>(JsonReader(name, parsed));
}

// Nullopt: the space is no run of the agent.
Result<std::optional<RecordedRun>> RunIn(const std::shared_ptr<const store::Recording>& recording,
                                         int space) {
  store::Memos memos = TRY(recording->ReadMemos(space));
  if (memos.empty()) return std::optional<RecordedRun>();
  const store::SpaceLine& line = recording->spaces()[static_cast<size_t>(space)];
  RecordedRun run;
  run.recording = recording;
  run.space = line.space.name();
  run.task = line.task;
  run.workload = line.workload;
  const auto protocol = ProtocolIn(*recording, space, Level::kScreened);
  if (!protocol.has_value()) {
    return Error{ErrorCode::kBadInput, recording->name() + ": no step of the run was judged",
                 "record the run again"};
  }
  run.protocol = *protocol;
  run.certifying = ProtocolIn(*recording, space, Level::kCertified);
  run.steps = static_cast<int64_t>(line.space.size());
  const auto end = memos.find(kEndKey);
  run.end = end == memos.end() ? RecordedEnd{run.steps, "evals", {}}
                               : TRY(RecordedEndFrom(recording->name(), end->second));
  run.memos = std::move(memos);
  return std::optional(std::move(run));
}

// A refusal is found out anew in a replay, and what the user's store knew has cost nothing there.
Result<Completed> CompletedOf(const std::string& key, const Step& step,
                              const RecordedRun* replayed) {
  Completed completed{key, step.verdict, step.cost.gpu_seconds};
  if (replayed == nullptr || !replayed->recording->HasVerdict(key)) return completed;
  const store::VerdictLine line = TRY(replayed->recording->ReadVerdict(key));
  completed.verdict.evidence = line.verdict.evidence;
  completed.gpu_seconds = line.gpu_seconds;
  return completed;
}

store::RecordingHeader HeaderOf(const RunRecord& run, const std::vector<JudgedStep>& steps) {
  return {run.device, ToolchainOf(steps), UtcTimestamp(), run.command, {}};
}

}  // namespace

std::string TextOf(const RecordedEnd& end) { return JsonText(json_fields::Value(end)); }

Result<std::vector<RecordedRun>> RecordedRuns(const store::RecordedDevice& device) {
  std::vector<RecordedRun> runs;
  for (const auto& recording : device.Recordings()) {
    for (int space = 0; space < static_cast<int>(recording->spaces().size()); ++space) {
      auto run = TRY(RunIn(recording, space));
      if (run.has_value()) runs.push_back(std::move(*run));
    }
  }
  if (!runs.empty()) return runs;
  return Error{ErrorCode::kNotRecorded, device.Info().origin + " holds no run of the agent",
               "name a recording of one, or make one with: warpsmith optimize TASK --proposer "
               "agent --record FILE.wsrec"};
}

Result<RecordedRun> FindRecordedRun(const store::RecordedDevice& device, const Task& task,
                                    const Workload& workload) {
  for (RecordedRun& run : TRY(RecordedRuns(device))) {
    if (TaskId(run.task) != TaskId(task) || run.workload.sizes != workload.sizes) continue;
    return std::move(run);
  }
  return Error{ErrorCode::kNotRecorded,
               device.Info().origin + " holds no run of the agent on task '" + task.name + "'",
               "name the task that it was recorded with, or another recording"};
}

Status CheckNew(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return {};
  return Error{ErrorCode::kConfig, path.string() + " is there already",
               "record to another file, or remove this one"};
}

Status RecordRun(const std::filesystem::path& path, const RunRecord& run,
                 const std::vector<JudgedStep>& steps, const store::Memos& memos,
                 const RecordedRun* replayed) {
  TRY(CheckNew(path));
  store::RecordingHeader header =
      replayed == nullptr ? HeaderOf(run, steps) : replayed->recording->header();
  header.counts.reset();
  auto recorder = TRY(store::Recorder::Open(path, header));
  std::map<std::string, Point> points;  // by candidate; the same twice is one verdict
  std::vector<Point> all;
  for (const JudgedStep& one : steps) {
    const bool is_final = one.protocol.level == Level::kCertified;
    if (is_final) continue;
    all.push_back(PointOf(one.step.index));
    points.emplace(CandidateId(one.step.candidate), all.back());
  }
  const std::string name = replayed == nullptr ? "agent/" + run.id : replayed->space;
  const int space = TRY(recorder->AddSpace({run.task, run.workload, Space(name, std::move(all))}));
  for (const JudgedStep& one : steps) {
    Job job{"", run.task, run.workload, one.step.candidate, std::nullopt, one.protocol};
    const Point& point = points.at(CandidateId(one.step.candidate));
    job.candidate.provenance.family = point.family;
    job.candidate.provenance.config = point.config;
    job.key = MeasurementKey(job.candidate, job.task, job.workload, job.protocol);
    TRY(recorder->Append(space, job, TRY(CompletedOf(job.key, one.step, replayed))));
  }
  for (const auto& [key, text] : memos) TRY(recorder->AppendMemo(space, key, text));
  return recorder->Finalize();
}

}  // namespace warpsmith::agent
