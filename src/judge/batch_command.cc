#include "judge/batch_command.h"

#include <utility>

namespace warpsmith::judge {
namespace {

// A server's calls come when they come: a kernel must not know a timed call by its distance from
// the one before.
constexpr uint64_t kMaxIdleUs = 200;

std::vector<WireLaunch> OnWire(const std::vector<PlannedLaunch>& launches, size_t roles) {
  std::vector<WireLaunch> wire;
  for (const PlannedLaunch& launch : launches) {
    WireLaunch slots = launch.slot;
    slots.resize(roles, launch.output_slot);  // every output has the same
    wire.push_back(std::move(slots));
  }
  return wire;
}

}  // namespace

bool BeginsEarly(const LaunchPlan& plan) {
  if (plan.operations.empty()) return false;
  const auto* launch = std::get_if<LaunchOperation>(&plan.operations.front());
  return launch != nullptr && launch->programmatic;
}

// A NaN as FP16; as BF16, or twice as FP32, a NaN or a number beyond 10^37: no honest output. Drawn
// from the oracle's stream for each batch: no candidate knows the bits that say "not written".
uint16_t DrawPoison(Random& random) {
  const auto payload = static_cast<uint16_t>(1 + random.Below(0x1fe));
  const auto sign = static_cast<uint16_t>(random.Below(2) << 15);
  return static_cast<uint16_t>(0x7e00 | payload | sign);
}

SampleCommand CommandOf(const Arena& arena, const std::string& callee, Mode mode,
                        const BatchPlan& batch, Random& random) {
  SampleCommand command;
  command.callee = callee;
  command.mode = mode;
  command.poison = DrawPoison(random);
  command.touch = OnWire(batch.touch, arena.problem().Roles());
  command.timed = OnWire(batch.timed, arena.problem().Roles());
  command.read_inputs = !arena.plan().crossed;
  if (mode == Mode::kServer) {
    for (size_t call = 0; call < batch.timed.size(); ++call) {
      command.idle_us.push_back(static_cast<int>(random.Below(kMaxIdleUs + 1)));
    }
  }
  return command;
}

}  // namespace warpsmith::judge
