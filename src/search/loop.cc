#include "search/loop.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/interrupt.h"
#include "search/best_steps.h"
#include "search/evaluator.h"
#include "search/pipeline.h"
#include "search/run_identity.h"
#include "search/spending.h"

namespace warpsmith::search {
namespace {

class Loop {
 public:
  Loop(const LoopRequest& request, Proposer& proposer, Compiler* compiler, Device& device,
       Store& store, const LoopCallbacks& callbacks)
      : request_(request),
        proposer_(proposer),
        store_(store),
        callbacks_(callbacks),
        mode_(request.run.protocol.modes.front()),
        evaluator_({request.run.task, request.run.workload, request.run.protocol}, compiler,
                   request.compile_threads, device, store),
        pipeline_(proposer, request.run.batch,
                  [this](const Candidate& candidate) { return evaluator_.KeyOf(candidate); }),
        spending_(request.budget),
        progress_(request.run.id, mode_, request.budget, request.max_seconds),
        best_(mode_, request.keep_best) {}

  Result<LoopResult> Run() {
    TRY(Recall());
    TRY(pipeline_.Refill(ProposeTo()));
    while (true) {
      TRY(CommitFinished());
      if (Ended()) return Conclude();
      LookForStop();
      if (!stopped_) TRY(BeginItems());
      if (!stopped_) TRY(SubmitItems());
      if (!evaluator_.IsFinished(pipeline_.front().key)) TRY(evaluator_.Wait());
    }
  }

 private:
  // Begins the run, or reads how far it came.
  Status Recall() {
    const auto known = TRY(store_.FindRun(request_.run.id));
    if (!known.has_value()) return store_.BeginRun(request_.run);
    TRY(CheckSameRun(*known, request_.run));
    stored_ = TRY(store_.Steps(request_.run.id));
    for (size_t i = 0; i < stored_.size(); ++i) {
      if (stored_[i].index == static_cast<int64_t>(i)) continue;
      return Error{ErrorCode::kBadInput,
                   "run \"" + request_.run.id + "\" lacks step " + std::to_string(i),
                   "the store is damaged; restore it from a copy"};
    }
    return {};
  }

  int64_t ProposeTo() const { return std::max(request_.budget.evaluations, request_.propose_to); }

  // Once stopped, what the device has is waited for: it is next in line, so it is kept.
  bool Ended() const { return pipeline_.empty() || (stopped_ && evaluator_.on_device() == 0); }

  void Stop(EndReason reason, std::string limit = "") {
    if (stopped_) return;
    stopped_ = true;
    reason_ = reason;
    limit_ = std::move(limit);
  }

  void LookForStop() {
    if (Interrupted() || (callbacks_.stop && callbacks_.stop())) {
      Stop(EndReason::kInterrupted);
    } else if (Elapsed() >= request_.max_seconds) {
      Stop(EndReason::kMaxSeconds);
    }
  }

  // Leases and compiles what the budget may come to.
  Status BeginItems() {
    return pipeline_.ForEach([this](Item& item) -> Result<bool> {
      if (item.index >= request_.budget.evaluations) return false;
      if (item.lease.has_value() || IsStored(item)) return true;
      // The same content twice: the second waits until the store has the first one's verdict.
      if (!under_way_.insert(item.key).second) return true;
      item.lease = TRY(store_.LeaseJob(request_.run.id, item.index, item.key, request_.worker));
      TRY(Begin(item));
      return true;
    });
  }

  Status Begin(const Item& item) {
    if (item.proposal.refusal.has_value()) {
      evaluator_.Refuse(item.key, *item.proposal.refusal);
      return {};
    }
    return evaluator_.Begin(item.key, item.proposal.candidate);
  }

  Status SubmitItems() {
    while (evaluator_.on_device() < request_.device_queue) {
      if (const auto limit = spending_.StopsStart(evaluator_.on_device())) {
        // What is on the device may yet turn out cheaper than expected.
        const bool is_final = evaluator_.on_device() == 0;
        if (is_final && !evaluator_.IsFinished(pipeline_.front().key)) {
          Stop(EndReason::kBudget, *limit);
        }
        return {};
      }
      if (!TRY(evaluator_.SubmitNext())) return {};
    }
    return {};
  }

  bool IsStored(const Item& item) const {
    return item.index < static_cast<int64_t>(stored_.size());
  }

  // Commits from the front for as long as there are answers.
  Status CommitFinished() {
    while (!pipeline_.empty()) {
      if (!TRY(CommitFront(pipeline_.front()))) return {};
      pipeline_.PopFront();
      // Nothing more is proposed after a stop: a model's answers cost money.
      TRY(pipeline_.Refill(stopped_ ? 0 : ProposeTo()));
    }
    return {};
  }

  // False: there is no answer yet, or it does not fit into the budget any more.
  Result<bool> CommitFront(const Item& item) {
    if (!IsStored(item)) return CommitNew(item);
    Step& step = stored_[static_cast<size_t>(item.index)];
    if (CandidateId(step.candidate) != CandidateId(item.proposal.candidate))
      return OtherCandidate(item);
    Digest(step, ProgressTracker::Origin::kReplayed);
    step = {};  // its sources are not needed again
    return true;
  }

  Error OtherCandidate(const Item& item) const {
    return {ErrorCode::kConfig,
            "step " + std::to_string(item.index) + " of run \"" + request_.run.id +
                "\" is not the candidate that is proposed now: the program or the kernel sources "
                "have changed since",
            "resume it with the program that began it, or begin another run"};
  }

  Result<bool> CommitNew(const Item& item) {
    if (over_budget_ || !item.lease.has_value()) return false;
    std::optional<Completed> completed = evaluator_.Take(item.key);
    if (!completed.has_value()) return false;
    const Step step = StepOf(item, std::move(*completed));
    if (const auto limit = spending_.StopsCommit(step.cost)) {
      over_budget_ = true;
      Stop(EndReason::kBudget, *limit);
      return false;
    }
    TRY(store_.FinishStep(request_.run.id, *item.lease, item.key, step));
    under_way_.erase(item.key);
    committed_at_ = Elapsed();
    ++new_steps_;
    Digest(step, ProgressTracker::Origin::kNew);
    return true;
  }

  Step StepOf(const Item& item, Completed completed) const {
    Step step;
    step.index = item.index;
    step.candidate = item.proposal.candidate;
    step.terms = TermsOf(step.candidate, completed.verdict, mode_);
    step.reward = Reward(step.terms, request_.weights);
    step.verdict = std::move(completed.verdict);
    step.cost = item.proposal.cost;
    step.cost.evaluations = 1;
    step.cost.gpu_seconds = completed.gpu_seconds;
    step.cost.wall_seconds = Elapsed() - committed_at_;
    return step;
  }

  void Digest(const Step& step, ProgressTracker::Origin origin) {
    spending_.Add(step.cost);
    best_.Add(step);
    progress_.Add(step, origin, Elapsed());
    proposer_.Observe(step);
    if (callbacks_.on_progress) callbacks_.on_progress(progress_.progress());
  }

  double Elapsed() const { return MonotonicSeconds() - began_; }

  LoopResult Conclude() {
    if (!pipeline_.exhausted()) Stop(EndReason::kBudget, "evals");
    LoopResult result;
    result.reason = reason_;
    result.limit = limit_;
    result.progress = progress_.progress();
    result.steps = result.progress.evaluations;
    result.new_steps = new_steps_;
    result.best = best_.Take();
    return result;
  }

  const LoopRequest& request_;
  Proposer& proposer_;
  Store& store_;
  const LoopCallbacks& callbacks_;
  const Mode mode_;
  Evaluator evaluator_;
  Pipeline pipeline_;
  Spending spending_;
  ProgressTracker progress_;
  BestSteps best_;

  std::vector<Step> stored_;         // by earlier calls, waiting to be replayed
  std::set<std::string> under_way_;  // keys that were begun and are not committed
  int64_t new_steps_ = 0;
  bool stopped_ = false;      // nothing new is begun
  bool over_budget_ = false;  // nothing more is committed
  EndReason reason_ = EndReason::kExhausted;
  std::string limit_;
  const double began_ = MonotonicSeconds();
  double committed_at_ = 0;
};

Status CheckRequest(const LoopRequest& request, const Compiler* compiler, const Device& device) {
  const auto bad = [&request](const std::string& what) {
    return Error{ErrorCode::kConfig, "run \"" + request.run.id + "\": " + what, ""};
  };
  if (request.run.protocol.modes.empty()) return bad("the protocol measures in no mode");
  if (request.run.batch < 1) return bad("a generation needs at least one proposal");
  if (request.device_queue < 1) return bad("the device needs room for at least one job");
  if (compiler == nullptr && device.Info().needs_artifacts) return bad("there is no compiler");
  return {};
}

}  // namespace

Result<LoopResult> RunLoop(const LoopRequest& request, Proposer& proposer, Compiler* compiler,
                           Device& device, Store& store, const LoopCallbacks& callbacks) {
  TRY(CheckRequest(request, compiler, device));
  return Loop(request, proposer, compiler, device, store, callbacks).Run();
}

}  // namespace warpsmith::search
