// The candidate of a stand-alone run as something to call.
#ifndef WARPSMITH_JUDGE_STANDALONE_CALLEE_H_
#define WARPSMITH_JUDGE_STANDALONE_CALLEE_H_

#include <filesystem>
#include <functional>

#include "base/result.h"
#include "cuda/context.h"
#include "cuda/stream.h"
#include "judge/standalone/buffers.h"
#include "judge/standalone/job.h"

namespace warpsmith::standalone {

// Submits one execution; the caller synchronises.
using Callee = std::function<Status()>;

// A `kernel` candidate's plan on plain launches (no graph: tools see every launch), its workspaces
// of exact size too; or a `program` candidate's entry. What the callee refers to must outlive it.
Result<Callee> MakeCallee(const StandaloneJob& job, const std::filesystem::path& dir,
                          const cuda::Context& context, const cuda::Stream& stream,
                          const Buffers& buffers);

}  // namespace warpsmith::standalone

#endif  // WARPSMITH_JUDGE_STANDALONE_CALLEE_H_
