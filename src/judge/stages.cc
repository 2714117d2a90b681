#include "judge/stages.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/phase.h"
#include "judge/inspection.h"
#include "judge/resolved_task.h"

namespace warpsmith::judge {
namespace {

constexpr size_t kMaxStages = 16;
constexpr int kMaxDrawnSets = 17;  // a reference that draws its inputs may take long for each

std::string StageId(const Task& task, const Workload& workload) {
  std::string id = TaskId(task);
  for (const auto& [name, value] : workload.sizes) id += fmt::format(" {}={}", name, value);
  return id;
}

// A drawing reference's plan, with fewer sets.
ArenaPlan Limited(ArenaPlan plan, int most) {
  if (plan.crossed || plan.contents <= most) return plan;
  plan.contents = plan.input_slots = most;
  plan.timed_launches = most - plan.touch_launches;
  plan.output_slots = most + std::max(1, most / 4);
  return plan;
}

}  // namespace

bool Stages::Has(const Task& task, const Workload& workload) const {
  const std::string id = StageId(task, workload);
  return std::any_of(stages_.begin(), stages_.end(),
                     [&](const auto& entry) { return entry.first == id; });
}

Result<Stage*> Stages::Of(const Task& task, const Workload& workload) {
  const std::string id = StageId(task, workload);
  const auto found = std::find_if(stages_.begin(), stages_.end(),
                                  [&](const auto& entry) { return entry.first == id; });
  if (found != stages_.end()) {
    std::rotate(found, found + 1, stages_.end());
    return &stages_.back().second;
  }
  if (const auto known = unfit_.find(id); known != unfit_.end()) return known->second;
  const Phase phase("stage");
  Result<Stage> stage = Build(id, task, workload);
  if (!stage.ok()) {
    // Only what is wrong with the task itself is remembered; a device that was full may do next
    // time.
    if (stage.error().code == ErrorCode::kBadInput) unfit_.emplace(id, stage.error());
    return stage.error();
  }
  stages_.emplace_back(id, std::move(stage).value());
  return &stages_.back().second;
}

Result<ArenaPlan> Stages::PlanFor(const Task& task, const Workload& workload,
                                  const ResolvedTask& problem) const {
  constexpr double kLaunchUs = 2, kOverRoofline = 1.6, kFallbackFlops = 100e12;
  DeviceInfo assumed = info_;
  if (assumed.tensor_f16_flops <= 0) assumed.tensor_f16_flops = kFallbackFlops;
  const double roofline_us = TRY(RooflineUs(assumed, task, workload, Mode::kDeviceHot));
  const ArenaLimits limits{info_.l2_bytes, info_.memory_bytes / 8, info_.memory_bytes / 8};
  const ArenaPlan plan =
      PlanArena(BytesOf(problem), std::max(kLaunchUs, kOverRoofline * roofline_us), limits);
  return problem.reference_draws ? Limited(plan, kMaxDrawnSets) : plan;
}

void Stages::MakeRoom() {
  const auto enough_memory = []() {
    const Result<cuda::MemoryInfo> memory = cuda::GetMemoryInfo();
    return !memory.ok() || memory->free_bytes > memory->total_bytes / 2;
  };
  while (!stages_.empty() && (stages_.size() >= kMaxStages || !enough_memory())) {
    // Freed memory can be handed to the next process that allocates. A runner that still lives
    // could get the pages of the references, and read the answers in them.
    release_runners_();
    stages_.erase(stages_.begin());
  }
}

Result<Stage> Stages::Build(const std::string& id, const Task& task, const Workload& workload) {
  const ResolvedTask problem = TRY(ResolveTask(task, workload));
  const ArenaPlan plan = TRY(PlanFor(task, workload, problem));
  const ProblemBytes bytes = BytesOf(problem);
  const int64_t needed = (plan.contents + 2) * (bytes.inputs() + bytes.reference) +
                         plan.input_slots * bytes.inputs() + plan.output_slots * bytes.output +
                         2 * (bytes.inputs() + bytes.output);
  if (!problem.gemm && needed > info_.memory_bytes * 9 / 10) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("task {}: judging it takes at least {:.1f} GB and {} has {:.1f} GB",
                             task.name, static_cast<double>(needed) * 1e-9, info_.name,
                             static_cast<double>(info_.memory_bytes) * 1e-9),
                 "give it a workload with smaller sizes"};
  }
  MakeRoom();
  Stage stage{task, workload, nullptr, {}, {}, std::make_unique<KeptTorch>()};
  auto process = TRY(start_reference_(task, workload, problem));
  stage.arena = TRY(Arena::Create(device_, id, problem, plan, std::move(process), random_));
  const auto trivial = TRY(TrivialAnswerThatPasses(device_, *stage.arena));
  if (trivial) stage.degenerate = std::string(*trivial);
  // The product's reference is the oracle's own kernel; others' are asked twice.
  if (!problem.gemm) TRY(DoubtReference(stage));
  return stage;
}

// A reference that is asked the same question twice must give answers that agree, or no candidate
// could pass. Where the inputs differ the answers must differ, or a constant would pass.
Status Stages::DoubtReference(Stage& stage) {
  Arena& arena = *stage.arena;
  const int right = arena.checks().front().reference;
  TRY(arena.ComputeSecondAnswer());
  const OutputReport again = TRY(CompareReferences(device_, arena, 0, right));
  if (again.wrong > 0) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("task {}: the reference is not deterministic: asked twice, it differs "
                             "by more than the tolerance in {} elements of {}",
                             stage.task.name, again.wrong, again.output),
                 "fix its seeds, or state a tolerance that its own answers keep to"};
  }
  TRY(arena.ForgetSecondAnswer(random_));
  if (arena.problem().inputs.empty() || stage.degenerate) return {};
  BatchPlan other;
  other.timed.push_back({std::vector<int>(arena.problem().inputs.size(), 0), {}, 0});
  TRY(arena.EnsureReferences(other));
  const OutputReport swapped = TRY(CompareReferences(device_, arena, 0, right));
  if (swapped.wrong == 0) stage.degenerate = "the answer to other inputs";
  return {};
}

}  // namespace warpsmith::judge
