// What the device did during a stand-alone run, as CUPTI saw it from inside that process. For a
// program this is advice only: its code runs in the same process and could have written anything.
#ifndef WARPSMITH_JUDGE_STANDALONE_ACTIVITY_LOG_H_
#define WARPSMITH_JUDGE_STANDALONE_ACTIVITY_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

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

// What CUPTI saw as one list, in order of start. Joins are part of it: without them a stream that is
// joined before the call's end would look like one that nobody waits for.
std::vector<ActivityRecord> RecordsOf(cuda::ActivityRecords seen);

// Either of:
//   {"version":1,"tracer":...,"stream":7,"calls":[[begin,returned,idle],...],"records":[{...},...]}
//   {"version":1,"absent":"why"}
std::string ActivityLogToText(const ActivityLog& log);
// Limits: 1,048,576 records, 65,536 calls, names of 64 KiB.
Result<ActivityLog> ActivityLogFromText(std::string_view source, std::string_view text);

}  // namespace warpsmith::standalone

#endif  // WARPSMITH_JUDGE_STANDALONE_ACTIVITY_LOG_H_
