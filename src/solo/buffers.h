// The tensors of a stand-alone run, each an allocation of exactly its size.
#ifndef WARPSMITH_SOLO_BUFFERS_H_
#define WARPSMITH_SOLO_BUFFERS_H_

#include <filesystem>
#include <vector>

#include "cuda/memory.h"
#include "launch/prepared_plan.h"
#include "solo/job.h"
#include "util/result.h"

namespace warpsmith::solo {

// One per tensor of the task, in its order. An access one element past a tensor is outside of every
// allocation. Inputs are filled; outputs are left as the driver gave them, so that reading one
// before it was written is an uninitialised read.
struct Buffers {
  std::vector<cuda::DeviceBuffer> memory;
  std::vector<launch::Binding> bindings;
};

Result<Buffers> MakeBuffers(const SoloJob& job, const std::filesystem::path& dir);

}  // namespace warpsmith::solo

#endif  // WARPSMITH_SOLO_BUFFERS_H_
