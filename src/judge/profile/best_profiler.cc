#include "judge/profile/best_profiler.h"

#include <unistd.h>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/json_reader.h"
#include "base/utf8.h"

namespace warpsmith::profile {
namespace {

constexpr int kVersion = 1;

struct Memory {
  std::string driver, boot_id;
  int64_t user = 0;
  std::set<std::string> told;
};

Result<Memory> ReadMemory(const std::filesystem::path& file) {
  const nlohmann::json json = TRY(ParseJson(file.string(), TRY(ReadFile(file))));
  const JsonReader root(file.string(), json);
  TRY(root.At("version").IntIn(kVersion, kVersion));
  Memory memory;
  memory.driver = TRY(root.At("driver").String());
  memory.boot_id = TRY(root.At("boot_id").String());
  memory.user = TRY(root.At("user").Int());
  for (const JsonReader& item : TRY(root.At("told").Items())) {
    memory.told.insert(TRY(item.String()));
  }
  return memory;
}

// What is remembered of this boot, this driver and this user.
std::set<std::string> ReadNotices(const std::filesystem::path& file, const std::string& driver,
                                  const std::string& boot_id) {
  const Result<Memory> memory = ReadMemory(file);
  const bool valid = memory.ok() && memory->driver == driver && memory->boot_id == boot_id &&
                     memory->user == static_cast<int64_t>(geteuid());
  return valid ? memory->told : std::set<std::string>();
}

}  // namespace

bool NoticeCache::Knows(std::string_view what) const {
  return ReadNotices(file_, driver_, boot_id_).contains(std::string(what));
}

Status NoticeCache::Remember(std::string_view what) const {
  std::set<std::string> told = ReadNotices(file_, driver_, boot_id_);
  told.insert(ValidUtf8(what));
  const nlohmann::json json = {{"version", kVersion},
                               {"driver", ValidUtf8(driver_)},
                               {"boot_id", ValidUtf8(boot_id_)},
                               {"user", static_cast<int64_t>(geteuid())},
                               {"told", told}};
  TRY(CreateDirectories(file_.parent_path()));
  return WriteFileAtomic(file_, JsonText(json, 1) + "\n");
}

NoticeCache NoticeCacheHere(const std::string& driver) {
  const auto boot_id = ReadFile("/proc/sys/kernel/random/boot_id");
  return {StateHome() / "profiler.json", driver, boot_id.ok() ? *boot_id : ""};
}

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
