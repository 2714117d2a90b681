#include <array>
#include <charconv>

#include "hgemm/family.h"
#include "hgemm/mma_sync_family.h"
#include "hgemm/tiny_family.h"
#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {

std::span<const Family> Families() {
  static constexpr std::array<Family, 3> kFamilies = {
      {{"tiny", TinyConfigs, MakeTiny, [] { return ToConfig(TinyParameters{}); }},
       {"mma_sync", MmaSyncConfigs, MakeMmaSync, [] { return ToConfig(MmaSyncParameters{}); }},
       {"wgmma", WgmmaConfigs, MakeWgmma, [] { return ToConfig(WgmmaParameters{}); }}}};
  return kFamilies;
}

namespace {

// Above every size and count of a kernel, and so small that no product of theirs overflows.
constexpr int64_t kLargestParameter = 4096;

// Sizes and counts are divided by; what says whether something is done may be 0.
int64_t LeastOf(std::string_view name, int64_t default_value) {
  const bool is_switch = default_value == 0 || name == "raster_along_m" || name == "tma_store";
  return is_switch ? 0 : 1;
}

// A parameter that is not known may change what the kernel is.
Status CheckConfig(const Family& family, const Config& config) {
  const Config known = family.defaults();
  for (const auto& [name, value] : config) {
    const auto place = known.find(name);
    if (place == known.end()) {
      return Error{
          ErrorCode::kBadInput,
          "kernel family '" + std::string(family.name) + "' has no parameter '" + name + "'",
          "it may come from a newer version of warpsmith"};
    }
    const int64_t least = LeastOf(name, place->second);
    if (least <= value && value <= kLargestParameter) continue;
    return Error{ErrorCode::kBadInput,
                 "no kernel of family '" + std::string(family.name) + "' has " + name + "=" +
                     std::to_string(value),
                 "expected " + std::to_string(least) + " to " + std::to_string(kLargestParameter)};
  }
  return {};
}

}  // namespace

Target TargetOf(const DeviceInfo& device) {
  Target target;
  const char* digits = device.architecture.data() + 3;  // "sm_90a"
  std::from_chars(digits, device.architecture.data() + device.architecture.size(),
                  target.compute_capability);
  target.sm_count = device.sm_count;
  target.max_shared_bytes = device.max_shared_bytes_per_block;
  return target;
}

Space SpaceFor(const Problem& problem, const Target& target) {
  std::vector<Point> points;
  for (const Family& family : Families()) {
    for (Config& config : family.configs(problem, target)) {
      points.push_back({std::string(family.name), std::move(config)});
    }
  }
  return Space(NameOf(problem), std::move(points));
}

Result<Candidate> MakeCandidate(const Problem& problem, const Point& point) {
  for (const Family& family : Families()) {
    if (family.name != point.family) continue;
    TRY(CheckConfig(family, point.config));
    return family.make(problem, point.config);
  }
  return Error{ErrorCode::kBadInput, "kernel family '" + point.family + "' is not known",
               "it may come from a newer version of warpsmith"};
}

Point WithAllParameters(Point point) {
  for (const Family& family : Families()) {
    if (family.name == point.family) point.config.merge(family.defaults());
  }
  return point;
}

bool IsSameKernel(const Point& a, const Point& b) {
  return WithAllParameters(a) == WithAllParameters(b);
}

}  // namespace warpsmith::hgemm
