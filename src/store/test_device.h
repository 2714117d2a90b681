// A device for tests and benchmarks that needs no artifacts: whatever was submitted is answered by
// a function of the job when the device is asked next.
#ifndef WARPSMITH_STORE_TEST_DEVICE_H_
#define WARPSMITH_STORE_TEST_DEVICE_H_

#include <functional>
#include <utility>
#include <vector>

#include "core/device.h"
#include "store/test_facts.h"

namespace warpsmith::store {

class AnsweringDevice : public Device {
 public:
  using Answer = std::function<Verdict(const Job& job)>;
  // `gpu_seconds`: what each verdict cost.
  AnsweringDevice(Answer answer, double gpu_seconds)
      : answer_(std::move(answer)), gpu_seconds_(gpu_seconds), info_(TestDevice()) {
    info_.needs_artifacts = false;
  }

  const DeviceInfo& Info() const override { return info_; }
  Status Submit(std::vector<Job> jobs) override {
    for (Job& job : jobs) jobs_.push_back(std::move(job));
    return {};
  }
  Result<std::vector<Completed>> Collect(std::chrono::milliseconds /*patience*/) override {
    std::vector<Completed> completed;
    for (const Job& job : std::exchange(jobs_, {})) {
      ++judged_;
      completed.push_back({job.key, answer_(job), gpu_seconds_});
    }
    return completed;
  }
  int judged() const { return judged_; }

 private:
  const Answer answer_;
  const double gpu_seconds_;
  DeviceInfo info_;
  std::vector<Job> jobs_;
  int judged_ = 0;
};

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_TEST_DEVICE_H_
