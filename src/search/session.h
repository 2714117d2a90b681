// The one way from a candidate to its verdict. A session has a question (task, workload, protocol),
// the seams that answer it (device, compiler, store) and candidates; it looks each one up, compiles
// and judges it, keeps what came of it, and hands the verdicts back in the order of the candidates.
// Whatever judges goes this way: the loop, `evaluate`, `record`, `hgemm bench`, MCP.
//
//     Session session(question, seams, {.keeps_verdicts = true});
//     TRY(session.Evaluate(candidates, [&](const Judged& judged) -> Result<bool> { ... }));
//
// While one candidate is on the device the next are compiled. Where the session's verdicts are
// steps of a run, it leases each step's job before work on it begins, holds the run to its budget,
// and commits the steps in order; so a run can stop, or be killed, between any two of them.
#ifndef WARPSMITH_SEARCH_SESSION_H_
#define WARPSMITH_SEARCH_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "core/reward.h"
#include "core/step.h"
#include "search/evaluator.h"

namespace warpsmith::search {

// Holds a run to its budget: what has been spent, what a step cost, and whether one more fits.
// Whether a step may start or be committed is answered from the committed steps alone, so that a
// run that was interrupted stops at the same step as one that was not. (Limits on wall time
// excepted.) Every second since this was made, and whatever is charged, is part of one step's cost:
// of the next one that is committed.
class Spending {
 public:
  explicit Spending(const Budget& budget);

  const Budget& budget() const { return budget_; }

  // A step that was committed before, or elsewhere.
  void Add(const Cost& cost) { spent_ = spent_ + cost; }
  // A step that was committed elsewhere just now: its wall time is no part of the next step's cost.
  void AddElsewhere(const Cost& cost);
  // GPU time that was spent without being a step.
  void Charge(double gpu_seconds) { pending_gpu_seconds_ += gpu_seconds; }

  // What a step costs that ends now: `thought` (tokens and money), its evaluation and time.
  Cost OfStep(const Cost& thought, double gpu_seconds) const;
  // Counts a step that has just been committed at the cost that OfStep told.
  void Commit(const Cost& cost);

  // By committed steps.
  const Cost& spent() const { return spent_; }
  // With what the next step will be charged.
  Cost SpentByNow() const;
  // The limit that leaves no room for another step by now, if there is one.
  std::optional<std::string> Exhausted() const;

  // The limit that one more step, on top of `started` ones that have not been committed, is
  // expected to pass. Steps are expected to cost what they did so far; before anything is known,
  // only one is started at a time.
  std::optional<std::string> StopsStart(int started) const;

  // The limit that keeps a step of this cost from being committed. A step that would not have been
  // started is not committed, whenever it was started, unless it came for free.
  std::optional<std::string> StopsCommit(const Cost& cost) const;

 private:
  Cost Expected(int steps) const;

  Budget budget_;
  Cost spent_;
  double pending_gpu_seconds_ = 0;
  double accounted_at_;  // until when wall time is part of a committed step's cost
};

// What candidates are judged on. Each form of candidate has its own version of the protocol
// (Protocol::For).
struct Question {
  Task task;
  Workload workload;
  Protocol protocol;

  Job JobOf(const Candidate& candidate) const;
};

struct SessionOptions {
  bool keeps_verdicts = false;  // in the store, whether or not they become steps of a run
  // Judges what passed on the task's hidden workloads, too. Where it fails on one, that is its
  // verdict ("hidden-workload"); so it is where its plan declares that such sizes are not its own.
  // A device that needs no artifacts replays: it is not asked for more than was recorded.
  bool checks_hidden = false;
  int compile_threads = 0;  // 0: DefaultCompileThreads()
  int device_queue = 4;     // jobs with the device at a time: enough that it never waits for us
  RewardShape reward = kSearchReward;  // of the steps
  size_t window = 96;  // of Evaluate: begun and not delivered; bounds what memory holds
  // Verdicts come as they are ready, and a slow compile holds up nobody: for a caller that keeps
  // each one by itself. Not with steps of a run, which are kept in order.
  bool any_order = false;
  std::function<bool()> stop = {};  // asked often, besides Interrupted()
};

// The run whose steps the verdicts become.
struct RunSteps {
  std::string run;     // its id; the store knows it
  std::string worker;  // who leases its jobs: store::ThisWorker()
  int64_t next = 0;    // index of the first step
  Spending* spending;  // its budget, and what earlier steps cost; outlives the session
};

// A verdict, as it is delivered. Outside a run `step.index` counts from 0.
struct Judged {
  std::string key;  // MeasurementKey
  Step step;
};

// False: nothing more is begun; what the device has is still delivered.
using OnJudged = std::function<Result<bool>(const Judged& judged)>;
// Nullopt at the end.
using NextJob = std::function<Result<std::optional<Job>>()>;

class Session {
 public:
  Session(Question question, const Seams& seams, SessionOptions options = {},
          std::optional<RunSteps> steps = std::nullopt);

  // Judges all of them, in order; true when every one was delivered, false when it was stopped
  // before (Ctrl-C, `options.stop`, `on_judged`, the budget). Errors are the toolchain's, the
  // device's or the store's; all verdicts before the one that failed have been delivered.
  Result<bool> Evaluate(std::span<const Candidate> candidates, const OnJudged& on_judged);
  // The verdict on one; kInterrupted when it was stopped before, or the budget's limit was reached.
  Result<Judged> Evaluate(const Candidate& candidate, const Cost& thought = {});
  // The same of jobs that are made when their turn comes, and may each have a question of its own.
  Result<bool> Evaluate(const NextJob& next, const OnJudged& on_judged);

  // What Evaluate consists of, for a caller that decides on the next candidate by the verdicts so
  // far. Add puts a candidate in line: `thought` is what it cost to think of it; a `refusal` is its
  // verdict without any work. Work begins, submits and waits a little. Next hands out the front's
  // verdict (with any_order: the first that is there) once it is kept; nullopt: not yet, or never, since the session was stopped.
  void Add(Job job, const Cost& thought = {}, std::optional<Rejected> refusal = std::nullopt);
  Status Work();
  Result<std::optional<Judged>> Next();

  const Question& question() const { return question_; }
  // Nothing new is begun: what the device has comes in order, and is kept.
  bool is_stopped() const { return stopped_; }
  // The budget's limit that stopped it, or empty: "evals", "gpu", "time", "tokens", "money".
  const std::string& limit() const { return limit_; }
  // Nothing is left, or what is left will not come.
  bool is_over() const { return queue_.empty() || (stopped_ && evaluator_.on_device() == 0); }

 private:
  // A candidate in line. `job` is its own; `asked` is the one under way: its own, or a hidden
  // workload's.
  struct Entry {
    int64_t index;
    Job job;
    Cost thought;
    std::optional<Rejected> refusal;
    bool is_begun = false;
    JobLease lease;
    std::optional<Job> hidden;        // under way
    size_t workloads_done = 0;        // of the task's, looked at for hidden ones
    std::optional<Completed> answer;  // so far
    const Job& asked() const { return hidden ? *hidden : job; }
  };

  void Stop(const std::string& limit = "");
  Status BeginQueued();
  Status Submit();
  Result<bool> TakeAnswers(Entry& entry);
  Result<bool> AskHidden(Entry& entry);
  Result<bool> Commit(const Entry& entry, const std::string& key, Step& step);

  const Question question_;
  const Seams seams_;
  const SessionOptions options_;
  std::optional<RunSteps> steps_;
  Evaluator evaluator_;
  std::deque<Entry> queue_;
  std::set<std::string> under_way_;  // keys that were begun and are not kept yet
  int64_t next_index_ = 0;
  bool stopped_ = false;      // nothing new is begun
  bool over_budget_ = false;  // nothing more is committed
  std::string limit_;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_SESSION_H_
