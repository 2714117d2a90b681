// What a user was already told on this machine: remembered until it boots again or gets another
// driver, since either may change the answer.
#ifndef WARPSMITH_JUDGE_PROFILE_NOTICE_CACHE_H_
#define WARPSMITH_JUDGE_PROFILE_NOTICE_CACHE_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpsmith::profile {

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

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_NOTICE_CACHE_H_
