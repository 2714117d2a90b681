#include "search/workbench.h"

#include <cmath>
#include <utility>

#include "core/step.h"
#include "search/loop.h"

namespace warpsmith::search {
namespace {

constexpr const char* kProposer = "mcp";

Error OverBudget(const std::string& limit) {
  return {ErrorCode::kAnswerIsNo,
          "the budget (" + limit + ") leaves no room for another evaluation",
          "report the best so far; whoever started this server may raise --budget"};
}

// Times of two devices do not belong into one run.
Status CheckDevice(const RunRecord& run, const DeviceInfo& here) {
  if (run.device.uuid == here.uuid) return {};
  return Error{ErrorCode::kConfig,
               "run \"" + run.id + "\" was begun on " + run.device.name + " (" + run.device.uuid +
                   "), and here is " + here.name + " (" + here.uuid + ")",
               "whoever started this server may begin another run with --run"};
}

bool IsOfRun(const std::string& id, const std::string& run) {
  return id == run || CertifiedRun(id) == run;
}

// More is better; nullopt where nothing was measured. ln of the ratio to the bar, else of 1 / time:
// two are compared only where both are of one kind.
struct Score {
  double value = 0;
  bool is_ratio = false;
};

std::optional<Score> ScoreOf(const Verdict& verdict, Mode mode) {
  if (const auto ratio = RatioToPrimary(verdict, mode)) {
    if (*ratio > 0) return Score{std::log(*ratio), true};
  }
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  if (passed == nullptr || passed->timings.empty() || passed->timings.front().modes.empty()) {
    return std::nullopt;
  }
  const ModeTiming* timing = FindTiming(verdict, mode);
  const double us =
      (timing != nullptr ? timing : &passed->timings.front().modes.front())->candidate.median_us;
  if (!(us > 0)) return std::nullopt;
  return Score{-std::log(us), false};
}

}  // namespace

std::string FoundStep::id() const { return TextOf(StepReference{run, step.index}); }

Workbench::Workbench(WorkbenchRequest request, Store& store, OpenSeams open)
    : request_(std::move(request)),
      store_(&store),
      open_(std::move(open)),
      spending_(request_.budget) {}

Result<Workbench> Workbench::Open(WorkbenchRequest request, Store& store, OpenSeams open) {
  Workbench bench(std::move(request), store, std::move(open));
  TRY(bench.Resume());
  return bench;
}

Status Workbench::Resume() {
  const auto known = TRY(store_->FindRun(request_.run));
  if (!known) return {};
  const bool same = known->proposer == kProposer && TaskId(known->task) == TaskId(task()) &&
                    known->workload.sizes == workload().sizes;
  if (!same) {
    return Error{ErrorCode::kConfig,
                 "run \"" + request_.run + "\" is about another task or was not driven by mcp",
                 "give this one another name with --run"};
  }
  begun_ = true;
  // The certifications of its best count, too: the budget is of all that the agent's work cost.
  for (const RunRecord& run : TRY(store_->Runs())) {
    if (!IsOfRun(run.id, request_.run)) continue;
    const std::vector<Step> steps = TRY(store_->Steps(run.id));
    for (const Step& step : steps) spending_.Add(step.cost);
    if (run.id == request_.run) steps_ = static_cast<int64_t>(steps.size());
  }
  return {};
}

Result<Seams> Workbench::OpenMachine() {
  const Seams opened = TRY(open_());
  return Seams{opened.device, opened.compiler, store_};
}

Result<RunRecord> Workbench::Begin(const DeviceInfo& device) {
  if (!begun_) {
    RunRecord run;
    run.id = request_.run;
    run.command = request_.command;
    run.task = task();
    run.workload = workload();
    run.protocol = Protocol::Screened();
    run.proposer = kProposer;
    run.seed = request_.seed;
    run.device = device;
    TRY(store_->BeginRun(run));
    begun_ = true;
  }
  const auto record = TRY(store_->FindRun(request_.run));
  CHECK(record.has_value());
  TRY(CheckDevice(*record, device));
  return *record;
}

Result<FoundStep> Workbench::Evaluate(const Candidate& candidate, const Cost& thought,
                                      const std::function<bool()>& stop) {
  if (const auto limit = spending_.Exhausted()) return OverBudget(*limit);
  const Seams seams = TRY(OpenMachine());
  const RunRecord record = TRY(Begin(seams.device.Info()));
  SessionOptions options;
  options.keeps_verdicts = true;
  options.checks_hidden = true;
  options.stop = stop;
  Session session({task(), workload(), record.protocol}, seams, options,
                  RunSteps{request_.run, request_.worker, steps_, &spending_});
  Candidate named = candidate;
  named.provenance.proposer = kProposer;
  auto judged = session.Evaluate(named, thought);
  if (!session.limit().empty()) return OverBudget(session.limit());
  Step step = TRY(std::move(judged)).step;
  ++steps_;
  return FoundStep{request_.run, std::move(step), record};
}

Result<FoundStep> Workbench::Certify(const FoundStep& found, const std::function<bool()>& stop) {
  if (const auto limit = spending_.Exhausted()) return OverBudget(*limit);
  const Seams seams = TRY(OpenMachine());
  LoopRequest request;
  request.run = TRY(Begin(seams.device.Info()));
  request.worker = request_.worker;
  LoopCallbacks callbacks;
  callbacks.stop = stop;
  const Protocol protocol = Protocol::Certified().For(found.step.candidate.form);
  const Certification certified = TRY(search::Certify(request, {found.step}, seams.compiler,
                                                      seams.device, *store_, callbacks, protocol));
  if (certified.steps.empty()) {
    return Error{ErrorCode::kInterrupted, "stopped before the verdict came", "ask again"};
  }
  const Step& step = certified.steps.front();
  if (certified.loop.new_steps > 0) spending_.AddElsewhere(step.cost);
  RunRecord run = TRY(store_->FindRun(certified.run)).value();
  return FoundStep{certified.run, step, std::move(run)};
}

Result<FoundStep> Workbench::Find(const std::string& verdict_id) {
  const Error none{ErrorCode::kBadInput,
                   "there is no verdict \"" + verdict_id.substr(0, 200) + "\"",
                   "take the id that evaluate_candidate answered with"};
  const auto named = StepReferenceFrom(verdict_id);
  if (!named) return none;
  auto record = TRY(store_->FindRun(named->run));
  if (!record) return none;
  for (Step& step : TRY(store_->Steps(named->run))) {
    if (step.index == named->index) {
      return FoundStep{named->run, std::move(step), std::move(*record)};
    }
  }
  return none;
}

Result<std::optional<FoundStep>> Workbench::Best(Level level) {
  std::optional<FoundStep> best;
  std::pair<bool, double> best_rank;
  for (const RunRecord& run : TRY(store_->Runs())) {
    if (!IsOfRun(run.id, request_.run) || run.protocol.level != level) continue;
    for (Step& step : TRY(store_->Steps(run.id))) {
      const auto score = ScoreOf(step.verdict, run.protocol.modes.front());
      if (!score) continue;
      // What was compared with the bar comes before what was only timed: the two scores are not of
      // one kind.
      const std::pair rank(score->is_ratio, score->value);
      if (best && rank <= best_rank) continue;
      best_rank = rank;
      best = FoundStep{run.id, std::move(step), run};
    }
  }
  return best;
}

std::optional<double> LogGain(const FoundStep& before, const FoundStep& after) {
  const auto was = ScoreOf(before.step.verdict, before.record.protocol.modes.front());
  const auto is = ScoreOf(after.step.verdict, after.record.protocol.modes.front());
  if (!was || !is || was->is_ratio != is->is_ratio) return std::nullopt;
  return is->value - was->value;
}

}  // namespace warpsmith::search
