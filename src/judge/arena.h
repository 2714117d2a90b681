// The oracle's memory for one problem: secret contents, the slots that runners see, and references.
//
//   oracle only:  contents[input][P + checks]; expected outputs of every combination and check
//   shared:       slots of every tensor (guards between them); one exact mapping of each
//
// References are never freed while a runner lives that could be handed their pages: the arena goes
// after its runners.
#ifndef WARPSMITH_JUDGE_ARENA_H_
#define WARPSMITH_JUDGE_ARENA_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "cuda/memory.h"
#include "cuda/shared_memory.h"
#include "judge/correctness.h"
#include "judge/oracle_device.h"
#include "judge/reference_stage.h"
#include "judge/resolved_task.h"
#include "judge/slot_plan.h"

namespace warpsmith::judge {

// One expected output, in the oracle's own memory.
struct ExpectedTensor {
  uint64_t values = 0;     // of ResolvedTask::expected's type
  uint64_t magnitude = 0;  // gemm: FP32 sum |a||b| of each element; else 0
  double largest = 0;      // else: the largest |value|
};
using ExpectedOutputs = std::vector<ExpectedTensor>;

struct CheckContents {
  CheckInput input = CheckInput::kNormal;
  int content = 0;    // of every input
  int reference = 0;  // index for ReferenceAt()
};

// What computes references of a problem whose reference is not built in.
struct ReferenceProcess {
  ReferenceStage stage;
  std::unique_ptr<ReferenceProvider> provider;
};

// Which share of a set's elements is drawn anew to make its near duplicate: between two elements
// and one in a thousand, as the seed says, every order of magnitude as likely. So no sample of the
// inputs tells all pairs apart.
float RedrawnShare(int64_t elements, uint64_t seed);

class Arena {
 public:
  // `process` is empty for the built-in reference.
  static Result<std::unique_ptr<Arena>> Create(OracleDevice& device, std::string id,
                                               const ResolvedTask& problem, const ArenaPlan& plan,
                                               std::unique_ptr<ReferenceProcess> process,
                                               Random& random);

  const std::string& id() const { return id_; }
  const ResolvedTask& problem() const { return problem_; }
  const ArenaPlan& plan() const { return plan_; }
  const std::vector<Assignment>& assignments() const { return assignments_; }
  const Region& slots(size_t role) const { return slots_.at(role); }
  const Region& exact(size_t role) const { return exact_.at(role); }
  // How the reference's process computed its newest answer; empty: as the task says.
  std::string AboutReference() const { return process_ ? process_->provider->About() : ""; }
  uint64_t guard_secret() const { return guard_secret_; }
  const std::vector<CheckContents>& checks() const { return checks_; }

  // For the runner: sizes and descriptors (the caller closes them) of the slots by role, then of
  // the exact mappings by role.
  std::vector<int64_t> mapped_bytes() const;
  Result<std::vector<int>> Export() const;

  // New contents for the timed launches (and, with `checks`, for the check inputs), so that nothing
  // that an earlier process saw or kept is an answer any more.
  Status Renew(Random& random, bool checks);
  // Draws in other places, and other numbers of them, how the near duplicates differ. Of the
  // products and of what a reference draws there are none.
  Status RenewNearDuplicates(Random& random);
  // Moves the contents to other slots, and writes all of them anew: both of the following.
  Status Reassign(Random& random);
  void DrawAssignments(Random& random);
  // Writes what each slot holds by the assignment, and waits for it.
  Status FillSlots();
  // Exchanges the contents of two slots of an input. Ordered by the device's stream; not waited
  // for.
  Status Swap(size_t input, int first_slot, int second_slot);
  // Puts a check input into the exact mappings.
  Status StageCheck(const CheckContents& check);
  // Writes the guards around all slots and exact mappings anew, and waits for it.
  Status RefillGuards();

  // Asks the reference's process about the first check once more: the answer is number 0 of the
  // references until ForgetSecondAnswer. Not for the built-in reference.
  Status ComputeSecondAnswer();
  Status ForgetSecondAnswer(Random& random);

  // Computes what is missing. Waits for the device.
  Status EnsureReferences(const BatchPlan& batch);
  // Of a launch's contents, or of a check's reference.
  ExpectedOutputs ReferenceOf(const std::vector<int>& content) const;
  ExpectedOutputs ReferenceAt(int index) const;
  uint64_t ContentAddress(size_t input, int content) const;

 private:
  Arena(OracleDevice& device, std::string id, const ResolvedTask& problem, const ArenaPlan& plan,
        std::unique_ptr<ReferenceProcess> process)
      : device_(device),
        id_(std::move(id)),
        problem_(problem),
        plan_(plan),
        process_(std::move(process)) {}
  void ChooseChecks();
  Status Allocate();
  Status MapSlots(size_t role);
  Status MapExact(size_t role);

  Status FillContents(Random& random);
  Status FillChecks(Random& random);
  Status FillOperand(uint64_t target, size_t input, Fill kind, uint64_t seed);
  // A set of inputs; `near` >= 0: like that set's, with few elements drawn anew.
  Status FillSet(int content, uint64_t seed, int near, bool mixed_scale);
  Status DrawSet(int content, int reference, uint64_t seed);

  int64_t ReferenceBytes() const;  // of one combination
  Status ComputeProducts(const std::vector<std::pair<int, std::vector<int>>>& missing);
  Status AskProcess(int reference, int content);
  Status TakeExpected(int reference);

  OracleDevice& device_;
  std::string id_;
  ResolvedTask problem_;
  ArenaPlan plan_;
  std::unique_ptr<ReferenceProcess> process_;
  uint64_t guard_secret_ = 0;
  std::vector<cuda::PhysicalMemory> shared_;
  std::vector<cuda::Mapping> mappings_;
  std::vector<Region> slots_, exact_;
  std::vector<cuda::DeviceBuffer> contents_;  // of each input
  cuda::DeviceBuffer references_;
  std::vector<CheckContents> checks_;
  std::vector<bool> computed_;                // by reference index
  std::vector<std::vector<double>> largest_;  // by reference index, then output
  std::vector<uint64_t> seeds_;               // of each set, for its near duplicates
  uint64_t first_check_seed_ = 0;
  std::vector<Assignment> assignments_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_ARENA_H_
