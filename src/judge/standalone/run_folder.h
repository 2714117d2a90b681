// What a stand-alone run reads and writes: its folder, its tensors (each an allocation of exactly
// its size), and the log of what the device did.
#ifndef WARPSMITH_JUDGE_STANDALONE_RUN_FOLDER_H_
#define WARPSMITH_JUDGE_STANDALONE_RUN_FOLDER_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/candidate.h"
#include "core/task.h"
#include "cuda/memory.h"
#include "cuda/plan/prepared_plan.h"

namespace warpsmith::standalone {

// --- The folder of a stand-alone run: what one candidate needs to be launched with nobody watching
// but a tool (a sanitizer, a profiler).
//
//   DIR/job.json {"version":1,"task":...,"workload":...,"candidate":...,"architecture":...}
//   DIR/image             cubin (form `kernel`) or shared library (form `program`)
//   DIR/inputs/<tensor>   raw bytes, optional: contents are generated where there are none
//   DIR/finished          written last by the run: its absence means that the run did not end well

inline constexpr int kStandaloneJobVersion = 1;

struct StandaloneJob {
  Task task;
  Workload workload;
  Candidate candidate;
  std::string architecture;  // that the image was built for
};

// Makes `dir`. Of the task only what a run needs goes in: no rivals, no reference, no other
// workloads. kBadInput for a tensor whose name cannot be a file's.
Status WriteStandaloneJob(const std::filesystem::path& dir, const StandaloneJob& job,
                          std::string_view image);

// kBadInput for what is no job, kVersion for one that another warpsmith wrote.
Result<StandaloneJob> ReadStandaloneJob(const std::filesystem::path& dir);

std::filesystem::path ImagePath(const std::filesystem::path& dir);
std::filesystem::path InputPath(const std::filesystem::path& dir, const std::string& tensor);
std::filesystem::path FinishedPath(const std::filesystem::path& dir);

// What a stand-alone run reads: reproducible contents made on the host, one tensor at a time.

// After so many elements drawn contents repeat: what a sanitizer or a profiler sees does not depend
// on more, and a gigabyte of normal numbers takes minutes. A prime, so that rows differ.
inline constexpr int64_t kDistinctElements = 1'000'003;

// `elements` values of an input as the device sees them. kReference contents, which only the
// reference can draw, become numbers that no kernel trips over: zeros where the type is an integer
// (they may be indices), N(0, 1) elsewhere. kBadInput where the generator's bounds do not evaluate.
Result<std::string> MakeContents(const TensorSpec& tensor, const Sizes& sizes, int64_t elements,
                                 uint64_t seed);

// IEEE binary16 and bfloat16, rounded to nearest even; too large values become infinities.
uint16_t HalfBits(float value);
uint16_t BFloat16Bits(float value);

// One per tensor of the task, in its order. An access one element past a tensor is outside of every
// allocation. Inputs are filled; outputs are left as the driver gave them, so that reading one
// before it was written is an uninitialised read.
struct Buffers {
  std::vector<cuda::DeviceBuffer> memory;
  std::vector<plan::Binding> bindings;
};

Result<Buffers> MakeBuffers(const StandaloneJob& job, const std::filesystem::path& dir);

}  // namespace warpsmith::standalone

// --- What the device did during a stand-alone run, as CUPTI saw it from inside that process. For a
// program this is advice only: its code runs in the same process and could have written anything.

namespace warpsmith::cuda {
struct ActivityRecords;
}

namespace warpsmith::standalone {

enum class ActivityKind : uint8_t {
  kKernel,
  kCopy,
  kFill,
  kJoin,  // the stream was told to wait for another's work; takes no time
};

struct ActivityRecord {
  ActivityKind kind = ActivityKind::kKernel;
  std::string name;  // of a kernel
  uint32_t stream = 0;
  int64_t start_ns = 0, end_ns = 0;
  int64_t bytes = 0;      // of a transfer
  bool in_graph = false;  // launched by a graph
};

// One call, on the clock of the records. `returned_ns` is when the candidate's code came back,
// `idle_ns` when the device had nothing left to do.
struct ActivityCall {
  int64_t begin_ns = 0, returned_ns = 0, idle_ns = 0;
};

struct ActivityLog {
  std::string tracer;   // "CUPTI 130001"
  std::string absent;   // not empty: there are no records, and why
  uint32_t stream = 0;  // the call's own; 0: not known
  std::vector<ActivityCall> calls;
  std::vector<ActivityRecord> records;  // in order of start
};

// What CUPTI saw as one list, in order of start. Joins are part of it: without them a stream that
// is joined before the call's end would look like one that nobody waits for.
std::vector<ActivityRecord> RecordsOf(cuda::ActivityRecords seen);

// Either of:
//   {"version":1,"tracer":...,"stream":7,"calls":[[begin,returned,idle],...],"records":[{...},...]}
//   {"version":1,"absent":"why"}
std::string ActivityLogToText(const ActivityLog& log);
// Limits: 1,048,576 records, 65,536 calls, names of 64 KiB.
Result<ActivityLog> ActivityLogFromText(std::string_view source, std::string_view text);

}  // namespace warpsmith::standalone

#endif  // WARPSMITH_JUDGE_STANDALONE_RUN_FOLDER_H_
