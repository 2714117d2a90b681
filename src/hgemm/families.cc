#include <array>
#include <charconv>

#include "base/result.h"
#include "embedded/hgemm_device_sources.h"
#include "hgemm/family.h"
#include "hgemm/family_parts.h"
#include "hgemm/mma_sync_family.h"
#include "hgemm/tiny_family.h"
#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {

std::span<const Family> Families() {
  static constexpr std::array<Family, 3> kFamilies = {
      {{"tiny", TinyConfigs, MakeTiny,
        [](const Problem& problem, const Target& target, const Config& config) {
          return IsLegalTiny(problem, target, TinyFromConfig(config));
        },
        [] { return ToConfig(TinyParameters{}); }, LeastOfTiny},
       {"mma_sync", MmaSyncConfigs, MakeMmaSync,
        [](const Problem& problem, const Target& target, const Config& config) {
          return IsLegalMmaSync(problem, target, MmaSyncFromConfig(config));
        },
        [] { return ToConfig(MmaSyncParameters{}); }, LeastOfMmaSync},
       {"wgmma", WgmmaConfigs, MakeWgmma,
        [](const Problem& problem, const Target& target, const Config& config) {
          return IsLegalWgmma(problem, target, WgmmaFromConfig(config));
        },
        [] { return ToConfig(WgmmaParameters{}); }, LeastOfWgmma}}};
  return kFamilies;
}

namespace {

// Above every size and count of a kernel, and so small that no product of theirs overflows.
constexpr int64_t kLargestParameter = 4096;
constexpr int64_t kMostOverlap = 2;  // 1, 2: when the next launch may begin

const Family* Find(std::string_view name) {
  for (const Family& family : Families()) {
    if (family.name == name) return &family;
  }
  return nullptr;
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

Status CheckValues(const Point& point) {
  const Family* const family = Find(point.family);
  if (family == nullptr) return {};
  // What is not named has its default, which need not be a kernel's either.
  const Config values = WithAllParameters(point).config;
  for (const auto& [name, least] : family->least()) {
    const int64_t value = values.at(name);
    if (least <= value && value <= kLargestParameter) continue;
    return Error{
        ErrorCode::kBadInput,
        "no kernel of family '" + point.family + "' has " + name + "=" + std::to_string(value),
        "expected " + std::to_string(least) + " to " + std::to_string(kLargestParameter)};
  }
  return {};
}

Status CheckPoint(const Point& point) {
  const Family* const family = Find(point.family);
  if (family == nullptr) {
    return Error{ErrorCode::kBadInput, "kernel family '" + point.family + "' is not known",
                 "it may come from a newer version of warpsmith"};
  }
  const Config known = family->least();
  for (const auto& [name, value] : point.config) {
    if (known.contains(name)) continue;
    return Error{ErrorCode::kBadInput,
                 "kernel family '" + point.family + "' has no parameter '" + name + "'",
                 "it may come from a newer version of warpsmith"};
  }
  return CheckValues(point);
}

bool IsLegal(const Problem& problem, const Target& target, const Point& point) {
  if (!CheckPoint(point).ok()) return false;
  const Config config = WithAllParameters(point).config;
  if (config.at("overlap") > (target.overlap ? kMostOverlap : 0)) return false;
  return Find(point.family)->legal(problem, target, config);
}

Result<Candidate> MakeCandidate(const Problem& problem, const Point& point) {
  TRY(CheckPoint(point));
  return Find(point.family)->make(problem, point.config);
}

Point WithAllParameters(Point point) {
  if (const Family* family = Find(point.family)) point.config.merge(family->defaults());
  return point;
}

bool IsSameKernel(const Point& a, const Point& b) {
  return a == b || WithAllParameters(a) == WithAllParameters(b);
}

namespace {

std::string_view Contents(std::string_view name) {
  for (const EmbeddedFile& file : embedded::HgemmDeviceSources()) {
    if (file.path.substr(file.path.rfind('/') + 1) == name) return file.contents;
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> DeviceSources(std::initializer_list<std::string_view> names) {
  std::map<std::string, std::string> sources;
  for (const std::string_view name : names) {
    const std::string_view contents = Contents(name);
    CHECK(!contents.empty());
    sources.emplace(name, contents);
  }
  return sources;
}

}  // namespace warpsmith::hgemm
