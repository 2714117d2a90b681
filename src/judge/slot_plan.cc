#include "judge/slot_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/result.h"

namespace warpsmith::judge {
namespace {

// A batch of kBatchUs is long beside what an event resolves, and short enough for many rounds.
constexpr double kBatchUs = 100;
constexpr double kHugeLaunchUs = 5000;
constexpr int kMaxTimedLaunches = 64;
constexpr int kMinContents = 2, kMaxContents = 8;
constexpr int kServerCalls = 4;

bool IsCold(Mode mode) { return mode == Mode::kDeviceCold || mode == Mode::kServer; }

int WantedLaunches(double expected_us) {
  if (expected_us >= kHugeLaunchUs) return 1;
  const double wanted = std::ceil(kBatchUs / std::max(expected_us, 0.1));
  return static_cast<int>(std::clamp<double>(wanted, 2, kMaxTimedLaunches));
}

// Most contents whose inputs stay in half the L2 and whose references stay in their budget. A third
// content is allowed up to the whole L2: with two there are only two timed launches.
int MostContents(const ProblemBytes& bytes, const ArenaLimits& limits) {
  const int64_t inputs = std::max<int64_t>(1, bytes.inputs());
  int64_t most = std::clamp<int64_t>(limits.l2_bytes / 2 / inputs, kMinContents, kMaxContents);
  if (most == kMinContents && 3 * inputs <= limits.l2_bytes) most = 3;
  const int64_t reference = std::max<int64_t>(1, bytes.reference);
  while (most > kMinContents && most * most * reference > limits.reference_bytes) --most;
  return static_cast<int>(most);
}

std::vector<int> RandomOrder(int count, Random& random) {
  std::vector<int> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  random.Shuffle(order);
  return order;
}

// `count` distinct combinations. Crossed: every content of an input occurs equally often (up to
// one), the first `contents` of them each content once: diagonals of the square, relabelled.
std::vector<std::vector<int>> DrawCombinations(const ArenaPlan& plan, size_t inputs, int count,
                                               Random& random) {
  CHECK(count <= plan.combinations());
  const int contents = plan.contents;
  const std::vector<int> a = RandomOrder(contents, random), b = RandomOrder(contents, random);
  std::vector<std::vector<int>> combinations;
  for (int i = 0; i < count; ++i) {
    const auto row = static_cast<size_t>(i % contents);
    const auto column = static_cast<size_t>((i + i / contents) % contents);
    combinations.push_back(plan.crossed ? std::vector<int>{a[row], b[column]}
                                        : std::vector<int>(inputs, a[row]));
  }
  return combinations;
}

// Hands out slots that hold a wanted content: the same one each time, or a fresh one each time.
class SlotPicker {
 public:
  SlotPicker(const Assignment& assignment, bool fresh, Random& random) : fresh_(fresh) {
    for (int slot : RandomOrder(static_cast<int>(assignment.size()), random)) {
      const auto content = static_cast<size_t>(assignment[static_cast<size_t>(slot)]);
      if (by_content_.size() <= content) by_content_.resize(content + 1);
      by_content_[content].push_back(slot);
    }
  }

  int Pick(int content) {
    std::vector<int>& slots = by_content_.at(static_cast<size_t>(content));
    CHECK(!slots.empty());
    const int slot = slots.back();
    if (fresh_) slots.pop_back();
    return slot;
  }

 private:
  bool fresh_;
  std::vector<std::vector<int>> by_content_;
};

}  // namespace

namespace {

ArenaPlan PlanCrossed(const ProblemBytes& bytes, int wanted, const ArenaLimits& limits) {
  ArenaPlan plan;
  const int most = MostContents(bytes, limits);
  while (plan.contents < most && plan.combinations() - plan.contents < wanted) ++plan.contents;
  const int64_t inputs = bytes.inputs();
  plan.touch_launches = inputs * plan.contents <= limits.l2_bytes ? plan.contents : 1;
  plan.timed_launches = std::min(wanted, plan.combinations() - plan.touch_launches);
  const int64_t per_launch = std::max<int64_t>(1, inputs + bytes.output);
  const auto affordable = std::max<int64_t>(1, limits.slot_bytes / per_launch);
  plan.timed_launches = static_cast<int>(std::min<int64_t>(plan.timed_launches, affordable));
  const int per_content = (plan.timed_launches + plan.contents - 1) / plan.contents;
  plan.input_slots = plan.contents * per_content;  // so that cold batches never run out of one
  return plan;
}

// One set of contents a launch, and a touch launch on a set of its own.
ArenaPlan PlanSets(const ProblemBytes& bytes, int wanted, const ArenaLimits& limits) {
  ArenaPlan plan;
  plan.crossed = false;
  const int64_t inputs = bytes.inputs();
  const int64_t own = std::max<int64_t>(1, inputs + bytes.reference);
  const int64_t shared = std::max<int64_t>(1, inputs + bytes.output);
  const int64_t affordable = std::min(limits.reference_bytes / own, limits.slot_bytes / shared);
  plan.contents = static_cast<int>(std::clamp<int64_t>(affordable, 2, wanted + 1));
  plan.touch_launches = 1;
  plan.timed_launches = plan.contents - 1;
  plan.input_slots = plan.contents;
  return plan;
}

}  // namespace

ArenaPlan PlanArena(const ProblemBytes& bytes, double expected_us, const ArenaLimits& limits) {
  const int wanted = WantedLaunches(expected_us);
  ArenaPlan plan = bytes.crossed ? PlanCrossed(bytes, wanted, limits)
                                 : PlanSets(bytes, std::max(wanted, 2), limits);
  const int launches = plan.touch_launches + plan.timed_launches;
  constexpr int64_t kSmallOutput = int64_t{4} << 20;
  // Slots that no launch is given keep their poison: so a write to a slot of one's own choice is
  // seen (InspectBatch). Large outputs cannot afford them.
  const int spare = bytes.output <= kSmallOutput ? std::max(1, launches / 4) : 0;
  plan.output_slots = launches + spare;
  return plan;
}

Assignment DrawAssignment(const ArenaPlan& plan, Random& random) {
  Assignment assignment(static_cast<size_t>(plan.input_slots));
  for (size_t slot = 0; slot < assignment.size(); ++slot) {
    assignment[slot] = static_cast<int>(slot) % plan.contents;
  }
  random.Shuffle(assignment);
  return assignment;
}

BatchPlan PlanBatch(const ArenaPlan& plan, Mode mode, const std::vector<Assignment>& assignments,
                    int most_timed, Random& random) {
  const bool cold = IsCold(mode);
  const int touches = cold ? 0 : plan.touch_launches;
  int timed = std::min(plan.timed_launches, std::max(1, most_timed));
  if (mode == Mode::kServer) timed = std::min(timed, kServerCalls);
  const auto combinations = DrawCombinations(plan, assignments.size(), touches + timed, random);
  const std::vector<int> outputs = RandomOrder(plan.output_slots, random);
  std::vector<SlotPicker> pickers;
  for (const Assignment& assignment : assignments) pickers.emplace_back(assignment, cold, random);
  BatchPlan batch;
  for (size_t i = 0; i < combinations.size(); ++i) {
    PlannedLaunch launch{combinations[i], {}, outputs[i]};
    for (size_t input = 0; input < pickers.size(); ++input) {
      launch.slot.push_back(pickers[input].Pick(launch.content[input]));
    }
    (i < static_cast<size_t>(touches) ? batch.touch : batch.timed).push_back(std::move(launch));
  }
  // DrawCombinations walks along diagonals: unshuffled, a launch's contents would tell the next's.
  random.Shuffle(batch.touch);
  random.Shuffle(batch.timed);
  return batch;
}

int64_t PaddedBytes(int64_t bytes) {
  return (bytes + kSlotAlignment - 1) / kSlotAlignment * kSlotAlignment;
}

Region MakeRegion(int slots, int64_t tensor_bytes) {
  Region region;
  region.slots = slots;
  region.bytes = tensor_bytes;
  region.padded = PaddedBytes(tensor_bytes);
  region.end = region.OffsetOf(slots);
  return region;
}

// Laid out from the end: the last padded byte of the tensor is the last of the mapping. A guard
// fits only before it; behind it there is no memory.
Region MakeExactRegion(int64_t tensor_bytes, int64_t mapped_bytes) {
  Region region = MakeRegion(1, tensor_bytes);
  CHECK(mapped_bytes >= region.padded);
  region.guard = std::min(kGuardBytes, mapped_bytes - region.padded);
  region.end = region.guard + region.padded;
  region.base = static_cast<uint64_t>(mapped_bytes - region.end);
  return region;
}

}  // namespace warpsmith::judge
