// The tensors of a stand-alone run, each an allocation of exactly its size.
#ifndef WARPSMITH_JUDGE_STANDALONE_BUFFERS_H_
#define WARPSMITH_JUDGE_STANDALONE_BUFFERS_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "cuda/memory.h"
#include "cuda/plan/prepared_plan.h"
#include "judge/standalone/job.h"

namespace warpsmith::standalone {

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

#endif  // WARPSMITH_JUDGE_STANDALONE_BUFFERS_H_
