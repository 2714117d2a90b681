#include "search/tuning/search.h"

#include <algorithm>

#include <unistd.h>
#include <nlohmann/json.hpp>

#include "base/build_info.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "core/step.h"
#include "hgemm/cost_model.h"
#include "report/summary.h"
#include "search/proposers/strategy.h"
#include "store/run_memos.h"
#include "store/worker.h"
#include "task/hgemm_task.h"

namespace warpsmith::search {
namespace {

RunRecord RecordOf(const SearchJob& job, const SearchContext& context, const RewardShape& reward) {
  RunRecord run;
  run.id = context.run;
  run.command = context.command;
  run.task = job.task;
  run.workload = job.workload;
  run.protocol = SearchProtocol();
  run.proposer = ProposerText(context.options->proposer, reward);
  run.seed = context.options->seed;
  run.batch = context.options->batch;
  run.device = context.machine->info();
  run.space = job.space.name();
  return run;
}

// In a replay only what was recorded under the final protocol can be a finalist.
std::vector<Step> Certifiable(const SearchJob& job, Machine& machine, const Protocol& protocol,
                              std::vector<Step> finalists) {
  store::RecordedDevice* recorded = machine.recorded();
  if (recorded == nullptr) return finalists;
  std::erase_if(finalists, [&](const Step& step) {
    return !recorded->Has(MeasurementKey(step.candidate, job.task, job.workload, protocol));
  });
  return finalists;
}

// The process is part of it: two that start in the same second are two runs.
std::string FreshRunName(std::string_view prefix) {
  std::string stamp = UtcTimestamp();
  std::erase_if(stamp, [](char c) { return c == '-' || c == ':'; });
  return std::string(prefix) + "-" + stamp + "-" + std::to_string(getpid());
}

}  // namespace

hgemm::Problem ProblemOf(const Task& task, const Workload& workload) {
  const task::HgemmShape shape = task::ShapeOf(workload);
  const std::optional<hgemm::Layout> layout = hgemm::LayoutFromText(task::LayoutOf(task));
  return {shape.m, shape.n, shape.k, layout.value(), task::DTypeOf(task)};
}

Status Overrule(store::DatabaseStore& store, const std::string& run, Trajectory& steps) {
  store::RunMemos memos(store, run);
  for (Step& step : steps) {
    if (!std::holds_alternative<Passed>(step.verdict.outcome)) continue;
    const auto why = TRY(memos.Find(store::OverruledKey(CandidateId(step.candidate))));
    if (why.has_value()) step.verdict.outcome = Rejected{"overruled", *why};
  }
  return {};
}

report::Progress ToReport(const Progress& progress, const std::string& label) {
  report::Progress shown;
  shown.label = label;
  shown.evaluations = progress.evaluations;
  shown.planned = progress.evaluation_limit;
  shown.best_ratio = progress.best_ratio.value_or(0);
  for (const auto& [outcome, count] : progress.outcomes) {
    if (outcome != "passed") shown.failed[outcome] = count;
  }
  shown.seconds_left = progress.seconds_left;
  return shown;
}

Protocol SearchProtocol() { return Protocol::Screened(); }

Protocol FinalProtocol(const SearchOptions& options) {
  return options.paper_protocol ? Protocol::Paper() : Protocol::Certified();
}

Result<proposers::CostModel> ReadCostModel(const std::string& path, const hgemm::Problem& problem,
                                           const hgemm::Target& target) {
  if (path.empty()) {
    return proposers::CostModel(
        [=](const Point& point) { return hgemm::PredictUs(problem, target, point); });
  }
  const auto model = std::make_shared<const hgemm::CostModel>(
      TRY(hgemm::CostModel::Parse(path, TRY(ReadFile(path)))));
  return proposers::CostModel(
      [=](const Point& point) { return model->PredictUs(problem, target, point); });
}

Result<SearchJob> HgemmSearch(Machine& machine, const Task& task, const Workload& workload) {
  const hgemm::Problem problem = ProblemOf(task, workload);
  SearchJob job;
  job.task = task;
  job.workload = workload;
  job.label = workload.name;
  const std::string name = hgemm::NameOf(problem);
  if (store::RecordedDevice* recorded = machine.recorded()) {
    const store::ReplaySpace* replay = recorded->FindSpace(task.name, workload.sizes);
    if (replay == nullptr) {
      return Error{ErrorCode::kNotRecorded,
                   "space '" + name + "' was never recorded (" + recorded->Info().origin + ")",
                   "measure on a GPU with 'warpsmith record', or choose a recorded shape: "
                   "'warpsmith hgemm show' lists them"};
    }
    job.space = replay->space;
    job.make = replay->make;
  } else {
    job.space = hgemm::SpaceFor(problem, hgemm::TargetOf(machine.info()));
    job.make = [problem](const Point& point) { return hgemm::MakeCandidate(problem, point); };
  }
  const hgemm::Target target = hgemm::TargetOf(machine.info());
  job.model = TRY(ReadCostModel("", problem, target));
  job.arm = [=](const Point& point) { return hgemm::ArmOf(problem, point); };
  return job;
}

Result<Point> LikeliestPoint(const SearchJob& job) {
  const std::vector<Point>& points = job.space.points();
  if (points.empty()) {
    return Error{ErrorCode::kBadInput, job.label + ": no kernel of ours to measure beside", ""};
  }
  const Point* best = nullptr;
  double best_us = 0;
  for (const Point& point : points) {
    const double us = job.model(point);
    if (best != nullptr && us >= best_us) continue;
    best = &point;
    best_us = us;
  }
  return *best;
}

Result<SearchEnd> Search(const SearchJob& job, const SearchContext& context) {
  const SearchOptions& options = *context.options;
  Machine& machine = *context.machine;
  const auto terrain = std::make_shared<const proposers::Terrain>(job.space, job.model, job.arm);
  auto proposer = TRY(
      proposers::MakeSpaceProposer(options.proposer, terrain, job.make, options.seed, job.first));
  store::DatabaseStore* store = TRY(machine.store());

  LoopRequest request;
  request.reward = TRY(ParseRewardShape(options.reward, kSearchReward));
  request.run = RecordOf(job, context, request.reward);
  request.budget = TRY(ParseBudget(options.budget));
  request.max_seconds = context.max_seconds;
  request.worker = store::ThisWorker();
  request.keep_best = std::max(options.finalists, 1);
  LoopCallbacks callbacks;
  callbacks.on_progress = [&](const Progress& progress) {
    if (context.progress != nullptr) {
      context.progress->Update(ToReport(progress, job.label), MonotonicSeconds());
    }
  };
  const LoopResult result = TRY(
      RunLoop(request, *proposer, machine.loop_compiler(), machine.device(), *store, callbacks));

  return Finish(job, context, request, result, result.best);
}

Result<SearchEnd> Finish(const SearchJob& job, const SearchContext& context,
                         const LoopRequest& request, const LoopResult& result,
                         const std::vector<Step>& finalists) {
  Machine& machine = *context.machine;
  store::DatabaseStore* store = TRY(machine.store());
  Trajectory steps = TRY(store->Steps(context.run));
  SearchEnd end;
  end.reason = result.reason;
  end.run = context.run;
  end.device = machine.info();
  if (!finalists.empty()) end.winner = finalists.front();
  // Programs are timed by the wall clock alone.
  const Mode mode = request.run.protocol.modes.front();
  Protocol protocol = context.certifying.value_or(FinalProtocol(*context.options));
  if (mode == Mode::kWall) protocol = protocol.For(Form::kProgram);
  std::vector<Step> chosen;
  if (context.options->finalists > 0) chosen = Certifiable(job, machine, protocol, finalists);
  if (!chosen.empty() && result.reason != EndReason::kInterrupted) {
    const Certification certified = TRY(
        Certify(request, chosen, machine.loop_compiler(), machine.device(), *store, {}, protocol));
    steps.insert(steps.end(), certified.steps.begin(), certified.steps.end());
    end.certified = certified.steps;
    if (certified.winner) end.winner = certified.steps[*certified.winner];
  }
  TRY(Overrule(*store, context.run, steps));
  end.report = report::SummariseShape(job.task, job.workload, steps, mode, request.reward);
  return end;
}

Result<std::string> RunName(Machine& machine, const SearchOptions& options,
                            std::string_view prefix) {
  if (!options.run.empty()) return options.run;
  if (options.resume.empty()) return FreshRunName(prefix);
  store::DatabaseStore* store = TRY(machine.store());
  for (const RunRecord& run : TRY(store->Runs())) {
    if (run.id == options.resume || run.id.starts_with(options.resume + "/")) return options.resume;
  }
  return Error{ErrorCode::kNoInput, "--resume " + options.resume + ": no such run was begun",
               "'warpsmith report' lists the runs; --run gives a new one this name"};
}

namespace {

// What the agent, or a coding agent's server, kept of a step. A memo of another form says nothing.
report::StepNotes NotesIn(const std::string& memo) {
  report::StepNotes notes;
  const auto json = ParseJson("a step's memo", memo);
  if (!json.ok()) return notes;
  const JsonReader root("a step's memo", *json);
  const auto text = [&](const char* field) {
    const auto value = root.At(field).String();
    return value.ok() ? *value : std::string();
  };
  notes.state = text("state");
  notes.technique = text("technique");
  notes.previous = text("previous");
  const auto gain = root.At("log_gain").Number();
  if (gain.ok()) notes.log_gain = *gain;
  return notes;
}

Result<report::StoredRun> StepsOf(store::DatabaseStore& store, const RunRecord& run,
                                  const std::vector<RunRecord>& all) {
  report::StoredRun steps;
  steps.record = run;
  steps.steps = TRY(store.Steps(run.id));
  store::RunMemos memos(store, run.id);
  for (const Step& step : steps.steps) {
    const auto memo = TRY(memos.Find(store::StepKey(step.index)));
    if (memo) steps.notes[step.index] = NotesIn(*memo);
  }
  steps.certified = TRY(CertifiedSteps(store, run, all));
  TRY(Overrule(store, run.id, steps.steps));
  TRY(Overrule(store, run.id, steps.certified));
  return steps;
}

}  // namespace

Result<Trajectory> CertifiedSteps(store::DatabaseStore& store, const RunRecord& run,
                                  const std::vector<RunRecord>& all) {
  Trajectory certified;
  for (const RunRecord& other : all) {
    if (!IsCertification(other.id) || CertifiedRun(other.id) != run.id) continue;
    for (Step& step : TRY(store.Steps(other.id))) certified.push_back(std::move(step));
  }
  return certified;
}

Result<report::SideRuns> SideOf(store::DatabaseStore& store, const std::string& name,
                                const std::vector<RunRecord>& all) {
  report::SideRuns side;
  side.name = name;
  for (const RunRecord& run : all) {
    const bool is_of_it = run.id == name || run.id.starts_with(name + "/");
    if (!is_of_it || IsCertification(run.id)) continue;
    side.runs.push_back(TRY(StepsOf(store, run, all)));
  }
  if (side.runs.empty()) {
    return Error{ErrorCode::kNoInput, "no run named '" + name + "'",
                 "'warpsmith report' lists the runs"};
  }
  return side;
}

report::Origin OriginOfSides(const std::vector<report::SideRuns>& sides) {
  report::Origin origin;
  for (const report::SideRuns& side : sides) {
    for (const report::StoredRun& run : side.runs) {
      const DeviceInfo& device = run.record.device;
      if (origin.device.find(device.name) == std::string::npos) {
        origin.device += (origin.device.empty() ? "" : " and ") + device.name;
      }
      origin.driver = device.driver;
      if (device.origin != "local") origin.recording = device.origin;
      for (const Step& step : run.steps) {
        const Evidence& evidence = step.verdict.evidence;
        origin.date = std::max(origin.date, evidence.date);
        if (!evidence.toolchain.empty()) origin.toolkit = evidence.toolchain;
      }
    }
  }
  origin.program = "warpsmith " + std::string(build_info::Version());
  return origin;
}

}  // namespace warpsmith::search
