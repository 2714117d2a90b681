// A launch plan of anyone's, made concrete for a task: every number that reaches the driver is in
// range, or the plan is refused.
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "core/resolved_plan.h"
#include "core/serialize.h"
#include "core/tests/gemm_example.h"
#include "fuzz.h"

using namespace warpsmith;

namespace {

constexpr int kSmCount = 132;

void MustBeInRange(const ResolvedLaunch& launch) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    CHECK(launch.grid[i] > 0 && launch.block[i] > 0 && launch.cluster[i] > 0);
    CHECK(launch.grid[i] % launch.cluster[i] == 0);
    threads *= launch.block[i];
  }
  CHECK(threads <= 1024);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = ParseJson("input", fuzz::TextOf(data, size));
  if (fuzz::ValueOf(parsed) == nullptr) return 0;
  const auto plan = LaunchPlanFrom(JsonReader("input", *parsed));
  if (fuzz::ValueOf(plan) == nullptr) return 0;
  const auto resolved = Resolve(*plan, GemmTask(), {{"M", 256}, {"N", 128}, {"K", 64}}, kSmCount,
                                [](const ResolvedLaunch&) -> Result<int64_t> { return 66; });
  if (fuzz::ValueOf(resolved) == nullptr) return 0;
  for (const ResolvedOperation& operation : resolved->operations) {
    if (const auto* launch = std::get_if<ResolvedLaunch>(&operation)) MustBeInRange(*launch);
  }
  return 0;
}
