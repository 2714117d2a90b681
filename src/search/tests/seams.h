// Seams for tests of the loop: a store, a device and a compiler in memory.
#ifndef WARPSMITH_SEARCH_TESTS_SEAMS_H_
#define WARPSMITH_SEARCH_TESTS_SEAMS_H_

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/compiler.h"
#include "core/device.h"
#include "core/store.h"

namespace warpsmith::search {

class MemoryStore : public Store {
 public:
  int calls_left = std::numeric_limits<int>::max();  // then every call fails

  Status BeginRun(const RunRecord& run) override {
    TRY(Reach());
    runs_.emplace(run.id, run);
    return {};
  }
  Result<std::optional<RunRecord>> FindRun(const std::string& run_id) override {
    TRY(Reach());
    const auto found = runs_.find(run_id);
    return found == runs_.end() ? std::nullopt : std::optional(found->second);
  }
  Result<std::vector<RunRecord>> Runs() override {
    TRY(Reach());
    std::vector<RunRecord> runs;
    for (const auto& [id, run] : runs_) runs.push_back(run);
    return runs;
  }
  Result<JobLease> LeaseJob(const std::string& /*run*/, int64_t index, const std::string& /*key*/,
                            const std::string& /*worker*/) override {
    TRY(Reach());
    return JobLease{index, 1};
  }
  Status FinishStep(const std::string& run_id, const JobLease& /*lease*/, const std::string& key,
                    const Step& step) override {
    TRY(Reach());
    steps_[run_id].push_back(step);
    verdicts_[key] = {key, step.verdict, step.cost.gpu_seconds};
    return {};
  }
  Result<std::vector<Step>> Steps(const std::string& run_id) override {
    TRY(Reach());
    return steps_[run_id];
  }
  Result<std::optional<Completed>> FindVerdict(const std::string& key,
                                               const std::string& /*uuid*/) override {
    TRY(Reach());
    const auto found = verdicts_.find(key);
    return found == verdicts_.end() ? std::nullopt : std::optional(found->second);
  }
  Result<bool> ImportVerdict(const Job& /*job*/, const Completed& completed) override {
    TRY(Reach());
    return verdicts_.insert_or_assign(completed.key, completed).second;
  }

 private:
  Status Reach() {
    if (calls_left-- > 0) return {};
    return Error{ErrorCode::kIo, "the disk is full", "make room"};
  }

  std::map<std::string, RunRecord> runs_;
  std::map<std::string, std::vector<Step>> steps_;
  std::map<std::string, Completed> verdicts_;
};

// Candidate i (its one source says "i") takes 100 - i us; the bar takes 100. From 11 on it is less
// exact. Answers come one at a time, the latest submitted first.
class BackwardDevice : public Device {
 public:
  BackwardDevice() {
    info_.name = "test";
    info_.uuid = "GPU-test";
    info_.architecture = "sm_90a";
  }
  const DeviceInfo& Info() const override { return info_; }
  Status Submit(std::vector<Job> jobs) override {
    std::move(jobs.begin(), jobs.end(), std::back_inserter(jobs_));
    most_at_once_ = std::max(most_at_once_, jobs_.size());
    return {};
  }
  Result<std::vector<Completed>> Collect(std::chrono::milliseconds /*patience*/) override {
    std::vector<Completed> completed;
    if (jobs_.empty()) return completed;
    const Job job = std::move(jobs_.back());
    jobs_.pop_back();
    judged_.push_back(job.key);
    completed.push_back({job.key, VerdictOn(job), 0.5});
    return completed;
  }
  const std::vector<std::string>& judged() const { return judged_; }
  size_t most_at_once() const { return most_at_once_; }

 private:
  static Verdict VerdictOn(const Job& job) {
    const double us = 100 - std::stod(job.candidate.sources.at("k.cu"));
    ModeTiming mode;
    mode.candidate.median_us = us;
    mode.comparisons = {{"bar", 100 / us, {99 / us, 101 / us}, Finding::kFaster}};
    Passed passed;
    passed.level = job.protocol.level;
    passed.correctness.max_deviation = {us < 90 ? 1.0 : 0.01};
    passed.timings = {{job.workload.name, {mode}}};
    return {passed, {}};
  }

  DeviceInfo info_;
  std::vector<Job> jobs_;
  std::vector<std::string> judged_;
  size_t most_at_once_ = 0;
};

// Every fifth candidate does not compile.
class FifthFails : public Compiler {
 public:
  Result<CompileOutcome> Compile(const Candidate& candidate,
                                 const std::string& architecture) override {
    ++compiled_;
    const int number = std::stoi(candidate.sources.at("k.cu"));
    if (number == broken_at) return Error{ErrorCode::kUnavailable, "no compiler", ""};
    if (number % 5 == 4) return CompileOutcome(CompileFailed{"error", "log", false});
    Artifact artifact;
    artifact.architecture = architecture;
    return CompileOutcome(artifact);
  }
  int compiled() const { return compiled_; }

  int broken_at = -1;

 private:
  std::atomic<int> compiled_{0};
};

inline Candidate NumberedCandidate(int64_t number) {
  Candidate candidate;
  candidate.sources["k.cu"] = std::to_string(number);
  candidate.entry = "k.cu";
  return candidate;
}

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_TESTS_SEAMS_H_
