#include "hgemm/bench/record.h"

#include <unistd.h>
#include <utility>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/clock.h"
#include "base/interrupt.h"
#include "hgemm/bench/contest.h"
#include "hgemm/cost_model.h"
#include "hgemm/family.h"
#include "judge/baseline/gemm_baseline.h"
#include "report/terminal.h"
#include "search/call_time.h"
#include "search/proposers/terrain.h"
#include "search/session.h"
#include "search/tuning/search.h"
#include "store/recorder.h"
#include "task/candidate_file.h"
#include "task/hgemm_task.h"
#include "task/task_file.h"

namespace warpsmith::hgemm {

using search::Machine;
using search::SearchJob;

namespace {

constexpr int kCertified = 3;  // of the best few, so that a replayed search has finalists

// The best few in every mode, still screened: cheap enough for ten a shape.
Protocol AllModes() {
  Protocol protocol = Protocol::Screened();
  protocol.modes = {Mode::kDeviceHot, Mode::kDeviceCold, Mode::kOffline, Mode::kServer};
  return protocol;
}

struct Ranked {
  double ratio = 0;
  Point point;
};

// One call's recording: the file, the clock and what is said meanwhile.
class Recording {
 public:
  Recording(const RecordOptions& options, Machine& machine,
            std::unique_ptr<store::Recorder> recorder)
      : options_(options),
        machine_(machine),
        recorder_(std::move(recorder)),
        line_(stderr, report::StyleOf(STDERR_FILENO)),
        time_(options.pace) {}

  // False: stopped before the shape was done.
  Result<bool> Shape(const SearchJob& job) {
    const int space = TRY(recorder_->AddSpace({job.task, job.workload, job.space}));
    std::vector<Ranked> ranked;
    if (!TRY(Measure(job, space, search::SearchProtocol(), job.space.points(), &ranked)))
      return false;
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Ranked& a, const Ranked& b) { return a.ratio > b.ratio; });
    if (!TRY(Measure(job, space, AllModes(), Best(ranked, options_.other_modes), nullptr))) {
      return false;
    }
    const int certified = std::min(kCertified, options_.other_modes);
    if (!TRY(Measure(job, space, Protocol::Certified(), Best(ranked, certified), nullptr))) {
      return false;
    }
    const bool is_product = !task::LayoutOf(job.task).empty();
    if (!is_product || ranked.empty() || recorder_->HasBaselines(job.space.name())) return true;
    if (OutOfTime()) return false;
    SearchJob beside = job;
    beside.task.baselines = baseline::GemmBaselineNames();
    const auto measured =
        MeasureBeside(machine_, beside, ranked.front().point, LibrariesProtocol());
    if (!measured.ok() && measured.error().code == ErrorCode::kInterrupted) return false;
    for (const ModeTiming& mode : TRY(measured).first.modes) {
      for (const LibraryTime& time : LibraryTimesOf(mode)) {
        TRY(recorder_->AppendBaseline(
            {job.space.name(), time.name, time.layout, time.mode, time.us}));
      }
    }
    return true;
  }

  Status Finish() {
    line_.Clear();
    return recorder_->Finalize();
  }
  int64_t verdicts() const { return recorder_->verdict_count(); }

 private:
  static std::vector<Point> Best(const std::vector<Ranked>& ranked, int count) {
    std::vector<Point> points;
    for (const Ranked& one : ranked) {
      if (static_cast<int>(points.size()) < count) points.push_back(one.point);
    }
    return points;
  }

  bool OutOfTime() const { return time_.IsOver(); }

  Result<bool> Measure(const SearchJob& job, int space, const Protocol& protocol,
                       const std::vector<Point>& points, std::vector<Ranked>* ranked) {
    report::Progress progress;
    progress.label = job.label + (ranked == nullptr ? " best" : "");
    progress.planned = static_cast<int64_t>(points.size());
    const auto note = [&](const Verdict& verdict, const Point& point) {
      ++progress.evaluations;
      const auto ratio = RatioToPrimary(verdict, Mode::kDeviceHot);
      progress.best_ratio = std::max(progress.best_ratio, ratio.value_or(0));
      if (!std::holds_alternative<Passed>(verdict.outcome)) {
        ++progress.failed[std::string(OutcomeName(verdict.outcome))];
      } else if (ranked != nullptr && ratio) {
        ranked->push_back({*ratio, point});
      }
      if (!options_.common.quiet) line_.Update(progress, MonotonicSeconds());
    };
    std::vector<Point> missing;
    for (const Point& point : points) {
      if (OutOfTime()) return false;
      const auto earlier = TRY(FindEarlier(job, protocol, point));
      if (earlier) {
        note(earlier->verdict, point);
      } else {
        missing.push_back(point);
      }
    }
    if (missing.empty()) return true;
    search::Session session({job.task, job.workload, protocol}, TRY(machine_.seams()));
    auto point = missing.begin();
    const search::NextJob next = [&]() -> Result<std::optional<Job>> {
      if (point == missing.end()) return std::optional<Job>();
      return std::optional(session.question().JobOf(TRY(job.make(*point++))));
    };
    return session.Evaluate(next, [&](const search::Judged& judged) -> Result<bool> {
      const Step& step = judged.step;
      const Completed completed{judged.key, step.verdict, step.cost.gpu_seconds};
      TRY(recorder_->Append(space, session.question().JobOf(step.candidate), completed));
      const Provenance& from = step.candidate.provenance;
      note(step.verdict, {from.family, from.config});
      return !OutOfTime();
    });
  }

  // What the file held when this call began.
  Result<std::optional<Completed>> FindEarlier(const SearchJob& job, const Protocol& protocol,
                                               const Point& point) const {
    if (!recorder_->IsContinued()) return std::optional<Completed>();
    const Candidate candidate = TRY(job.make(point));
    return recorder_->FindEarlier(MeasurementKey(candidate, job.task, job.workload, protocol));
  }

  const RecordOptions& options_;
  Machine& machine_;
  std::unique_ptr<store::Recorder> recorder_;
  report::ProgressLine line_;
  search::CallTime time_;
};

std::string RecordCommandOf(const RecordOptions& options) {
  if (!options.task.empty()) {
    std::string command = "warpsmith record " + options.output + " --task " + options.task;
    for (const std::string& candidate : options.candidates) command += " --candidate " + candidate;
    return command;
  }
  return "warpsmith record " + options.output + " --shapes " + options.shapes + " " +
         ArgumentsOf(options.product) + " --limit " + std::to_string(options.limit);
}

// A space for each candidate. Replays do not judge hidden workloads, so none is recorded.
Result<std::vector<SearchJob>> TaskJobs(const RecordOptions& options) {
  if (options.candidates.empty()) {
    return Error{ErrorCode::kUsage, "--task without --candidate names no kernel to record",
                 "name the candidates of the task, as in --candidate tasks/row-sum-f32/block"};
  }
  const task::LoadedTask loaded = TRY(task::LoadTask(options.task));
  std::vector<SearchJob> jobs;
  for (const std::string& path : options.candidates) {
    const auto file =
        std::make_shared<const task::CandidateFile>(TRY(task::CandidateFile::Load(path)));
    const std::string name = loaded.task.name + " " +
                             std::filesystem::path(path + "/").parent_path().filename().string();
    SearchJob job{loaded.task, loaded.workload, Space(name, file->space().points()), {}, {}, {}, {},
                  name};
    job.make = [file](const Point& point) -> Result<Candidate> {
      Candidate candidate = TRY(file->Make(point));
      candidate.provenance.family = point.family;  // by which its verdict finds its place
      candidate.provenance.config = point.config;
      return candidate;
    };
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace

Result<std::vector<SearchJob>> JobsToRecord(Machine& machine, const RecordOptions& options) {
  if (!options.task.empty()) return TaskJobs(options);
  const search::Slice slice = TRY(search::ParseSlice(options.pace.slice));
  const Task task = TaskOf(options.product);
  std::vector<SearchJob> jobs;
  for (const task::HgemmShape& shape :
       search::TakeSlice(slice, TRY(task::ParseHgemmShapes(options.shapes)))) {
    SearchJob job = TRY(search::HgemmSearch(machine, task, task::HgemmWorkload(shape)));
    if (options.limit > 0) {
      job.space = proposers::ClosedSubset(job.space, job.model, static_cast<size_t>(options.limit));
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<Recorded> Record(Machine& machine, const RecordOptions& options,
                        const std::vector<SearchJob>& jobs) {
  auto recorder = TRY(store::Recorder::Open(
      options.output, {machine.info(), "nvrtc", UtcTimestamp(), RecordCommandOf(options), {}}));
  Recording recording(options, machine, std::move(recorder));
  Recorded recorded;
  for (const SearchJob& job : jobs) {
    recorded.done = TRY(recording.Shape(job));
    if (!recorded.done) break;
  }
  TRY(recording.Finish());
  recorded.verdicts = recording.verdicts();
  if (recorded.verdicts > 0) return recorded;
  return Error{ErrorCode::kNothingMeasured, "nothing was measured", "raise --max-seconds"};
}

namespace {

// What can be known of a GPU that is elsewhere: its architecture, and the largest such part.
Target TargetElsewhere(const std::string& architecture) {
  DeviceInfo info;
  info.architecture = architecture;
  info.sm_count = Target{}.sm_count;
  info.max_shared_bytes_per_block =
      architecture.starts_with("sm_9") ? Target{}.max_shared_bytes : 99 * 1024;
  return TargetOf(info);
}

}  // namespace

Result<int> AddJobs(Compiler& compiler, const ProductOptions& product,
                    const std::string& architecture, int limit, const task::HgemmShape& shape,
                    std::vector<Job>& jobs) {
  const Task task = TaskOf(product);
  const Workload workload = task::HgemmWorkload(shape);
  const Problem problem = search::ProblemOf(task, workload);
  const Target target = TargetElsewhere(architecture);
  const Space space = proposers::ClosedSubset(
      SpaceFor(problem, target),
      [&](const Point& point) { return PredictUs(problem, target, point); }, limit);
  int failed = 0;
  for (const Point& point : space.points()) {
    if (Interrupted()) return Error{ErrorCode::kInterrupted, "stopped while compiling", ""};
    Candidate candidate = TRY(MakeCandidate(problem, point));
    CompileOutcome outcome = TRY(compiler.Compile(candidate, architecture));
    auto* artifact = std::get_if<Artifact>(&outcome);
    if (artifact == nullptr) {
      ++failed;
      continue;
    }
    const Protocol protocol = search::SearchProtocol();
    std::string key = MeasurementKey(candidate, task, workload, protocol);
    jobs.push_back(
        {std::move(key), task, workload, std::move(candidate), std::move(*artifact), protocol});
  }
  return failed;
}

}  // namespace warpsmith::hgemm
