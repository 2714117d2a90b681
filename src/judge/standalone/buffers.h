// The tensors of a stand-alone run, each an allocation of exactly its size.
#ifndef WARPSMITH_JUDGE_STANDALONE_BUFFERS_H_
#define WARPSMITH_JUDGE_STANDALONE_BUFFERS_H_

#include <filesystem>
#include <vector>

#include "base/result.h"
#include "cuda/memory.h"
#include "cuda/plan/prepared_plan.h"
#include "judge/standalone/job.h"

namespace warpsmith::standalone {

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
