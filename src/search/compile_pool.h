// Threads that compile candidates while others are being measured.
#ifndef WARPSMITH_SEARCH_COMPILE_POOL_H_
#define WARPSMITH_SEARCH_COMPILE_POOL_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/compiler.h"

namespace warpsmith::search {

// All cores but two (the judge's and ours), and at least one.
int DefaultCompileThreads();

class CompilePool {
 public:
  struct Done {
    std::string key;
    Result<CompileOutcome> outcome;
  };

  CompilePool(Compiler& compiler, std::string architecture, int threads);
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;
  ~CompilePool();  // what runs is waited for, what is queued is dropped

  // Compiled in the order of the calls; `key` comes back with the outcome.
  void Add(std::string key, Candidate candidate);
  // What has been finished since the last call; waits up to `patience` for the first.
  std::vector<Done> Collect(std::chrono::milliseconds patience);

 private:
  struct Work {
    std::string key;
    Candidate candidate;
  };
  void Serve();

  Compiler& compiler_;
  const std::string architecture_;
  std::mutex mutex_;  // guards everything below but the threads
  std::condition_variable work_came_, work_done_;
  std::deque<Work> queue_;
  std::vector<Done> done_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_COMPILE_POOL_H_
