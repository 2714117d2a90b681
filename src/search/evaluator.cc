#include "search/evaluator.h"

#include <algorithm>
#include <utility>

#include "base/caught.h"
#include "base/clock.h"
#include "core/program_shim.h"

namespace warpsmith::search {
namespace {

constexpr std::chrono::milliseconds kNoWait{0};
constexpr std::chrono::milliseconds kShortWait{5};  // while another source may have news, too
constexpr std::chrono::milliseconds kLongWait{100};

}  // namespace

int DefaultCompileThreads() {
  constexpr int kCoresKept = 2;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - kCoresKept);
}

CompilePool::CompilePool(Compiler& compiler, std::string architecture, int threads)
    : compiler_(compiler), architecture_(std::move(architecture)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Serve(); });
}

CompilePool::~CompilePool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
  }
  work_came_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CompilePool::Add(std::string key, Candidate candidate) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back({std::move(key), std::move(candidate)});
  }
  work_came_.notify_one();
}

std::vector<CompilePool::Done> CompilePool::Collect(std::chrono::milliseconds patience) {
  std::unique_lock<std::mutex> lock(mutex_);
  work_done_.wait_for(lock, patience, [this] { return !done_.empty(); });
  return std::exchange(done_, {});
}

void CompilePool::Serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    work_came_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (closing_) return;
    Work work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Result<CompileOutcome> outcome =
        Caught([&] { return compiler_.Compile(work.candidate, architecture_); });
    lock.lock();
    done_.push_back({std::move(work.key), std::move(outcome)});
    work_done_.notify_one();
  }
}

Evaluator::Evaluator(const Seams& seams, int compile_threads, bool any_order)
    : seams_(seams), any_order_(any_order) {
  const DeviceInfo& info = seams_.device.Info();
  if (!info.needs_artifacts) return;
  CHECK(seams_.compiler != nullptr);
  const int threads = compile_threads > 0 ? compile_threads : DefaultCompileThreads();
  compilers_ = std::make_unique<CompilePool>(*seams_.compiler, info.architecture, threads);
}

Status Evaluator::Begin(const Job& job) {
  if (finished_.contains(job.key) || jobs_.contains(job.key)) return {};
  if (seams_.store != nullptr) {
    // The device is part of the question: a verdict of another GPU does not answer it.
    if (auto known = TRY(seams_.store->FindVerdict(job.key, seams_.device.Info().uuid))) {
      known->gpu_seconds = 0;  // paid for by whoever measured it
      Finish(std::move(*known));
      return {};
    }
  }
  line_.push_back(job.key);
  jobs_.emplace(job.key, job);
  if (compilers_ == nullptr) return {};
  auto whole = WithProgramShim(job.candidate, job.task, job.workload);
  if (!whole.ok()) {
    Fail(job.key, whole.error());
    return {};
  }
  compilers_->Add(job.key, std::move(*whole));
  ++compiling_;
  return {};
}

Result<bool> Evaluator::SubmitNext() {
  // What did not compile has its answer already; what failed is waited at until it is taken.
  const auto is_answered = [this](const std::string& key) {
    const auto found = finished_.find(key);
    return !jobs_.contains(key) && (found == finished_.end() || found->second.ok());
  };
  while (!line_.empty() && is_answered(line_.front())) line_.pop_front();
  const auto is_ready = [this](const std::string& key) {
    const auto job = jobs_.find(key);
    return job != jobs_.end() && (compilers_ == nullptr || job->second.artifact.has_value());
  };
  auto at = line_.begin();
  while (at != line_.end() && !is_ready(*at)) at = any_order_ ? std::next(at) : line_.end();
  if (at == line_.end()) return false;
  const auto next = jobs_.find(*at);
  std::vector<Job> batch;
  batch.push_back(std::move(next->second));
  jobs_.erase(next);
  line_.erase(at);
  TRY(seams_.device.Submit(std::move(batch)));
  ++on_device_;
  return true;
}

Status Evaluator::Wait() {
  if (compiling_ > 0) {
    for (CompilePool::Done& done : compilers_->Collect(on_device_ > 0 ? kNoWait : kLongWait)) {
      --compiling_;
      Compiled(done.key, std::move(done.outcome));
    }
  }
  if (on_device_ > 0) {
    for (Completed& completed :
         TRY(seams_.device.Collect(compiling_ > 0 ? kShortWait : kLongWait))) {
      --on_device_;
      Finish(std::move(completed));
    }
  }
  return {};
}

Result<std::optional<Completed>> Evaluator::Take(const std::string& key) {
  auto found = finished_.extract(key);
  if (found.empty()) return std::optional<Completed>();
  return std::optional(TRY(std::move(found.mapped())));
}

void Evaluator::Compiled(const std::string& key, Result<CompileOutcome> outcome) {
  if (!outcome.ok()) return Fail(key, outcome.error());
  const auto job = jobs_.find(key);
  if (const auto* failure = std::get_if<CompileFailed>(&*outcome)) {
    Finish({key, VerdictOn(job->second.protocol, *failure), 0});
    jobs_.erase(job);
  } else {
    job->second.artifact = std::get<Artifact>(std::move(*outcome));
  }
}

void Evaluator::Refuse(const Job& job, const Rejected& refusal) {
  Finish({job.key, VerdictOn(job.protocol, refusal), 0});
}

void Evaluator::Finish(Completed completed) {
  std::string key = completed.key;
  finished_.insert_or_assign(std::move(key), std::move(completed));
}

void Evaluator::Fail(const std::string& key, Error error) {
  jobs_.erase(key);
  finished_.insert_or_assign(key, std::move(error));
}

// What was found out before the device was asked.
Verdict Evaluator::VerdictOn(const Protocol& protocol, Outcome outcome) const {
  const DeviceInfo& device = seams_.device.Info();
  Verdict verdict{std::move(outcome), {}};
  verdict.evidence.device = device.name;
  verdict.evidence.device_uuid = device.uuid;
  verdict.evidence.driver = device.driver;
  verdict.evidence.architecture = device.architecture;
  verdict.evidence.protocol = ProtocolId(protocol);
  verdict.evidence.date = UtcTimestamp();
  return verdict;
}

}  // namespace warpsmith::search
