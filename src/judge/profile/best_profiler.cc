#include "judge/profile/best_profiler.h"

namespace warpsmith::profile {
namespace {

constexpr std::string_view kNoRights = "counters-denied";
constexpr std::string_view kNoRightsConfined = "counters-denied-in-the-sandbox";
constexpr std::string_view kNoTool = "no-ncu";

}  // namespace

std::string_view BestProfiler::DeniedReason(const ProfileJob& job) const {
  const bool confined = options_.programs_confined && job.candidate.form == Form::kProgram;
  return confined ? kNoRightsConfined : kNoRights;
}

Result<Profile> BestProfiler::Take(const ProfileJob& job) {
  if (told_.Knows(DeniedReason(job))) return WithoutCounters(job);
  Result<Profile> profile = counters_->Take(job);
  if (profile.ok()) return profile;
  const ErrorCode code = profile.error().code;
  if (code != ErrorCode::kPermission && code != ErrorCode::kUnavailable) return profile;
  SayOnce(code == ErrorCode::kPermission ? DeniedReason(job) : kNoTool, profile.error());
  return WithoutCounters(job);
}

Result<Profile> BestProfiler::WithoutCounters(const ProfileJob& job) {
  std::vector<KernelTime> times;
  if (options_.times) {
    if (auto taken = options_.times(job); taken.ok()) times = std::move(*taken);
  }
  return StaticProfile(job, options_.sm_count, times);
}

// Where it cannot be remembered it is said again.
void BestProfiler::SayOnce(std::string_view reason, const Error& error) {
  if (told_.Knows(reason)) return;
  if (options_.say) options_.say("profiles without counters: " + error.Line());
  (void)told_.Remember(reason);
}

}  // namespace warpsmith::profile
