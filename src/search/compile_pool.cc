#include "search/compile_pool.h"
#include "base/caught.h"

#include <algorithm>
#include <utility>

namespace warpsmith::search {

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

}  // namespace warpsmith::search
