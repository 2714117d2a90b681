#include "judge/profile/notice_cache.h"

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
  return WriteFileAtomic(file_, json.dump(1) + "\n");
}

NoticeCache NoticeCacheHere(const std::string& driver) {
  const auto boot_id = ReadFile("/proc/sys/kernel/random/boot_id");
  return {StateHome() / "profiler.json", driver, boot_id.ok() ? *boot_id : ""};
}

}  // namespace warpsmith::profile
