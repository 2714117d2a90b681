// Seam: where candidates are judged. Works in batches, so that proposing and measuring need not
// share a machine.
#ifndef WARPSMITH_CORE_DEVICE_H_
#define WARPSMITH_CORE_DEVICE_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/artifact.h"
#include "core/candidate.h"
#include "core/protocol.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith {

struct DeviceInfo {
  std::string name, uuid, driver, architecture;  // "NVIDIA H200", "GPU-...", "580.95", "sm_90a"
  int sm_count = 0;
  int max_shared_bytes_per_block = 0;
  int64_t l2_bytes = 0, memory_bytes = 0;
  double max_sm_mhz = 0;
  double hbm_bytes_per_s = 0, l2_bytes_per_s = 0, tensor_f16_flops = 0;  // for floors
  bool needs_artifacts = true;  // false: answers from a recording
  std::string origin;           // "local", or the recording's file
};

// The number in "sm_90a" (90), 0 for anything but a number and no letter, 'a' or 'f'.
int ArchitectureNumber(std::string_view architecture);

// Content key of a measurement: candidate (sources, plan, flags), task, workload sizes, protocol.
// Artifact hash, toolchain and device are evidence beside it, not part of it.
std::string MeasurementKey(const Candidate& candidate, const Task& task, const Workload& workload,
                           const Protocol& protocol);

struct Job {
  std::string key;  // MeasurementKey
  Task task;
  Workload workload;
  Candidate candidate;
  std::optional<Artifact> artifact;  // present when the device needs it
  Protocol protocol;
};

struct Completed {
  std::string key;
  Verdict verdict;
  double gpu_seconds = 0;  // time the job held the device
};

class Device {
 public:
  virtual ~Device() = default;
  // Of the device that answers: for a recording, of the one that was measured on.
  virtual const DeviceInfo& Info() const = 0;
  // Puts the jobs in line and does not wait for them. Each one is answered by Collect, once.
  virtual Status Submit(std::vector<Job> jobs) = 0;
  // What has been finished since the last call; waits up to `patience` for the first. Empty when
  // nothing came in time. Errors are the harness's (kNotRecorded names what was asked for).
  virtual Result<std::vector<Completed>> Collect(std::chrono::milliseconds patience) = 0;
};

// What a file of measurements begins with: where, when and by what it was made.

// "GPU-1a2b3c4d" of "GPU-1a2b3c4d-...": enough to tell one GPU from another. "none" where empty.
std::string ShortUuid(std::string_view uuid);

// A command line as one text; of absolute paths only the last component, since a machine's folders
// mean nothing to a reader. Line ends become blanks.
std::string CommandText(const std::vector<std::string>& arguments);

// The commit that this program was built from; "unknown" outside a checkout.
std::string CommitText();

// "NVIDIA H200, GPU-1a2b3c4d, driver 580.95, 2026-11-21T09:15:02Z, commit 0123abc, COMMAND"
std::string ProvenanceText(const DeviceInfo& device, std::string_view command);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_DEVICE_H_
