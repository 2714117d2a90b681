#include "search/session.h"

#include <cmath>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/interrupt.h"

namespace warpsmith::search {
namespace {

// A limit on wall time keeps steps from being begun. It does not keep a measured step from being
// committed: its time has passed, whether or not its verdict is kept.
enum class WallTime { kCounts, kIgnored };

std::optional<std::string> PassedLimit(const Budget& budget, const Cost& cost, WallTime wall_time) {
  if (cost.evaluations > budget.evaluations) return "evals";
  if (cost.gpu_seconds > budget.gpu_seconds) return "gpu";
  if (wall_time == WallTime::kCounts && cost.wall_seconds > budget.wall_seconds) return "time";
  if (cost.tokens > budget.tokens) return "tokens";
  if (cost.money > budget.money) return "money";
  return std::nullopt;
}

bool LimitsCostOfStep(const Budget& budget) {
  constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
  return std::isfinite(budget.gpu_seconds) || std::isfinite(budget.wall_seconds) ||
         std::isfinite(budget.money) || budget.tokens != kNoLimit;
}

bool HasPassed(const Completed& completed) {
  return std::holds_alternative<Passed>(completed.verdict.outcome);
}

// The candidate declares that it is not for these sizes.
bool LeavesOut(const Candidate& candidate, const Workload& workload) {
  if (candidate.form != Form::kKernel) return false;
  const Result<int64_t> valid = candidate.plan.valid_when.Evaluate(workload.sizes);
  return valid.ok() && *valid == 0;
}

// Only whether the answers are right is read of it, so that it compares with no baseline.
Job HiddenJob(const Job& shown, const Workload& workload) {
  Task task = shown.task;
  task.baselines.clear();
  Job job = Question{std::move(task), workload, Protocol::Screened()}.JobOf(shown.candidate);
  job.protocol.rounds = job.protocol.max_rounds = 1;
  job.protocol.target_half_width = 0;
  job.key = MeasurementKey(job.candidate, job.task, job.workload, job.protocol);
  return job;
}

// What failing on a hidden workload makes of a verdict. Not its words: they could tell a proposer
// the sizes.
Outcome OnHidden(const Outcome& outcome) {
  if (const auto* wrong = std::get_if<Incorrect>(&outcome)) {
    return Incorrect{"hidden-workload",
                     "wrong on sizes that it was not shown (" + wrong->detector + ")", wrong->error,
                     wrong->bound, -1};
  }
  return Incorrect{
      "hidden-workload",
      "fails on sizes that it was not shown (" + std::string(OutcomeName(outcome)) + ")", 0, 0, -1};
}

}  // namespace

Spending::Spending(const Budget& budget) : budget_(budget), accounted_at_(MonotonicSeconds()) {}

void Spending::AddElsewhere(const Cost& cost) {
  Add(cost);
  accounted_at_ += cost.wall_seconds;
}

Cost Spending::OfStep(const Cost& thought, double gpu_seconds) const {
  Cost cost = thought;
  cost.evaluations = 1;
  cost.gpu_seconds = gpu_seconds + pending_gpu_seconds_;
  cost.wall_seconds = MonotonicSeconds() - accounted_at_;
  return cost;
}

void Spending::Commit(const Cost& cost) {
  Add(cost);
  pending_gpu_seconds_ = 0;
  accounted_at_ = MonotonicSeconds();
}

Cost Spending::SpentByNow() const {
  return spent_ + Cost{0, pending_gpu_seconds_, MonotonicSeconds() - accounted_at_, 0, 0};
}

std::optional<std::string> Spending::Exhausted() const {
  Spending all(budget_);
  all.Add(SpentByNow());
  return all.StopsStart(0);
}

Cost Spending::Expected(int steps) const {
  Cost expected;
  expected.evaluations = steps;
  if (spent_.evaluations == 0) return expected;
  const double scale = static_cast<double>(steps) / static_cast<double>(spent_.evaluations);
  expected.gpu_seconds = spent_.gpu_seconds * scale;
  expected.wall_seconds = spent_.wall_seconds * scale;
  expected.tokens = std::llround(static_cast<double>(spent_.tokens) * scale);
  expected.money = spent_.money * scale;
  return expected;
}

std::optional<std::string> Spending::StopsStart(int started) const {
  if (const auto reached = ReachedLimit(budget_, spent_)) return reached;
  // What the first step costs is not known before it is committed. Until then one step alone is
  // begun: several together could pass the limit before anything could stop them.
  if (started > 0 && spent_.evaluations == 0 && LimitsCostOfStep(budget_)) return "unknown";
  return PassedLimit(budget_, spent_ + Expected(started + 1), WallTime::kCounts);
}

std::optional<std::string> Spending::StopsCommit(const Cost& cost) const {
  // A run that was not interrupted would not have started this step where an average one did not
  // fit. The same rule at its commit lets a resumed run end at the same step.
  const bool free = cost.gpu_seconds == 0 && cost.tokens == 0 && cost.money == 0;
  if (!free) {
    if (const auto limit = PassedLimit(budget_, spent_ + Expected(1), WallTime::kIgnored))
      return limit;
  }
  return PassedLimit(budget_, spent_ + cost, WallTime::kIgnored);
}

Job Question::JobOf(const Candidate& candidate) const {
  const Protocol own = protocol.For(candidate.form);
  return {
      MeasurementKey(candidate, task, workload, own), task, workload, candidate, std::nullopt, own};
}

Session::Session(Question question, const Seams& seams, SessionOptions options,
                 std::optional<RunSteps> steps)
    : question_(std::move(question)),
      seams_(seams),
      options_(std::move(options)),
      steps_(std::move(steps)),
      evaluator_(seams, options_.compile_threads, options_.any_order),
      next_index_(steps_ ? steps_->next : 0) {
  CHECK(seams_.store != nullptr || (!steps_ && !options_.keeps_verdicts));
  CHECK(!steps_ || !options_.any_order);
}

Result<bool> Session::Evaluate(std::span<const Candidate> candidates, const OnJudged& on_judged) {
  auto next = candidates.begin();
  return Evaluate(
      [&]() -> Result<std::optional<Job>> {
        if (next == candidates.end()) return std::optional<Job>();
        return std::optional(question_.JobOf(*next++));
      },
      on_judged);
}

Result<Judged> Session::Evaluate(const Candidate& candidate, const Cost& thought) {
  Add(question_.JobOf(candidate), thought);
  while (true) {
    if (auto judged = TRY(Next())) return *std::move(judged);
    if (stopped_ && is_over()) {
      return Error{ErrorCode::kInterrupted, "stopped before the verdict came", "ask again"};
    }
    TRY(Work());
  }
}

Result<bool> Session::Evaluate(const NextJob& next, const OnJudged& on_judged) {
  bool has_more = true;
  while (true) {
    while (has_more && !stopped_ && queue_.size() < options_.window) {
      auto job = TRY(next());
      has_more = job.has_value();
      if (has_more) Add(*std::move(job));
    }
    while (const auto judged = TRY(Next())) {
      if (!TRY(on_judged(*judged))) Stop();
    }
    if (queue_.empty() && !has_more) return true;
    if (stopped_ && is_over()) return false;
    TRY(Work());
  }
}

void Session::Add(Job job, const Cost& thought, std::optional<Rejected> refusal) {
  Entry entry;
  entry.index = next_index_++;
  entry.job = std::move(job);
  entry.thought = thought;
  entry.refusal = std::move(refusal);
  queue_.push_back(std::move(entry));
}

Status Session::Work() {
  if (!stopped_ && (Interrupted() || (options_.stop && options_.stop()))) Stop();
  if (queue_.empty()) return {};
  if (!stopped_) {
    TRY(BeginQueued());
    TRY(Submit());
  }
  for (const Entry& entry : queue_) {
    // Nothing is waited for while there is an answer that can be taken: in order that is the
    // front's alone.
    if (evaluator_.IsFinished(entry.asked().key)) return {};
    if (!options_.any_order) break;
  }
  return evaluator_.Wait();
}

void Session::Stop(const std::string& limit) {
  if (!stopped_) limit_ = limit;
  stopped_ = true;
}

// Leases and compiles what the budget may come to.
Status Session::BeginQueued() {
  for (Entry& entry : queue_) {
    if (entry.is_begun) continue;
    // The index is the step's place in the run. From the budget's number of evaluations on, no step
    // can be committed, so nothing is leased or compiled for it.
    if (steps_ && entry.index >= steps_->spending->budget().evaluations) return {};
    // The same content twice: the second waits until the first one's verdict is kept.
    if (!under_way_.insert(entry.job.key).second) continue;
    if (steps_) {
      // The lease comes before any work. Of two processes on one run, both would else pay for the
      // step, and the store would refuse the result of one of them.
      entry.lease =
          TRY(seams_.store->LeaseJob(steps_->run, entry.index, entry.job.key, steps_->worker));
    }
    entry.is_begun = true;
    if (entry.refusal) {
      evaluator_.Refuse(entry.job, *entry.refusal);
    } else {
      TRY(evaluator_.Begin(entry.job));
    }
  }
  return {};
}

Status Session::Submit() {
  while (evaluator_.on_device() < options_.device_queue) {
    const auto limit = steps_ ? steps_->spending->StopsStart(evaluator_.on_device()) : std::nullopt;
    if (limit) {
      // What is on the device may yet turn out cheaper than expected.
      const bool is_final = evaluator_.on_device() == 0;
      if (is_final && !evaluator_.IsFinished(queue_.front().asked().key)) Stop(*limit);
      return {};
    }
    if (!TRY(evaluator_.SubmitNext())) return {};
  }
  return {};
}

Result<std::optional<Judged>> Session::Next() {
  if (over_budget_) return std::optional<Judged>();
  auto next = queue_.begin();
  while (next != queue_.end() && !(next->is_begun && TRY(TakeAnswers(*next)))) {
    next = options_.any_order ? std::next(next) : queue_.end();
  }
  if (next == queue_.end()) return std::optional<Judged>();
  Entry& entry = *next;
  Judged judged{entry.job.key, {}};
  Step& step = judged.step;
  step.index = entry.index;
  step.candidate = std::move(entry.job.candidate);
  step.verdict = std::move(entry.answer->verdict);
  step.terms = TermsOf(step.candidate, step.verdict, question_.protocol.modes.front());
  step.reward = RewardOf(step.candidate, step.verdict, options_.reward);
  step.cost = entry.thought;
  step.cost.evaluations = 1;
  step.cost.gpu_seconds = entry.answer->gpu_seconds;
  if (steps_ && !TRY(Commit(entry, judged.key, step))) return std::optional<Judged>();
  // The verdict is kept by now. The same content behind it may begin, and finds it in the store.
  under_way_.erase(judged.key);
  queue_.erase(next);
  return std::optional(std::move(judged));
}

// False: it does not fit into the budget any more.
Result<bool> Session::Commit(const Entry& entry, const std::string& key, Step& step) {
  Spending& spending = *steps_->spending;
  step.cost = spending.OfStep(entry.thought, step.cost.gpu_seconds);
  if (const auto limit = spending.StopsCommit(step.cost)) {
    over_budget_ = true;
    Stop(*limit);
    return false;
  }
  // The store comes first. A resumed run adds up the stored steps, so what was spent must be what
  // the store holds, also where this commit is refused.
  TRY(seams_.store->FinishStep(steps_->run, entry.lease, key, step));
  spending.Commit(step.cost);
  return true;
}

// Whether the entry's answer is complete, its hidden workloads' included.
Result<bool> Session::TakeAnswers(Entry& entry) {
  do {
    auto completed = TRY(evaluator_.Take(entry.asked().key));
    if (!completed) return false;
    if (options_.keeps_verdicts) TRY(seams_.store->ImportVerdict(entry.asked(), *completed));
    if (!entry.answer) {
      entry.answer = std::move(completed);
    } else {
      entry.answer->gpu_seconds += completed->gpu_seconds;
      // The judge's own trouble with hidden sizes says nothing about the candidate.
      const Outcome& outcome = completed->verdict.outcome;
      const bool failed = !HasPassed(*completed) && !std::holds_alternative<Inconclusive>(outcome);
      if (failed) entry.answer->verdict.outcome = OnHidden(outcome);
    }
  } while (TRY(AskHidden(entry)));
  return true;
}

// Begins the next hidden workload that the entry has to stand; false: there is none.
Result<bool> Session::AskHidden(Entry& entry) {
  if (!options_.checks_hidden || !seams_.device.Info().needs_artifacts) return false;
  // One hidden workload at a time, and only while the candidate passes: the first failure is the
  // verdict, and the rest would cost GPU time for nothing.
  const std::vector<Workload>& workloads = entry.job.task.workloads;
  while (HasPassed(*entry.answer) && entry.workloads_done < workloads.size()) {
    const Workload& workload = workloads[entry.workloads_done++];
    if (!workload.hidden || workload.name == entry.job.workload.name) continue;
    if (LeavesOut(entry.job.candidate, workload)) {
      entry.answer->verdict.outcome =
          Rejected{"hidden-workload", "its valid_when leaves out sizes that the task asks for"};
      return false;
    }
    entry.hidden = HiddenJob(entry.job, workload);
    TRY(evaluator_.Begin(*entry.hidden));
    return true;
  }
  return false;
}

}  // namespace warpsmith::search
