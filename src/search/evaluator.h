// Candidate -> verdict: remembered, or compiled and judged. Nothing is measured twice.
#ifndef WARPSMITH_SEARCH_EVALUATOR_H_
#define WARPSMITH_SEARCH_EVALUATOR_H_

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/compiler.h"
#include "core/device.h"
#include "core/store.h"
#include "search/compile_pool.h"

namespace warpsmith::search {

// What every candidate of a run is judged on.
struct Question {
  Task task;
  Workload workload;
  Protocol protocol;
};

// Works on many candidates at once, but hands them to the device in the order in which they were
// begun: so what the device has is always the next in line, and all of it can be kept when a run
// stops. Belongs to one thread.
class Evaluator {
 public:
  // `compiler` may be null for a device that needs no artifacts.
  Evaluator(Question question, Compiler* compiler, int compile_threads, Device& device,
            Store& store);

  std::string KeyOf(const Candidate& candidate) const;

  // Begins unless the key is being worked on already. Verdicts the store knows are finished at
  // once, at no cost.
  Status Begin(const std::string& key, const Candidate& candidate);

  // Finishes the key with this verdict: there is no candidate to look at. Free, and never in line.
  void Refuse(const std::string& key, const Rejected& refusal);

  // Hands the next candidate in line to the device, if it is ready; false: it is not, or none is.
  Result<bool> SubmitNext();

  // Waits a little for compilers and device, and takes in what they finished.
  Status Wait();

  bool IsFinished(const std::string& key) const { return finished_.contains(key); }
  // The answer, once it is there; it is forgotten here.
  std::optional<Completed> Take(const std::string& key);
  int on_device() const { return on_device_; }

 private:
  Status Compiled(const std::string& key, const Result<CompileOutcome>& outcome);
  void Finish(Completed completed) { finished_[completed.key] = std::move(completed); }
  Verdict VerdictOn(Outcome outcome) const;

  const Question question_;
  Device& device_;
  Store& store_;
  std::unique_ptr<CompilePool> compilers_;  // null: none needed
  std::deque<std::string> line_;            // begun, not handed to the device; in order
  std::map<std::string, Job> jobs_;         // those in line
  std::map<std::string, Completed> finished_;
  int compiling_ = 0, on_device_ = 0;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_EVALUATOR_H_
