#include "workbench.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include "agent/knowledge/facts.h"
#include "base/clock.h"
#include "judging.h"
#include "search/certify.h"
#include "store/worker.h"

namespace warpsmith::cli {
namespace {

constexpr const char* kProposer = "mcp";

Error OverBudget(const std::string& limit) {
  return {ErrorCode::kAnswerIsNo,
          "the budget (" + limit + ") leaves no room for another evaluation",
          "report the best so far; whoever started this server may raise --budget"};
}

// "run:a#b#12" -> {"a#b", 12}
std::optional<std::pair<std::string, int64_t>> StepNamed(const std::string& verdict_id) {
  constexpr std::string_view kPrefix = "run:";
  const size_t hash = verdict_id.rfind('#');
  if (!verdict_id.starts_with(kPrefix) || hash == std::string::npos) return std::nullopt;
  int64_t index = -1;
  const char* end = verdict_id.data() + verdict_id.size();
  const auto [stopped, failed] = std::from_chars(verdict_id.data() + hash + 1, end, index);
  if (failed != std::errc() || stopped != end || index < 0) return std::nullopt;
  return std::pair(verdict_id.substr(kPrefix.size(), hash - kPrefix.size()), index);
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
  return id == run || id.starts_with(run + "/certify-");
}

}  // namespace

Result<Machine*> LazyMachine::Get() {
  if (machine_ == nullptr) {
    machine_ = std::make_unique<Machine>(TRY(Machine::Open(options_)));
    std::fprintf(stderr, "%s\n", machine_->notice().c_str());
  }
  return machine_.get();
}

std::string FoundStep::id() const { return knowledge::StepEvidence(run, step.index); }

Workbench::Workbench(WorkbenchRequest request, store::SqliteStore& store, LazyMachine& machine)
    : request_(std::move(request)),
      store_(&store),
      machine_(&machine),
      spending_(request_.budget),
      accounted_at_(MonotonicSeconds()) {}

Result<Workbench> Workbench::Open(WorkbenchRequest request, store::SqliteStore& store,
                                  LazyMachine& machine) {
  Workbench bench(std::move(request), store, machine);
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
  for (const RunRecord& run : TRY(store_->Runs())) {
    if (!IsOfRun(run.id, request_.run)) continue;
    const std::vector<Step> steps = TRY(store_->Steps(run.id));
    for (const Step& step : steps) spending_.Add(step.cost);
    if (run.id == request_.run) steps_ = static_cast<int64_t>(steps.size());
  }
  return {};
}

Status Workbench::Begin(const DeviceInfo& device) {
  if (begun_) return {};
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
  return {};
}

Result<RunRecord> Workbench::Record() {
  const auto record = TRY(store_->FindRun(request_.run));
  CHECK(record.has_value());
  return *record;
}

Cost Workbench::Spent() const {
  return spending_.spent() +
         Cost{0, pending_gpu_seconds_, MonotonicSeconds() - accounted_at_, 0, 0};
}

std::optional<std::string> Workbench::Exhausted() const {
  search::Spending all(request_.budget);
  all.Add(Spent());
  return all.StopsStart(0);
}

Result<FoundStep> Workbench::Evaluate(const Candidate& candidate, const Cost& thought,
                                      const std::function<bool()>& stop) {
  if (const auto limit = Exhausted()) return OverBudget(*limit);
  Machine* machine = TRY(machine_->Get());
  TRY(Begin(machine->info()));
  const RunRecord record = TRY(Record());
  TRY(CheckDevice(record, machine->info()));
  std::vector<Judged> judged = TRY(JudgeOnTask(*machine, request_.loaded, record.protocol,
                                               {{"the candidate", candidate}}, stop));
  Completed& completed = judged.front().completed;
  Step step;
  step.index = steps_;
  step.candidate = candidate;
  step.candidate.provenance.proposer = kProposer;
  step.verdict = std::move(completed.verdict);
  step.terms = TermsOf(step.candidate, step.verdict, record.protocol.modes.front());
  step.reward = Reward(step.terms, {});
  step.cost = thought;
  step.cost.evaluations = 1;
  step.cost.gpu_seconds = completed.gpu_seconds + pending_gpu_seconds_;
  step.cost.wall_seconds = MonotonicSeconds() - accounted_at_;
  if (const auto limit = spending_.StopsCommit(step.cost)) return OverBudget(*limit);
  const JobLease lease =
      TRY(store_->LeaseJob(request_.run, step.index, completed.key, store::ThisWorker()));
  TRY(store_->FinishStep(request_.run, lease, completed.key, step));
  spending_.Add(step.cost);
  accounted_at_ = MonotonicSeconds();
  pending_gpu_seconds_ = 0;
  ++steps_;
  return FoundStep{request_.run, std::move(step), record};
}

Result<FoundStep> Workbench::Certify(const FoundStep& found, const std::function<bool()>& stop) {
  if (const auto limit = Exhausted()) return OverBudget(*limit);
  Machine* machine = TRY(machine_->Get());
  TRY(Begin(machine->info()));
  search::LoopRequest request;
  request.run = TRY(Record());
  TRY(CheckDevice(request.run, machine->info()));
  request.worker = store::ThisWorker();
  search::LoopCallbacks callbacks;
  callbacks.stop = stop;
  const Protocol protocol = Protocol::Certified().For(found.step.candidate.form);
  const search::Certification certified =
      TRY(search::Certify(request, {found.step}, machine->loop_compiler(), machine->device(),
                          *store_, callbacks, protocol));
  if (certified.steps.empty()) {
    return Error{ErrorCode::kInterrupted, "stopped before the verdict came", "ask again"};
  }
  const Step& step = certified.steps.front();
  if (certified.loop.new_steps > 0) {
    spending_.Add(step.cost);
    accounted_at_ += step.cost.wall_seconds;
  }
  return FoundStep{certified.run, step, TRY(store_->FindRun(certified.run)).value()};
}

Result<FoundStep> Workbench::Find(const std::string& verdict_id) {
  const Error none{ErrorCode::kBadInput,
                   "there is no verdict \"" + verdict_id.substr(0, 200) + "\"",
                   "take the id that evaluate_candidate answered with"};
  const auto named = StepNamed(verdict_id);
  if (!named) return none;
  auto record = TRY(store_->FindRun(named->first));
  if (!record) return none;
  for (Step& step : TRY(store_->Steps(named->first))) {
    if (step.index == named->second) {
      return FoundStep{named->first, std::move(step), std::move(*record)};
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
      const std::pair rank(score->is_ratio, score->value);
      if (best && rank <= best_rank) continue;
      best_rank = rank;
      best = FoundStep{run.id, std::move(step), run};
    }
  }
  return best;
}

std::optional<Score> ScoreOf(const Verdict& verdict, Mode mode) {
  if (const auto ratio = RatioToBar(verdict, mode)) {
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

}  // namespace warpsmith::cli
