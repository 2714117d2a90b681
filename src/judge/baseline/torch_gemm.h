// torch.matmul as a baseline, measured by a Python of the user's that has torch and a GPU.
#ifndef WARPSMITH_JUDGE_BASELINE_TORCH_GEMM_H_
#define WARPSMITH_JUDGE_BASELINE_TORCH_GEMM_H_

#include <chrono>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "cuda/gemm.h"

namespace warpsmith::baseline {

struct TorchOptions {
  std::string python;       // empty: $WARPSMITH_PYTHON, else python3
  std::string device_uuid;  // "GPU-..."; empty: the first
  std::chrono::milliseconds limit{120'000};
};

// Medians in microseconds.
struct TorchTimes {
  cuda::GemmShape shape;
  double device_us = 0;   // CUDA graph, hot L2
  double offline_us = 0;  // back to back on a stream
  double server_us = 0;   // single calls after random idle, L2 flushed, on the host's clock
};
struct TorchMeasured {
  std::string version, device;  // of torch, as torch names it
  std::vector<TorchTimes> times;
};
// No Python, no torch in it, or no CUDA in that torch: nothing is wrong, there is nothing to
// measure.
struct TorchAbsent {
  std::string reason;
};
using TorchOutcome = std::variant<TorchMeasured, TorchAbsent>;

// Errors: the script failed after torch was found, ran out of time, or answered nonsense.
Result<TorchOutcome> MeasureTorch(const std::vector<cuda::GemmShape>& shapes,
                                  const TorchOptions& options = {});

// The script's answer: the last line of its output. Exposed for tests.
Result<TorchOutcome> ReadTorchAnswer(std::string_view output);

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_TORCH_GEMM_H_
