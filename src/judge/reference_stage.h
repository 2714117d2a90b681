// The memory through which the oracle and a reference process exchange inputs and expected outputs:
// one exact mapping for each tensor, outputs in the type that the reference gives.
#ifndef WARPSMITH_JUDGE_REFERENCE_STAGE_H_
#define WARPSMITH_JUDGE_REFERENCE_STAGE_H_

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cuda/shared_memory.h"
#include "judge/oracle_device.h"
#include "judge/problem.h"
#include "judge/slot_plan.h"

namespace warpsmith::judge {

class ReferenceStage {
 public:
  static Result<ReferenceStage> Create(const OracleDevice& device, const Problem& problem);

  uint64_t AddressOf(size_t role) const { return regions_.at(role).AddressOf(0); }
  int64_t BytesOf(size_t role) const { return regions_.at(role).bytes; }
  // For the process: regions relative to their mappings, mapped sizes, descriptors (the caller
  // closes them), by role.
  std::vector<Region> regions() const;
  std::vector<int64_t> mapped_bytes() const;
  Result<std::vector<int>> Export() const;

 private:
  ReferenceStage() = default;
  std::vector<cuda::PhysicalMemory> memory_;
  std::vector<cuda::Mapping> mappings_;
  std::vector<Region> regions_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_REFERENCE_STAGE_H_
