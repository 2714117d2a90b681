// CUPTI: which kernels ran, and when, by the device's clock. Counter-free, so it needs no rights.
// Optional: without the library, Start() is kUnavailable and nothing else is lost.
#ifndef WARPSMITH_CUDA_CUPTI_H_
#define WARPSMITH_CUDA_CUPTI_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

struct KernelRecord {
  std::string name;
  uint32_t stream = 0;
  int64_t start_ns = 0, end_ns = 0;
  std::array<int32_t, 3> grid{}, block{};
  int registers_per_thread = 0;
  int64_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
  uint32_t graph_node = 0;  // 0: not launched by a graph
};

// A copy or a fill that the device carried out.
struct TransferRecord {
  enum class Kind : uint8_t { kCopy, kFill };
  Kind kind = Kind::kCopy;
  uint32_t stream = 0;
  int64_t start_ns = 0, end_ns = 0;
  int64_t bytes = 0;
  uint32_t graph_node = 0;  // 0: not part of a graph
};

// A stream was told to wait for an event: another stream's work is joined into it.
struct JoinRecord {
  uint32_t stream = 0;
  int64_t at_ns = 0;  // when the host said so
};

struct ActivityRecords {
  std::vector<KernelRecord> kernels;      // in order of start
  std::vector<TransferRecord> transfers;  // in order of start
  std::vector<JoinRecord> joins;
};

// Collection is process-wide; one trace at a time. Tracing slows launches, so never time beside it.
class KernelTrace {
 public:
  // kUnavailable: no CUPTI of a version that we know. kBusy: a trace is running in this process.
  static Result<KernelTrace> Start();
  KernelTrace(KernelTrace&& other) noexcept;
  KernelTrace& operator=(KernelTrace&&) = delete;
  ~KernelTrace();  // discards what was not asked for

  // Ends the trace. Synchronise the device first. kIo when records were dropped.
  Result<ActivityRecords> Stop();

 private:
  KernelTrace() = default;
  bool running_ = true;
};

Result<std::string> CuptiVersion();  // "CUPTI 130001"; needs no GPU

// Now, on the clock that records are stamped with.
Result<int64_t> CuptiNowNs();

// What records call a stream of the current context; null: the default stream.
Result<uint32_t> CuptiStreamId(CUstream_st* stream);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_CUPTI_H_
