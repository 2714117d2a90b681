#include "search/loop.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json_reader.h"
#include "base/result.h"
#include "base/sha256.h"
#include "core/proposer.h"
#include "core/protocol.h"
#include "core/reward.h"
#include "core/serialize.h"
#include "core/space.h"
#include "core/step.h"
#include "core/store.h"
#include "search/session.h"

namespace warpsmith::search {
namespace {

// Proposes a given list, in one generation.
class Finalists : public Proposer {
 public:
  explicit Finalists(const std::vector<Step>& steps) {
    for (const Step& step : steps) proposals_.push_back({step.candidate, {}, {}});
  }
  std::string_view Name() const override { return "finalists"; }
  Result<std::vector<Proposal>> Propose(int /*n*/) override {
    return std::exchange(proposals_, {});
  }
  void Observe(const Step& /*step*/) override {}

 private:
  std::vector<Proposal> proposals_;
};

// Other finalists are another run: a search that went on may end in better ones.
std::string RunIdOf(const LoopRequest& search, const std::vector<Step>& finalists,
                    const Protocol& protocol) {
  constexpr size_t kShort = 12;
  std::string ids = ProtocolId(protocol) + "\n";
  for (const Step& step : finalists) ids += CandidateId(step.candidate) + "\n";
  return search.run.id + std::string(kCertification) + Sha256Hex(ids).substr(0, kShort);
}

LoopRequest RequestOf(const LoopRequest& search, const std::vector<Step>& finalists,
                      const std::optional<Protocol>& protocol) {
  LoopRequest request = search;
  request.run.proposer = ProposerText("finalists", search.reward);
  request.run.batch = static_cast<int>(finalists.size());
  request.run.protocol = protocol.value_or(Protocol::Certified());
  if (!protocol.has_value()) request.run.protocol.modes = search.run.protocol.modes;
  request.run.id = RunIdOf(search, finalists, request.run.protocol);
  request.budget = {};
  request.keep_best = 1;
  return request;
}

std::optional<size_t> WinnerOf(const std::vector<Step>& steps, Mode mode,
                               const RewardShape& reward) {
  std::optional<size_t> winner;
  double best = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto ratio = RatioToPrimary(steps[i].verdict, mode);
    if (!ratio || *ratio <= 0) continue;
    const double worth = reward == kSearchReward ? *ratio : steps[i].reward;
    if (winner && worth <= best) continue;
    best = worth;
    winner = i;
  }
  return winner;
}

std::string NameOf(const Candidate& candidate) {
  const Provenance& provenance = candidate.provenance;
  if (!provenance.family.empty()) return PointName({provenance.family, provenance.config});
  if (!provenance.technique.empty()) return provenance.technique;
  constexpr size_t kShortId = 12;
  return CandidateId(candidate).substr(0, kShortId);
}

// When a proposer is asked: in generations, two of them under way.
class Pipeline {
 public:
  // Called with each proposal, in proposal order.
  using OnProposal = std::function<Status(Proposal proposal)>;

  Pipeline(Proposer& proposer, int batch, OnProposal on_proposal);

  // Proposes generation g + 1 if all of g - 1 has been observed. Always whole generations, and none
  // that begins at `index_limit` or after: so a run resumed with a larger budget meets the same
  // proposals. To be called before anything of g is observed.
  Status Refill(int64_t index_limit);
  // The next proposal in order has been observed.
  void PopFront() { --open_.front(); }

  // Everything that was proposed has been observed.
  bool empty() const { return open_.empty(); }
  // The proposer had nothing to say when all it proposed had been observed.
  bool exhausted() const { return exhausted_; }

 private:
  Proposer& proposer_;
  const int batch_;
  const OnProposal on_proposal_;
  // Of each generation under way, how many proposals have not been observed. After Refill, the
  // front one has some.
  std::deque<size_t> open_;
  int64_t proposed_ = 0;
  bool exhausted_ = false;
};

constexpr size_t kDepth = 2;

Pipeline::Pipeline(Proposer& proposer, int batch, OnProposal on_proposal)
    : proposer_(proposer), batch_(batch), on_proposal_(std::move(on_proposal)) {}

Status Pipeline::Refill(int64_t index_limit) {
  while (true) {
    while (!open_.empty() && open_.front() == 0) open_.pop_front();
    if (exhausted_ || open_.size() >= kDepth || proposed_ >= index_limit) return {};
    std::vector<Proposal> generation = TRY(proposer_.Propose(batch_));
    // An empty one keeps its place while steps are open: observing them may bring new ideas.
    // Whether the proposer is asked depends on what was proposed and observed, and on nothing that
    // a clock or a device decides. So a resumed run asks at the same places.
    exhausted_ = generation.empty() && open_.empty();
    open_.push_back(generation.size());
    proposed_ += static_cast<int64_t>(generation.size());
    for (Proposal& proposal : generation) TRY(on_proposal_(std::move(proposal)));
  }
}

// Whether a run may be resumed.

struct Trait {
  const char* name;
  std::string stored, now;
};

// Another GPU of the same kind will do, since rented machines change: what counts is measured
// against baselines beside it, and every verdict's evidence names its own GPU.
std::string DeviceText(const DeviceInfo& device) {
  const bool replays = !device.needs_artifacts && device.origin != "local";
  return device.name + " " + device.architecture + (replays ? " (recorded)" : "");
}

// kConfig, naming the first thing that differs, unless `now` would go on exactly as `stored` did.
// The command line and where a recording lies may differ.
Status CheckSameRun(const RunRecord& stored, const RunRecord& now) {
  const Trait traits[] = {
      {"proposer", stored.proposer, now.proposer},
      {"seed", std::to_string(stored.seed), std::to_string(now.seed)},
      {"batch", std::to_string(stored.batch), std::to_string(now.batch)},
      {"space", stored.space, now.space},
      {"device", DeviceText(stored.device), DeviceText(now.device)},
      {"protocol", ProtocolId(stored.protocol), ProtocolId(now.protocol)},
      {"workload", JsonText(ToJson(stored.workload)), JsonText(ToJson(now.workload))},
      {"task", JsonText(ToJson(stored.task)), JsonText(ToJson(now.task))},
  };
  for (const Trait& trait : traits) {
    if (trait.stored == trait.now) continue;
    return Error{ErrorCode::kConfig,
                 "run \"" + now.id + "\" was begun with " + trait.name + " " + trait.stored +
                     ", now it is " + trait.now,
                 "resume it with what it was begun with, or begin another run"};
  }
  return {};
}

// The few steps worth handing back: passed, the best first (RankOf), the earlier of equals first.
class BestSteps {
 public:
  BestSteps(Mode mode, int keep, const RewardShape& reward);
  void Add(const Step& step);
  std::vector<Step> Take() { return std::move(steps_); }

 private:
  Mode mode_;
  size_t keep_;
  RewardShape reward_;
  std::vector<Step> steps_;
};

BestSteps::BestSteps(Mode mode, int keep, const RewardShape& reward)
    : mode_(mode), keep_(static_cast<size_t>(std::max(keep, 0))), reward_(reward) {}

void BestSteps::Add(const Step& step) {
  const auto rank = RankOf(step, mode_, reward_);
  if (!rank.has_value() || keep_ == 0) return;
  const auto worse = std::find_if(steps_.begin(), steps_.end(), [&](const Step& other) {
    return *RankOf(other, mode_, reward_) < *rank;
  });
  if (worse == steps_.end() && steps_.size() == keep_) return;
  steps_.insert(worse, step);
  if (steps_.size() > keep_) steps_.pop_back();
}

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
    // A stored step is not judged again. That the proposer comes to the same candidate shows that
    // it is in the state that it was in then.
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

Result<Certification> Certify(const LoopRequest& search, const std::vector<Step>& finalists,
                              Compiler* compiler, Device& device, Store& store,
                              const LoopCallbacks& callbacks,
                              const std::optional<Protocol>& protocol) {
  if (finalists.empty()) return Certification{};
  const LoopRequest request = RequestOf(search, finalists, protocol);
  Finalists proposer(finalists);
  Certification result;
  result.run = request.run.id;
  result.loop = TRY(RunLoop(request, proposer, compiler, device, store, callbacks));
  result.steps = TRY(store.Steps(request.run.id));
  result.winner = WinnerOf(result.steps, request.run.protocol.modes.front(), request.reward);
  return result;
}

ProgressTracker::ProgressTracker(std::string run, Mode mode, const Budget& budget,
                                 double max_seconds)
    : mode_(mode), budget_(budget), max_seconds_(max_seconds) {
  progress_.run = std::move(run);
  const bool limited = budget.evaluations != std::numeric_limits<int64_t>::max();
  progress_.evaluation_limit = limited ? budget.evaluations : 0;
}

void ProgressTracker::Add(const Step& step, Origin origin, double elapsed_seconds) {
  progress_.spent = progress_.spent + step.cost;
  progress_.evaluations = progress_.spent.evaluations;
  const auto* rejected = std::get_if<Rejected>(&step.verdict.outcome);
  const bool declined = rejected != nullptr && rejected->rule == kDeclinedRule;
  ++progress_.outcomes[std::string(declined ? kDeclinedRule : OutcomeName(step.verdict.outcome))];
  const std::optional<double> ratio = RatioToPrimary(step.verdict, mode_);
  if (ratio.has_value() && *ratio > progress_.best_ratio.value_or(0)) {
    progress_.best_ratio = ratio;
    progress_.best = NameOf(step.candidate);
  }
  if (origin == Origin::kNew) ++new_steps_;
  progress_.elapsed_seconds = elapsed_seconds;
  progress_.seconds_left = SecondsLeft();
}

// The nearest of the limits, at this call's pace so far.
std::optional<double> ProgressTracker::SecondsLeft() const {
  if (new_steps_ == 0) return std::nullopt;
  const double pace = progress_.elapsed_seconds / static_cast<double>(new_steps_);
  double left = std::min(budget_.wall_seconds - progress_.spent.wall_seconds,
                         max_seconds_ - progress_.elapsed_seconds);
  if (progress_.evaluation_limit > 0) {
    const int64_t evaluations_left = progress_.evaluation_limit - progress_.evaluations;
    left = std::min(left, pace * static_cast<double>(evaluations_left));
  }
  if (progress_.spent.gpu_seconds > 0) {
    const double gpu_left = budget_.gpu_seconds - progress_.spent.gpu_seconds;
    left = std::min(left, gpu_left * pace * static_cast<double>(progress_.evaluations) /
                              progress_.spent.gpu_seconds);
  }
  if (!std::isfinite(left)) return std::nullopt;
  return std::max(left, 0.0);
}

Result<LoopResult> RunLoop(const LoopRequest& request, Proposer& proposer, Compiler* compiler,
                           Device& device, Store& store, const LoopCallbacks& callbacks) {
  TRY(CheckRequest(request, compiler, device));
  std::vector<Step> stored = TRY(Recall(request.run, store));
  return Loop(request, proposer, {device, compiler, &store}, callbacks, std::move(stored)).Run();
}

}  // namespace warpsmith::search
