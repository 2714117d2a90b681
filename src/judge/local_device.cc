#include "judge/local_device.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

#include "base/caught.h"
#include "base/clock.h"
#include "base/file.h"
#include "cuda/driver.h"
#include "judge/oracle.h"
#include "judge/program_session.h"
#include "judge/resolved_task.h"
#include "judge/runner.h"
#include "judge/standalone/standalone.h"

namespace warpsmith::judge {

Result<TaskObservations> ObserveTask(judge::LocalDevice& device, const Task& task,
                                     const Workload& workload) {
  TaskObservations seen;
  seen.workload = workload.name;
  seen.roofline_us = TRY(judge::RooflineUs(device.Info(), task, workload, Mode::kDeviceHot));
  const auto answer = device.DegenerateAnswer(task, workload);
  if (answer.ok()) {
    if (answer.value()) seen.trivial_answers.push_back(*answer.value());
  } else if (answer.error().code == ErrorCode::kBadInput) {
    seen.reference_failure = answer.error().Line();
  } else {
    return answer.error();
  }
  return seen;
}

// Owns the thread that owns the oracle (a CUDA context belongs to the thread that uses it).
class LocalDevice::Worker {
 public:
  // Called with an error when there is no oracle any more, or its turn did not come.
  using Question = std::function<void(const Result<Oracle*>&)>;
  struct Work {
    std::function<void(Oracle&)> before;  // its turn comes: what needs no GPU
    Question question;
  };

  Worker(LocalDeviceOptions options, cuda::DeviceProperties device, std::unique_ptr<GpuTurns> turns)
      : options_(std::move(options)), gpu_(std::move(device)), turns_(std::move(turns)) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    {
      const std::lock_guard guard(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  Status Start() {
    const auto opened = std::make_shared<std::promise<Status>>();
    std::future<Status> answer = opened->get_future();
    thread_ = std::thread([this, opened] { Main(*opened); });
    return answer.get();
  }

  const DeviceInfo& info() const { return info_; }

  Status Submit(std::vector<Job> jobs) {
    const std::lock_guard guard(mutex_);
    if (failure_) return *failure_;
    for (Job& job : jobs) {
      const auto shared = std::make_shared<const Job>(std::move(job));
      work_.push_back({[shared](Oracle& oracle) { oracle.Expect(*shared); },
                       [this, shared](const Result<Oracle*>& oracle) {
                         oracle.ok() ? JudgeOne(**oracle, *shared) : Drop(oracle.error());
                       }});
      ++pending_;
    }
    wake_.notify_all();
    return {};
  }

  Result<std::vector<Completed>> Collect(std::chrono::milliseconds patience) {
    std::unique_lock guard(mutex_);
    wake_.wait_for(guard, patience, [this] { return !done_.empty() || failure_ || pending_ == 0; });
    if (done_.empty() && failure_) return *failure_;
    return std::exchange(done_, {});
  }

  Status Ask(const std::function<void(Oracle&)>& question) {
    const auto answered = std::make_shared<std::promise<Status>>();
    std::future<Status> answer = answered->get_future();
    {
      const std::lock_guard guard(mutex_);
      if (failure_) return *failure_;
      work_.push_back({[](Oracle&) {},
                       [&question, answered](const Result<Oracle*>& oracle) {
                         if (oracle.ok()) question(**oracle);
                         answered->set_value(oracle.ok() ? Status{} : Status{oracle.error()});
                       }});
    }
    wake_.notify_all();
    return answer.get();
  }

  DeviceUse Use() const {
    const std::lock_guard guard(mutex_);
    return {turns_->held_seconds(), measuring_seconds_};
  }

  Result<GpuTurns::Turn> TakeTurn() { return turns_->Take(); }

 private:
  // The turn on the GPU is taken for one question and given back after it, so that other processes
  // get theirs in between. `before` runs without the turn. A spare runner that still starts has to
  // end its start before the next turn (Settle): a context that is being created would be seen in
  // its times.
  void Main(std::promise<Status>& opened) {
    const Status open = Caught([this] { return Open(); });
    opened.set_value(open);
    if (!open.ok()) return;
    while (const std::optional<Work> next = Next()) {
      if (oracle_ != nullptr) next->before(*oracle_);
      const auto turn = turns_->Take();
      next->question(turn.ok() ? Working() : turn.error());
      if (oracle_ != nullptr) oracle_->Settle();
    }
    oracle_.reset();
  }

  Status Open() {
    const GpuTurns::Turn turn = TRY(turns_->Take());
    oracle_ = TRY(Oracle::Open(options_, gpu_));
    info_ = oracle_->info();
    return {};
  }

  Result<Oracle*> Working() const {
    if (oracle_ == nullptr) return Error{ErrorCode::kUnavailable, "the device was lost", ""};
    return oracle_.get();
  }

  std::optional<Work> Next() {
    std::unique_lock guard(mutex_);
    wake_.wait(guard, [this] { return stopping_ || !work_.empty(); });
    if (stopping_) return std::nullopt;
    Work next = std::move(work_.front());
    work_.pop_front();
    return next;
  }

  void JudgeOne(Oracle& oracle, const Job& job) {
    const double begin = MonotonicSeconds();
    Result<Verdict> verdict = Caught([&] { return oracle.Judge(job); });
    Completed completed;
    completed.key = job.key;
    if (verdict.ok()) {
      completed.verdict = std::move(verdict).value();
    } else {
      completed.verdict.outcome = Inconclusive{"the device was lost: " + verdict.error().Line()};
      Reopen(verdict.error());
    }
    completed.gpu_seconds = MonotonicSeconds() - begin;
    const std::lock_guard guard(mutex_);
    measuring_seconds_ += completed.gpu_seconds;
    done_.push_back(std::move(completed));
    --pending_;
    wake_.notify_all();
  }

  // Not judged, and whoever asks is told why.
  void Drop(const Error& why) {
    const std::lock_guard guard(mutex_);
    if (!failure_) failure_ = why;
    --pending_;
    wake_.notify_all();
  }

  // The oracle's context is gone; a new one may work. If not, everybody who asks is told why.
  void Reopen(const Error& lost) {
    oracle_.reset();
    Result<std::unique_ptr<Oracle>> again = Caught([this] { return Oracle::Open(options_, gpu_); });
    if (again.ok()) {
      oracle_ = std::move(again).value();
      return;
    }
    const std::lock_guard guard(mutex_);
    failure_ =
        Error{lost.code, lost.message + "; opening the device again: " + again.error().message,
              again.error().fix};
  }

  const LocalDeviceOptions options_;
  const cuda::DeviceProperties gpu_;
  const std::unique_ptr<GpuTurns> turns_;
  DeviceInfo info_;
  std::unique_ptr<Oracle> oracle_;  // the thread's alone

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Work> work_;
  std::vector<Completed> done_;
  size_t pending_ = 0;  // submitted and not yet in done_
  std::optional<Error> failure_;
  bool stopping_ = false;
  double measuring_seconds_ = 0;
  std::thread thread_;  // last: it uses everything above
};

namespace {

Result<cuda::DeviceProperties> FindGpu(const std::string& gpu) {
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  return driver->FindDevice(gpu);
}

}  // namespace

Result<std::string> ArchitectureOfGpu(const std::string& gpu) {
  return cuda::ArchitectureOf(TRY(FindGpu(gpu)));
}

LocalDevice::LocalDevice(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}
LocalDevice::~LocalDevice() = default;

Result<std::unique_ptr<LocalDevice>> LocalDevice::Open(LocalDeviceOptions options) {
  const cuda::DeviceProperties device = TRY(FindGpu(options.gpu));
  TRY(CreateDirectories(StateHome()));
  auto turns = std::make_unique<GpuTurns>(StateHome() / (device.uuid + ".lock"),
                                          "measuring on " + device.name + " " + device.uuid,
                                          options.lock_patience);
  if (options.runner_argv.empty()) {
    options.runner_argv = {ThisExecutable().string(), std::string(kRunnerSubcommand)};
  }
  if (options.program_argv.empty()) {
    options.program_argv = {ThisExecutable().string(), std::string(kProgramSubcommand)};
  }
  if (options.standalone_argv.empty()) {
    options.standalone_argv = {ThisExecutable().string(),
                               std::string(standalone::kStandaloneSubcommand)};
  }
  auto worker = std::make_unique<Worker>(std::move(options), device, std::move(turns));
  TRY(worker->Start());
  return std::unique_ptr<LocalDevice>(new LocalDevice(std::move(worker)));
}

const DeviceInfo& LocalDevice::Info() const { return worker_->info(); }

Status LocalDevice::Submit(std::vector<Job> jobs) { return worker_->Submit(std::move(jobs)); }

Result<std::vector<Completed>> LocalDevice::Collect(std::chrono::milliseconds patience) {
  return worker_->Collect(patience);
}

DeviceUse LocalDevice::Use() const { return worker_->Use(); }

Result<GpuTurns::Turn> LocalDevice::TakeTurn() { return worker_->TakeTurn(); }

Result<std::optional<std::string>> LocalDevice::DegenerateAnswer(const Task& task,
                                                                 const Workload& workload) {
  Result<std::optional<std::string>> answer = std::optional<std::string>();
  TRY(worker_->Ask([&](Oracle& oracle) { answer = oracle.DegenerateAnswer(task, workload); }));
  return answer;
}

Result<ModeChoices> LocalDevice::Choose(const Task& task, const Workload& workload,
                                        const ChoiceRequest& request) {
  Result<ModeChoices> choices = ModeChoices();
  TRY(worker_->Ask([&](Oracle& oracle) { choices = oracle.Choose(task, workload, request); }));
  return choices;
}

}  // namespace warpsmith::judge
