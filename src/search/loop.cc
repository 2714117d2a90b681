#include "search/loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "search/best_steps.h"
#include "search/pipeline.h"
#include "search/run_identity.h"
#include "search/session.h"
#include "search/spending.h"

namespace warpsmith::search {
namespace {

// Asks the proposer, puts what it proposes through a session, and lets it observe what came of it.
// Steps that the store holds already are proposed and observed again, but never judged.
class Loop {
 public:
  // `stored`: by earlier calls.
  Loop(const LoopRequest& request, Proposer& proposer, const Seams& seams,
       const LoopCallbacks& callbacks, std::vector<Step> stored)
      : request_(request),
        proposer_(proposer),
        callbacks_(callbacks),
        mode_(request.run.protocol.modes.front()),
        spending_(request.budget),
        stored_(std::move(stored)),
        session_({request.run.task, request.run.workload, request.run.protocol}, seams,
                 OptionsOf(request),
                 RunSteps{request.run.id, request.worker, StoredSteps(), &spending_}),
        pipeline_(proposer, request.run.batch,
                  [this](Proposal proposal) { return Take(std::move(proposal)); }),
        progress_(request.run.id, mode_, request.budget, request.max_seconds),
        best_(mode_, request.keep_best, request.reward) {}

  Result<LoopResult> Run() {
    TRY(Refill());
    while (true) {
      TRY(CommitFinished());
      if (pipeline_.empty() || session_.is_over()) return Conclude();
      TRY(session_.Work());
    }
  }

 private:
  SessionOptions OptionsOf(const LoopRequest& request) {
    SessionOptions options;
    options.compile_threads = request.compile_threads;
    options.device_queue = request.device_queue;
    options.reward = request.reward;
    options.stop = [this] {
      if (callbacks_.stop && callbacks_.stop()) return true;
      is_late_ = Elapsed() >= request_.max_seconds;
      return is_late_;
    };
    return options;
  }

  int64_t StoredSteps() const { return static_cast<int64_t>(stored_.size()); }

  // Nothing more is proposed after a stop: a model's answers cost money.
  Status Refill() {
    const int64_t limit = std::max(request_.budget.evaluations, request_.propose_to);
    return pipeline_.Refill(session_.is_stopped() ? 0 : limit);
  }

  Status Take(Proposal proposal) {
    const int64_t index = proposed_++;
    if (index >= StoredSteps()) {
      session_.Add(session_.question().JobOf(proposal.candidate), proposal.cost,
                   std::move(proposal.refusal));
      return {};
    }
    const Step& step = stored_[static_cast<size_t>(index)];
    if (CandidateId(step.candidate) == CandidateId(proposal.candidate)) return {};
    return Error{ErrorCode::kConfig,
                 "step " + std::to_string(index) + " of run \"" + request_.run.id +
                     "\" is not the candidate that is proposed now: the program or the kernel "
                     "sources have changed since",
                 "resume it with the program that began it, or begin another run"};
  }

  // From the front for as long as there are answers.
  Status CommitFinished() {
    while (!pipeline_.empty()) {
      if (observed_ < StoredSteps()) {
        Step& step = stored_[static_cast<size_t>(observed_)];
        spending_.Add(step.cost);
        Digest(step, ProgressTracker::Origin::kReplayed);
        step = {};  // its sources are not needed again
      } else {
        const auto judged = TRY(session_.Next());
        if (!judged.has_value()) return {};
        Digest(judged->step, ProgressTracker::Origin::kNew);
      }
      ++observed_;
      pipeline_.PopFront();
      TRY(Refill());
    }
    return {};
  }

  void Digest(const Step& step, ProgressTracker::Origin origin) {
    best_.Add(step);
    progress_.Add(step, origin, Elapsed());
    proposer_.Observe(step);
    if (callbacks_.on_progress) callbacks_.on_progress(progress_.progress());
  }

  double Elapsed() const { return MonotonicSeconds() - began_; }

  EndReason Reason() const {
    if (!session_.limit().empty()) return EndReason::kBudget;
    if (session_.is_stopped()) return is_late_ ? EndReason::kMaxSeconds : EndReason::kInterrupted;
    return pipeline_.exhausted() ? EndReason::kExhausted : EndReason::kBudget;
  }

  LoopResult Conclude() {
    LoopResult result;
    result.reason = Reason();
    result.limit = session_.limit();
    if (result.reason == EndReason::kBudget && result.limit.empty()) result.limit = "evals";
    result.progress = progress_.progress();
    result.steps = result.progress.evaluations;
    result.new_steps = std::max<int64_t>(observed_ - StoredSteps(), 0);
    result.best = best_.Take();
    return result;
  }

  const LoopRequest& request_;
  Proposer& proposer_;
  const LoopCallbacks& callbacks_;
  const Mode mode_;
  Spending spending_;
  std::vector<Step> stored_;
  Session session_;
  Pipeline pipeline_;
  ProgressTracker progress_;
  BestSteps best_;

  int64_t proposed_ = 0, observed_ = 0;
  bool is_late_ = false;
  const double began_ = MonotonicSeconds();
};

// Begins the run, or reads how far it came.
Result<std::vector<Step>> Recall(const RunRecord& run, Store& store) {
  const auto known = TRY(store.FindRun(run.id));
  if (!known.has_value()) {
    TRY(store.BeginRun(run));
    return std::vector<Step>();
  }
  TRY(CheckSameRun(*known, run));
  std::vector<Step> steps = TRY(store.Steps(run.id));
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].index == static_cast<int64_t>(i)) continue;
    return Error{ErrorCode::kBadInput, "run \"" + run.id + "\" lacks step " + std::to_string(i),
                 "the store is damaged; restore it from a copy"};
  }
  return steps;
}

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
  std::vector<Step> stored = TRY(Recall(request.run, store));
  return Loop(request, proposer, {device, compiler, &store}, callbacks, std::move(stored)).Run();
}

}  // namespace warpsmith::search
