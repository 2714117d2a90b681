// One job's way to its verdict: the store remembers it, or it is compiled and judged.
#ifndef WARPSMITH_SEARCH_EVALUATOR_H_
#define WARPSMITH_SEARCH_EVALUATOR_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/compiler.h"
#include "core/device.h"
#include "core/store.h"

namespace warpsmith::search {

// Threads that compile candidates while others are being measured.

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

// The seams that candidates are judged through. All of them outlive what is made with them.
struct Seams {
  Device& device;
  Compiler* compiler = nullptr;  // may be null where the device needs no artifacts
  Store* store = nullptr;        // null: nothing is remembered, and nothing can be kept
};

// Works on many jobs at once, but hands them to the device in the order in which they were begun:
// so what the device has is always the next in line, and all of it can be kept when a run stops.
// What goes wrong with one job is told when that job's answer is taken, and nothing behind it is
// handed to the device; so every answer before it can be kept, too. With `any_order` what is ready
// goes to the device, whatever is before it. Belongs to one thread.
class Evaluator {
 public:
  // `compile_threads` of 0: DefaultCompileThreads().
  Evaluator(const Seams& seams, int compile_threads, bool any_order = false);

  // Begins the job unless its key is being worked on already. A verdict that the store knows is
  // finished at once, at no cost. `job` needs no artifact.
  Status Begin(const Job& job);

  // Finishes the job with this verdict: there is no candidate to look at. Free, and never in line.
  void Refuse(const Job& job, const Rejected& refusal);

  // Hands the next job in line to the device, if it is ready; false: it is not, or there is none.
  Result<bool> SubmitNext();

  // Waits a little for compilers and device, and takes in what they finished. Errors are the
  // device's, of which nobody knows whose job they are about.
  Status Wait();

  bool IsFinished(const std::string& key) const { return finished_.contains(key); }
  // The answer, once it is there, or what went wrong; it is forgotten here.
  Result<std::optional<Completed>> Take(const std::string& key);
  int on_device() const { return on_device_; }

 private:
  void Compiled(const std::string& key, Result<CompileOutcome> outcome);
  void Finish(Completed completed);
  void Fail(const std::string& key, Error error);
  Verdict VerdictOn(const Protocol& protocol, Outcome outcome) const;

  const Seams seams_;
  const bool any_order_;
  std::unique_ptr<CompilePool> compilers_;  // null: none needed
  std::deque<std::string> line_;            // begun, not handed to the device; in order
  std::map<std::string, Job> jobs_;         // those in line
  std::map<std::string, Result<Completed>> finished_;
  int compiling_ = 0, on_device_ = 0;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_EVALUATOR_H_
