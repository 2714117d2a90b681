#include "serve/http/judge_queue.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/clock.h"
#include "base/interrupt.h"

namespace warpsmith::serve {
namespace {

constexpr int kDeathsAllowed = 1;  // a job on which one worker died is tried once more
constexpr int64_t kMostCodeBytes = int64_t{128} << 20;  // of all that wait
constexpr double kGoodForSeconds = 60;
constexpr double kReopenSeconds = 5;       // a device that cannot be opened is tried so often
constexpr double kElsewhereSeconds = 0.5;  // what another server does is looked at so often
constexpr std::chrono::milliseconds kTick{100};

Completed Decided(const Job& job, Outcome outcome) {
  Verdict verdict{std::move(outcome), {}};
  verdict.evidence.protocol = ProtocolId(job.protocol);
  verdict.evidence.date = UtcTimestamp();
  return {job.key, std::move(verdict), 0};
}

}  // namespace

JudgeQueue::~JudgeQueue() {
  {
    const std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  Join();
}

void JudgeQueue::Join() {
  if (thread_.joinable()) thread_.join();
}

bool JudgeQueue::is_draining() const {
  const std::scoped_lock lock(mutex_);
  return closing_ || Interrupted() || (options_.stop && options_.stop());
}

bool JudgeQueue::has_ended() const {
  const std::scoped_lock lock(mutex_);
  return ended_;
}

Status JudgeQueue::Start() {
  std::vector<store::ServedJob> unfinished = TRY(jobs_.TakeUnfinished());
  for (store::ServedJob& one : unfinished) {
    Enter({std::move(one.job), std::move(one.run), std::nullopt, one.attempts, one.attempts > 0});
  }
  thread_ = std::thread([this] { Serve(); });
  return {};
}

Status JudgeQueue::Submit(const std::string& run, std::optional<double> begin_within_s,
                          std::vector<Job> jobs) {
  if (is_draining()) {
    return Error{ErrorCode::kInterrupted, "the server is ending and takes on nothing new",
                 "ask again when it is back"};
  }
  // Refused and not queued: how long a process that does not die will keep the GPU is not known.
  if (const Status safe = Quarantine(); !safe.ok()) {
    return Error{ErrorCode::kAwaiting, "in quarantine: " + safe.error().message, safe.error().fix};
  }
  // The lock is held from here until the jobs are in line. Requests that come together would else
  // count the same key, or the same room in the line, as theirs.
  const std::scoped_lock lock(mutex_);
  std::vector<Job> fresh;
  std::set<std::string> seen;
  for (Job& job : jobs) {
    if (!entries_.contains(job.key) && seen.insert(job.key).second) fresh.push_back(std::move(job));
  }
  if (!line_.HasRoomFor(fresh.size()) || code_bytes_ > kMostCodeBytes) {
    counts_.refused += static_cast<int64_t>(jobs.size());
    return Error{ErrorCode::kBusy, std::to_string(line_.size()) + " jobs wait already",
                 "ask again after the time that Retry-After gives"};
  }
  // The store comes first. If the process is killed behind this line, the jobs are in the store,
  // and the next start takes them up; if the store refuses them, no job is in line.
  const std::scoped_lock store_lock(store_mutex_);
  TRY(jobs_.Accept(run, fresh));
  for (Job& job : fresh) {
    const store::ServedJobs::Found found = TRY(jobs_.Find(job.key));
    if (found.state == store::ServedJobs::State::kDone) continue;
    std::optional<double> begin_by;
    if (begin_within_s) begin_by = MonotonicSeconds() + *begin_within_s;
    // A job that was at work when a server died is judged alone from now on, also when it is asked
    // for again.
    Enter({std::move(job), run, begin_by, found.attempts, found.attempts > 0});
  }
  changed_.notify_all();
  return {};
}

void JudgeQueue::Enter(Entry entry) {
  if (entries_.contains(entry.job.key)) return;
  line_.Add(entry.run, entry.job.key);
  code_bytes_ += CodeLength(entry.job.candidate);
  std::string key = entry.job.key;
  entries_.emplace(std::move(key), std::move(entry));
}

Result<store::ServedJobs::Found> JudgeQueue::Find(const std::string& key) {
  using Found = store::ServedJobs::Found;
  using State = store::ServedJobs::State;
  {
    const std::scoped_lock lock(mutex_);
    if (const auto entry = entries_.find(key); entry != entries_.end()) {
      return Found{entry->second.running ? State::kRunning : State::kQueued, std::nullopt};
    }
  }
  const std::scoped_lock lock(store_mutex_);
  return jobs_.Find(key);
}

void JudgeQueue::Wait(const std::vector<std::string>& keys, bool any, double seconds,
                      std::function<void()> done) {
  {
    const std::scoped_lock lock(mutex_);
    Waiter waiter{{}, any, MonotonicSeconds() + seconds, std::move(done)};
    for (const std::string& key : keys) {
      if (entries_.contains(key)) waiter.keys.insert(key);
    }
    if (waiter.keys.empty() && IsElsewhere(keys)) {
      waiter.keys = {keys.begin(), keys.end()};
      waiter.until = std::min(waiter.until, MonotonicSeconds() + kElsewhereSeconds);
    }
    if (!waiter.keys.empty() && seconds > 0 && !ended_) {
      waiters_.push_back(std::move(waiter));
      return;
    }
    done = std::move(waiter.done);
  }
  done();
}

// Whether another server on this store has one of them at work. Under mutex_.
bool JudgeQueue::IsElsewhere(const std::vector<std::string>& keys) {
  using State = store::ServedJobs::State;
  const std::scoped_lock lock(store_mutex_);
  return std::ranges::any_of(keys, [this](const std::string& key) {
    const auto found = jobs_.Find(key);
    return found.ok() && (found->state == State::kQueued || found->state == State::kRunning);
  });
}

void JudgeQueue::Post(std::function<void()> errand) {
  {
    const std::scoped_lock lock(mutex_);
    errands_.push_back(std::move(errand));
  }
  changed_.notify_all();
}

int JudgeQueue::RetryAfterSeconds() const {
  const std::scoped_lock lock(mutex_);
  const double seconds = seconds_a_job_ * static_cast<double>(entries_.size()) / 2;
  return static_cast<int>(std::clamp(std::ceil(seconds), 1.0, 60.0));
}

QueueCounts JudgeQueue::Counts() const {
  const std::scoped_lock lock(mutex_);
  QueueCounts counts = counts_;
  counts.waiting = line_.size();
  counts.running = static_cast<size_t>(
      std::ranges::count_if(entries_, [](const auto& entry) { return entry.second.running; }));
  counts.waiters = waiters_.size();
  return counts;
}

Status JudgeQueue::Ready() {
  TRY(Quarantine());
  const std::scoped_lock lock(mutex_);
  if (!options_.probe) return {};
  const bool is_old = MonotonicSeconds() - last_good_ > kGoodForSeconds;
  probe_wanted_ = probe_wanted_ || is_old;
  if (trouble_) return *trouble_;
  if (last_good_ > 0) return {};
  return Error{ErrorCode::kBusy, "no known good kernel ran yet", "ask again"};
}

void JudgeQueue::Serve() {
  while (!is_draining()) {
    std::deque<std::function<void()>> errands;
    bool has_jobs = false, probes = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kTick, [this] {
        return closing_ || line_.size() > 0 || !errands_.empty() ||
               (probe_wanted_ && options_.probe);
      });
      errands.swap(errands_);
      has_jobs = line_.size() > 0;
      probes = options_.probe && std::exchange(probe_wanted_, false);
    }
    if (const Status safe = Quarantine(); !safe.ok()) {
      anew_ = true;
      AwaitQuarantine(safe.error(), std::move(errands));
      continue;
    }
    for (const auto& errand : errands) errand();
    if (probes) Probe();
    if (has_jobs) JudgeSome();
    Fire(nullptr);
  }
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
    errands_.clear();
  }
  Fire(nullptr);
}

// Nothing is begun. Errands wait for the device as jobs do.
void JudgeQueue::AwaitQuarantine(const Error& why, std::deque<std::function<void()>> errands) {
  {
    std::unique_lock lock(mutex_);
    for (; !errands.empty(); errands.pop_back()) errands_.push_front(std::move(errands.back()));
    trouble_ = why;
    probe_wanted_ = true;
    changed_.wait_for(lock, kTick, [this] { return closing_; });
  }
  Fire(nullptr);
}

void JudgeQueue::Probe() {
  const auto seams = open_(std::exchange(anew_, false));
  const Status probed = seams.ok() ? options_.probe(*seams) : Status(seams.error());
  anew_ = !probed.ok();
  const std::scoped_lock lock(mutex_);
  trouble_.reset();
  if (probed.ok()) {
    last_good_ = MonotonicSeconds();
  } else {
    trouble_ = probed.error();
  }
}

// Judges until the line is empty, an errand came, something went wrong, or all is to end.
void JudgeQueue::JudgeSome() {
  const auto seams = open_(std::exchange(anew_, false));
  if (!seams.ok()) {
    std::unique_lock lock(mutex_);
    anew_ = true;
    trouble_ = seams.error();
    ++counts_.device_failures;
    changed_.wait_for(lock, std::chrono::duration<double>(kReopenSeconds),
                      [this] { return closing_ || Interrupted(); });
    return;
  }
  search::SessionOptions options;
  options.checks_hidden = true;
  options.any_order = true;  // a slow compile holds up nobody
  options.device_queue = 2;  // one at work, the next one at hand: few are under suspicion
  options.stop = [this] { return is_draining(); };
  search::Session session({}, *seams, options);
  std::deque<Running> running;
  while (true) {
    const auto fed = Feed(session, running);
    if (fed.ok() && running.empty()) return;
    const Status worked = fed.ok() ? session.Work() : Status(fed.error());
    const Status delivered = worked.ok() ? Deliver(session, running) : worked;
    Fire(nullptr);
    if (!delivered.ok()) return GiveUp(running, delivered.error());
    if (session.is_stopped() && session.is_over()) return PutBack(running, false);
  }
}

// The next to be judged beside what runs; deadlines and deaths are answered on the way.
std::optional<JudgeQueue::Entry> JudgeQueue::TakeNext(bool nothing_runs) {
  const std::scoped_lock lock(mutex_);
  if (!errands_.empty()) return std::nullopt;
  // Each job is looked at once. One that must be alone goes back into the line while others are at
  // work.
  for (size_t looked = line_.size(); looked > 0; --looked) {
    const std::optional<std::string> key = line_.Take();
    Entry& entry = entries_.at(*key);
    if (entry.alone && !nothing_runs) {
      line_.Add(entry.run, *key);
      continue;
    }
    entry.running = true;
    return entry;
  }
  return std::nullopt;
}

Result<bool> JudgeQueue::Feed(search::Session& session, std::deque<Running>& running) {
  if (!running.empty() && running.front().alone) return true;
  while (!session.is_stopped() && running.size() < static_cast<size_t>(options_.window)) {
    std::optional<Entry> next = TakeNext(running.empty());
    if (!next) return true;
    Running one{std::move(next->job), 0, next->alone};
    {
      const std::scoped_lock lock(store_mutex_);
      // The attempt is counted in the store before any work. If the process dies now, the next
      // start knows from this count that the job was at work then.
      const auto attempt = jobs_.Begin(one.job.key);
      if (attempt.ok()) one.attempt = *attempt;
    }
    if (one.attempt == 0) {  // another server has it, or the store failed: it stays there
      Forget(one.job.key);
      continue;
    }
    // It was alone when the second worker died, so it is to blame. A third attempt would end the
    // server again, and with it everybody's jobs.
    if (next->attempts > kDeathsAllowed) {
      TRY(Answer(one, Decided(one.job, RunFailed{"judge", "worker-died",
                                                 "two workers died while they judged it"})));
      continue;
    }
    if (const auto known = options_.known ? options_.known(one.job) : std::nullopt) {
      TRY(Answer(one, Decided(one.job, *known)));
      continue;
    }
    if (next->begin_by && *next->begin_by < MonotonicSeconds()) {
      TRY(Answer(one, Decided(one.job, Inconclusive{"its deadline passed before it was begun"})));
      continue;
    }
    session.Add(one.job);
    running.push_back(std::move(one));
    if (next->alone) return true;
  }
  return true;
}

Status JudgeQueue::Deliver(search::Session& session, std::deque<Running>& running) {
  while (!running.empty()) {
    auto judged = TRY(session.Next());
    if (!judged) return {};
    const auto found =
        std::ranges::find(running, judged->key, [](const Running& one) { return one.job.key; });
    CHECK(found != running.end());
    const Running one = std::move(*found);
    running.erase(found);
    TRY(Answer(one, {one.job.key, std::move(judged->step.verdict), judged->step.cost.gpu_seconds}));
  }
  return {};
}

Status JudgeQueue::Answer(const Running& running, const Completed& completed) {
  bool is_first = false;
  {
    const std::scoped_lock lock(store_mutex_);
    // Only the attempt that the store calls the current one may answer. A later one has begun where
    // this process was taken for dead.
    is_first = TRY(jobs_.Finish(running.job, running.attempt, completed));
  }
  {
    const std::scoped_lock lock(mutex_);
    ++counts_.judged;
    counts_.late += is_first ? 0 : 1;
    const std::string form(Name(running.job.candidate.form));
    counts_.gpu_seconds[form] += completed.gpu_seconds;
    ++counts_.outcomes[{form, std::string(OutcomeName(completed.verdict.outcome))}];
    if (completed.gpu_seconds > 0) {
      seconds_a_job_ = 0.9 * seconds_a_job_ + 0.1 * completed.gpu_seconds;
    }
    if (std::holds_alternative<Passed>(completed.verdict.outcome)) {
      last_good_ = MonotonicSeconds();
      trouble_.reset();
    }
  }
  Forget(running.job.key);
  return {};
}

void JudgeQueue::Forget(const std::string& key) {
  {
    const std::scoped_lock lock(mutex_);
    const auto entry = entries_.find(key);
    if (entry != entries_.end()) {
      code_bytes_ -= CodeLength(entry->second.job.candidate);
      entries_.erase(entry);
    }
  }
  Fire(&key);
}

// What went wrong says nothing sure about one of several: each is judged again, alone.
void JudgeQueue::GiveUp(std::deque<Running>& running, const Error& error) {
  anew_ = true;
  {
    const std::scoped_lock lock(mutex_);
    ++counts_.device_failures;
    probe_wanted_ = true;
  }
  // A job that fails alone is answered, or it would fail in the same way again and again and hold
  // up all others.
  if (running.size() == 1) {
    const Running& one = running.front();
    if (Answer(one, Decided(one.job, Inconclusive{error.Line()})).ok()) return;
  }
  PutBack(running, true);
}

void JudgeQueue::PutBack(std::deque<Running>& running, bool alone) {
  const std::scoped_lock lock(mutex_);
  const std::scoped_lock store_lock(store_mutex_);
  for (const Running& one : running) {
    // Where even that fails it stays `running` in the store: the next start takes it up.
    [[maybe_unused]] const Status put = jobs_.PutBack(one.job.key);
    const auto entry = entries_.find(one.job.key);
    if (entry == entries_.end()) continue;
    entry->second.running = false;
    entry->second.alone |= alone;
    line_.Add(entry->second.run, one.job.key);
  }
  running.clear();
}

void JudgeQueue::Fire(const std::string* finished) {
  std::vector<std::function<void()>> done;
  {
    const std::scoped_lock lock(mutex_);
    const double now = MonotonicSeconds();
    for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
      const bool is_hit = finished != nullptr && waiter->keys.erase(*finished) > 0;
      const bool is_over =
          waiter->keys.empty() || (is_hit && waiter->any) || waiter->until <= now || ended_;
      if (is_over) done.push_back(std::move(waiter->done));
      waiter = is_over ? waiters_.erase(waiter) : std::next(waiter);
    }
  }
  for (const auto& call : done) call();
}

}  // namespace warpsmith::serve
