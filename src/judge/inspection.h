// The oracle's look at the shared memory after a runner has said "done".
#ifndef WARPSMITH_JUDGE_INSPECTION_H_
#define WARPSMITH_JUDGE_INSPECTION_H_

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/verdict.h"
#include "judge/arena.h"
#include "judge/correctness.h"

namespace warpsmith::judge {

struct Inspection {
  // Touch launches first, then timed ones, in the batch's order; one entry for a check launch.
  std::vector<OutputReport> outputs;
  // Damaged guards or outputs nobody was given ("out-of-bounds-write"), changed inputs
  // ("inputs-modified"). Comes before anything the outputs say: with changed inputs they mean
  // nothing.
  std::optional<Rejected> violation;
};

enum class Detail : uint8_t {
  kWorstElement,  // error and bound at the worst element of a wrong output
  kCountsOnly,
};

// Every output of the batch against its reference, every guard, every input slot against its
// content, every unused output slot for its poison. All of them after every batch: a kernel that is
// right, or keeps to its slots, only when it expects to be checked has no batch to cheat in.
Result<Inspection> InspectBatch(OracleDevice& device, Arena& arena, const BatchPlan& batch,
                                uint16_t poison, Detail detail);

// One pass over the outputs of the batch and nothing else, as fast as the memory is read: what they
// hold at this moment (OutputReport::content_hash, poison). Without references.
Result<std::vector<OutputReport>> HashOutputs(OracleDevice& device, const Arena& arena,
                                              const BatchPlan& batch, uint16_t poison);

// The outputs of the batch against their references, and nothing else.
Result<std::vector<OutputReport>> VerifyOutputs(OracleDevice& device, const Arena& arena,
                                                const BatchPlan& batch, uint16_t poison,
                                                Detail detail);

// The verification of one launch's outputs, made ready so that submitting it is a kernel's launch
// and nothing else: no copy, no fill, no wait.
struct PreparedVerification {
  std::function<Status()> submit;
  // After a Fetch() or Synchronize() of the device.
  std::function<Result<OutputReport>(Detail)> read;
};
// Reserves tables and results of the device, which hold until its next Synchronize().
Result<PreparedVerification> PrepareVerification(OracleDevice& device, const Arena& arena,
                                                 const PlannedLaunch& launch, uint16_t poison);

// The exact mappings after one launch on a check input.
Result<Inspection> InspectCheck(OracleDevice& device, Arena& arena, const CheckContents& check,
                                uint16_t poison);

// Tries zeros, a constant and a copy of A as answers to the normal check input. The name of one
// that the check takes for right: then the task is degenerate and measures nothing.
Result<std::optional<std::string_view>> TrivialAnswerThatPasses(OracleDevice& device, Arena& arena);

// How the reference's outputs number `answer` would do as an answer where number `right` is right.
Result<OutputReport> CompareReferences(OracleDevice& device, const Arena& arena, int answer,
                                       int right);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_INSPECTION_H_
