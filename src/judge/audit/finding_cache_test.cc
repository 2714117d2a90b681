#include "judge/audit/finding_cache.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace warpsmith::audit {
namespace {

TEST(FindingCache, KeepsCleanAndRejectedFindings) {
  const auto folder = TemporaryDirectory::Create("findings").value();
  const FindingCache cache(folder.path());
  const std::string clean = FindingCache::Key({"racecheck", "1"}),
                    raced = FindingCache::Key({"racecheck", "2"});
  EXPECT_FALSE(cache.Find(clean).has_value());
  ASSERT_TRUE(cache.Store(clean, Clean(kRacecheck, "no error")).ok());
  ASSERT_TRUE(cache.Store(raced, Convicted(kRacecheck, "Race \xff reported")).ok());
  const auto found = cache.Find(clean), rejected = cache.Find(raced);
  ASSERT_TRUE(found && rejected);
  EXPECT_EQ(std::get<AuditReport>(*found).detail, "no error");
  EXPECT_EQ(std::get<AuditReport>(*found).status, AuditStatus::kClean);
  EXPECT_EQ(std::get<Rejected>(*rejected).rule, "racecheck");
}

TEST(FindingCache, AbsenceIsAskedForAgain) {
  const auto folder = TemporaryDirectory::Create("findings").value();
  const FindingCache cache(folder.path());
  const std::string key = FindingCache::Key({"a"});
  ASSERT_TRUE(cache.Store(key, Absent(kRacecheck, "no tool")).ok());
  EXPECT_FALSE(cache.Find(key).has_value());
}

TEST(FindingCache, DamagedAndForeignEntriesAreNotThere) {
  const auto folder = TemporaryDirectory::Create("findings").value();
  const FindingCache cache(folder.path());
  const std::string key = FindingCache::Key({"a"}), other = FindingCache::Key({"b"});
  ASSERT_TRUE(cache.Store(key, Clean(kRacecheck, "")).ok());
  const auto path = folder.path() / key.substr(0, 2) / key.substr(2);
  const auto foreign = folder.path() / other.substr(0, 2) / other.substr(2);
  std::filesystem::create_directories(foreign.parent_path());
  std::filesystem::copy_file(path, foreign);
  EXPECT_FALSE(cache.Find(other).has_value());
  ASSERT_TRUE(WriteFileAtomic(path, "{\"version\":1").ok());
  EXPECT_FALSE(cache.Find(key).has_value());
}

TEST(FindingCache, KeysDependOnEveryPart) {
  EXPECT_NE(FindingCache::Key({"a", "b"}), FindingCache::Key({"ab"}));
  EXPECT_NE(FindingCache::Key({"a", "b"}), FindingCache::Key({"b", "a"}));
}

}  // namespace
}  // namespace warpsmith::audit
