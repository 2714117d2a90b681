// Choices made before, so that autotuning is paid once a device, driver and library version.
//
// One JSON file a (device name, driver, library):
//   {"schema": "warpsmith.baseline-cache", "version": 1, "device": ..., "driver": ..., "library":
//   ...,
//    "choices": {"cublaslt-auto 64x128x256 device": <choice>, ...}}
// The device's UUID is no part of it: cards of one name share their choices.
#ifndef WARPSMITH_JUDGE_BASELINE_CHOICE_CACHE_H_
#define WARPSMITH_JUDGE_BASELINE_CHOICE_CACHE_H_

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"
#include "judge/baseline/gemm_baseline.h"

namespace warpsmith::baseline {

inline constexpr int kChoiceCacheVersion = 1;

struct ChoiceSite {
  std::string device, driver, library;  // "NVIDIA H200", "580.95", "cuBLASLt 13.1.0"
};

struct ChoiceKey {
  GemmBaselineName name;
  GemmProblem problem;
  Mode mode = Mode::kDeviceHot;  // the timing mode it was chosen in
};
// "cublaslt-auto 64x128x256 device", with " bf16" where it is not f16
std::string Text(const ChoiceKey& key);

// The site's file name: readable, and distinct for distinct sites.
std::string FileNameOf(const ChoiceSite& site);

// Safe between processes. An unreadable or foreign file is an Error that names it; a missing one is
// an empty cache.
class ChoiceCache {
 public:
  // `folder` is made on the first Put. `shipped`, when given, is a folder of the same files that is
  // only read, after `folder`.
  ChoiceCache(std::filesystem::path folder, ChoiceSite site,
              std::optional<std::filesystem::path> shipped = std::nullopt);
  // Under DataHome()/baselines, backed by the shipped data/baselines where there is one.
  static ChoiceCache Default(ChoiceSite site);

  // Only what a contest of today's version chose (ContestId), under today's protocol.
  Result<std::optional<GemmBaselineChoice>> Find(const ChoiceKey& key) const;
  // Everything at once, by Text(key), whichever contest chose it: for who wants an algorithm, not a
  // bar. Own choices before shipped ones. Unreadable entries are left out.
  Result<std::map<std::string, GemmBaselineChoice>> All() const;
  // Each under its own name, shape and mode, where it replaces what was stored.
  Status Put(std::span<const GemmBaselineChoice> choices) const;

 private:
  std::filesystem::path folder_;
  ChoiceSite site_;
  std::optional<std::filesystem::path> shipped_;
};

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_CHOICE_CACHE_H_
