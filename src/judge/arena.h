// The oracle's memory for one problem: secret contents, the slots that runners see, and references.
//
//   oracle only:  contents[a][P], contents[b][P]; check inputs; references of both
//   shared:       slots of A, of B, of C (guards between them); one exact mapping of each
//
// References are never freed while a runner lives that could be handed their pages: the arena goes
// after its runners.
#ifndef WARPSMITH_JUDGE_ARENA_H_
#define WARPSMITH_JUDGE_ARENA_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/memory.h"
#include "cuda/shared_memory.h"
#include "judge/correctness.h"
#include "judge/oracle_device.h"
#include "judge/problem.h"
#include "judge/slot_plan.h"
#include "util/random.h"
#include "util/result.h"

namespace warpsmith::judge {

// Where one expected output lies, in the oracle's own memory.
struct ReferenceAddress {
  uint64_t product = 0, magnitude = 0;
};

struct CheckContents {
  CheckInput input = CheckInput::kNormal;
  std::array<uint64_t, kInputs> contents{};
  ReferenceAddress reference;
};

class Arena {
 public:
  static Result<std::unique_ptr<Arena>> Create(OracleDevice& device, std::string id,
                                               const GemmProblem& problem, const ArenaPlan& plan,
                                               Random& random);

  const std::string& id() const { return id_; }
  const GemmProblem& problem() const { return problem_; }
  const ArenaPlan& plan() const { return plan_; }
  const std::array<Assignment, kInputs>& assignments() const { return assignments_; }
  const Region& slots(size_t role) const { return slots_.at(role); }
  const Region& exact(size_t role) const { return exact_.at(role); }
  uint64_t guard_secret() const { return guard_secret_; }
  const std::vector<CheckContents>& checks() const { return checks_; }

  // For the runner: sizes and descriptors (the caller closes them) of A, B, C, exact A, B, C.
  std::vector<int64_t> mapped_bytes() const;
  Result<std::vector<int>> Export() const;

  // New contents for the timed launches (and, with `checks`, for the check inputs).
  Status Renew(Random& random, bool checks);
  // Moves the contents to other slots, and writes all of them anew.
  Status Reassign(Random& random);
  // Puts a check input into the exact mappings.
  Status StageCheck(const CheckContents& check);
  Status RefillGuards();

  // Computes what is missing. Waits for the device.
  Status EnsureReferences(const BatchPlan& batch);
  ReferenceAddress ReferenceOf(const std::array<int, kInputs>& content) const;
  uint64_t ContentAddress(size_t input, int content) const;

 private:
  Arena(OracleDevice& device, std::string id, const GemmProblem& problem, const ArenaPlan& plan)
      : device_(device), id_(std::move(id)), problem_(problem), plan_(plan) {}
  Status Allocate();
  Status MapShared(size_t role);
  Status FillContents(Random& random);
  Status FillChecks(Random& random);
  Status FillOperand(uint64_t target, size_t input, Fill kind, uint64_t seed);
  Status ComputeReferences(const std::vector<ReferenceEntry>& entries);

  OracleDevice& device_;
  std::string id_;
  GemmProblem problem_;
  ArenaPlan plan_;
  uint64_t guard_secret_ = 0;
  std::vector<cuda::PhysicalMemory> shared_;
  std::vector<cuda::Mapping> mappings_;
  std::array<Region, kInputs + 1> slots_, exact_;
  std::array<cuda::DeviceBuffer, kInputs> contents_;
  std::array<cuda::DeviceBuffer, kInputs> check_contents_;
  cuda::DeviceBuffer references_, check_references_;
  std::vector<CheckContents> checks_;
  std::vector<bool> computed_;
  std::array<Assignment, kInputs> assignments_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ARENA_H_
