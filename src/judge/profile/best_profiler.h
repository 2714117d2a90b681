// Counters where they can be had, and what is known without them where not: a profile never fails a
// run for lack of rights or of a tool.
#ifndef WARPSMITH_JUDGE_PROFILE_BEST_PROFILER_H_
#define WARPSMITH_JUDGE_PROFILE_BEST_PROFILER_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/profiler.h"
#include "judge/profile/static_profile.h"

namespace warpsmith::profile {

// What a user was already told on this machine: remembered until it boots again or gets another
// driver, since either may change the answer.
class NoticeCache {
 public:
  // `file` is made when something is remembered. An unreadable one counts as empty.
  NoticeCache(std::filesystem::path file, std::string driver, std::string boot_id)
      : file_(std::move(file)), driver_(std::move(driver)), boot_id_(std::move(boot_id)) {}

  bool Knows(std::string_view what) const;
  Status Remember(std::string_view what) const;

 private:
  std::filesystem::path file_;
  std::string driver_, boot_id_;
};

// StateHome()/profiler.json, for this boot.
NoticeCache NoticeCacheHere(const std::string& driver);

struct BestOptions {
  int sm_count = 0;  // 0: unknown
  // Programs are profiled in a sandbox: that counters are denied there says nothing of kernels.
  bool programs_confined = false;
  // CUPTI's times of one execution, where the caller can take them; an error means that it cannot.
  std::function<Result<std::vector<KernelTime>>(const ProfileJob& job)> times;
  std::function<void(const std::string& line)> say;  // to the user, once for each reason and boot
};

class BestProfiler : public Profiler {
 public:
  BestProfiler(std::unique_ptr<Profiler> counters, NoticeCache told, BestOptions options)
      : counters_(std::move(counters)), told_(std::move(told)), options_(std::move(options)) {}

  // Without rights or tool: source "cupti" or "static". Counters that were refused are not asked
  // for again before the next boot. Other errors of the counters' profiler are passed on.
  Result<Profile> Take(const ProfileJob& job) override;

 private:
  std::string_view DeniedReason(const ProfileJob& job) const;
  Result<Profile> WithoutCounters(const ProfileJob& job);
  void SayOnce(std::string_view reason, const Error& error);

  std::unique_ptr<Profiler> counters_;
  NoticeCache told_;
  BestOptions options_;
};

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_BEST_PROFILER_H_
