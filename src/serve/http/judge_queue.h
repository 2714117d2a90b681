// Jobs of many clients on one device: a line with room for so many, a thread that judges, and
// answers that are kept. The same key is judged once, however many ask for it.
//
// A job is in the store before Submit returns, so it is judged although the process is killed. On
// the way back from a death, each job that was at work then is judged alone, so that a second death
// says which of them it was: such a job gets a verdict, and is not tried a third time.
#ifndef WARPSMITH_SERVE_HTTP_JUDGE_QUEUE_H_
#define WARPSMITH_SERVE_HTTP_JUDGE_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "search/session.h"
#include "serve/http/fair_line.h"
#include "store/served_jobs.h"

namespace warpsmith::serve {

// The seams to judge with, used by the queue's thread alone. `anew`: what was opened before failed
// and is to be given up first.
using OpenSeams = std::function<Result<search::Seams>(bool anew)>;

struct JudgeQueueOptions {
  size_t capacity = 512;            // jobs that were not begun
  int window = 16;                  // begun at a time: those that compile do not hold the device
  std::function<bool()> stop = {};  // besides Interrupted(): nothing more is begun
  std::function<std::optional<Outcome>(const Job&)> known = {};  // without the device; or null
  std::function<Status(search::Seams)> probe = {};  // a known good kernel runs; null: always ready
  // Not ok: a worker outlived its kill and may still use the device, which is left alone and held
  // until this is ok again. Null: always ok.
  std::function<Status()> quarantine = {};
};

struct QueueCounts {
  size_t waiting = 0, running = 0, waiters = 0;
  int64_t judged = 0, refused = 0, late = 0, device_failures = 0;
  std::map<std::string, double> gpu_seconds;                        // by form
  std::map<std::pair<std::string, std::string>, int64_t> outcomes;  // by form and outcome
};

// Thread-safe but for Start.
class JudgeQueue {
 public:
  // `jobs` and its store are the queue's alone.
  JudgeQueue(OpenSeams open, store::ServedJobs& jobs, JudgeQueueOptions options)
      : open_(std::move(open)),
        jobs_(jobs),
        options_(std::move(options)),
        line_(options_.capacity) {}
  JudgeQueue(const JudgeQueue&) = delete;
  JudgeQueue& operator=(const JudgeQueue&) = delete;
  ~JudgeQueue();  // what runs is ended, the rest stays in the store

  // Takes up what the store holds, and begins to judge.
  Status Start();

  // All or none. kBusy: no room (RetryAfter); kInterrupted: nothing new is taken on; kAwaiting: the
  // device is in quarantine.
  // `begin_within_s`: a job that was not begun by then becomes inconclusive.
  Status Submit(const std::string& run, std::optional<double> begin_within_s,
                std::vector<Job> jobs);
  Result<store::ServedJobs::Found> Find(const std::string& key);
  // What `work` gives when it is called with the store's part, which is the queue's alone.
  template <typename Work>
  auto WithJobs(Work work) {
    const std::scoped_lock lock(store_mutex_);
    return work(jobs_);
  }
  // Calls `done` once, from another thread: when all keys (`any`: one) that are not done now are,
  // the time is over, or the queue ends. At once where nothing is to be waited for; soon where only
  // another server on the store has them.
  void Wait(const std::vector<std::string>& keys, bool any, double seconds,
            std::function<void()> done);
  // Work for the queue's thread, while nothing is judged.
  void Post(std::function<void()> errand);

  bool is_draining() const;  // nothing new is taken on
  bool has_ended() const;    // nor is anything at work
  // Until what runs is done and kept, after `stop` or Interrupted().
  void Join();
  int RetryAfterSeconds() const;  // 1 to 60: about half of what the line takes
  QueueCounts Counts() const;
  // Not ready: the last probe or the device failed. Asks for a probe when the last good run is old.
  Status Ready();

 private:
  struct Entry {
    Job job;
    std::string run;
    std::optional<double> begin_by;  // monotonic
    int attempts = 0;                // of dead workers
    bool alone = false;              // nothing else is at work beside it
    bool running = false;
  };
  struct Running {
    Job job;
    int attempt = 0;
    bool alone = false;
  };
  struct Waiter {
    std::set<std::string> keys;
    bool any = false;
    double until = 0;
    std::function<void()> done;
  };

  bool IsElsewhere(const std::vector<std::string>& keys);
  void Serve();
  void JudgeSome();
  Result<bool> Feed(search::Session& session, std::deque<Running>& running);
  Status Deliver(search::Session& session, std::deque<Running>& running);
  void GiveUp(std::deque<Running>& running, const Error& error);
  void PutBack(std::deque<Running>& running, bool alone);
  std::optional<Entry> TakeNext(bool nothing_runs);
  Status Quarantine() const { return options_.quarantine ? options_.quarantine() : Status(); }
  Status Answer(const Running& running, const Completed& completed);
  void AwaitQuarantine(const Error& why, std::deque<std::function<void()>> errands);
  void Probe();
  void Enter(Entry entry);                 // under mutex_
  void Forget(const std::string& key);     // it is answered, or not ours
  void Fire(const std::string* finished);  // null: by time, or because the queue ends

  const OpenSeams open_;
  store::ServedJobs& jobs_;
  const JudgeQueueOptions options_;
  bool anew_ = false;  // of the thread

  std::mutex store_mutex_;    // guards jobs_; taken after mutex_, if both are
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  FairLine line_;
  std::map<std::string, Entry> entries_;  // not done
  int64_t code_bytes_ = 0;                // of them
  std::list<Waiter> waiters_;
  std::deque<std::function<void()>> errands_;
  QueueCounts counts_;
  double seconds_a_job_ = 0.1;    // smoothed
  std::optional<Error> trouble_;  // why it is not ready
  double last_good_ = 0;
  bool probe_wanted_ = true;
  bool closing_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_HTTP_JUDGE_QUEUE_H_
