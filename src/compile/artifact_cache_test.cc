#include "compile/artifact_cache.h"

#include <gtest/gtest.h>

#include "base/sha256.h"
#include "compile/tests/nvrtc_fixture.h"

namespace warpsmith::compile {
namespace {

class ArtifactCacheTest : public testing::Test {
 protected:
  ArtifactCacheTest()
      : folder_(std::move(TemporaryDirectory::Create("warpsmith-cache-test")).value()) {}

  static Artifact SomeArtifact() {
    Artifact artifact;
    artifact.image = std::string(
        "\x7f"
        "ELF\0image",
        10);
    artifact.image_sha256 = Sha256Hex(artifact.image);
    artifact.architecture = "sm_90a";
    artifact.toolchain = "nvrtc 13.0";
    artifact.kernels.push_back({"add", 8, 128, 0, 0, 0});
    artifact.log = "log";
    return artifact;
  }

  const TemporaryDirectory folder_;
  const std::filesystem::path& cache_ = folder_.path();
  const std::string key_ = Sha256Hex("key");
};

TEST_F(ArtifactCacheTest, GivesBackWhatWasStored) {
  EXPECT_FALSE(FindOutcome(cache_, key_));
  ASSERT_TRUE(StoreOutcome(cache_, key_, SomeArtifact()).ok());
  const auto found = FindOutcome(cache_, key_);
  ASSERT_TRUE(found);
  const auto& artifact = std::get<Artifact>(*found);
  EXPECT_EQ(artifact.image, SomeArtifact().image);
  EXPECT_EQ(artifact.kernels[0].static_shared_bytes, 128);
  EXPECT_TRUE(artifact.from_cache);
}

TEST_F(ArtifactCacheTest, DamagedEntriesAreAbsentWhereverTheDamageIs) {
  ASSERT_TRUE(StoreOutcome(cache_, key_, SomeArtifact()).ok());
  const std::string good = *ReadFile(EntryPath(cache_, key_));
  for (size_t i = 0; i < good.size(); i += 7) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    ASSERT_TRUE(WriteFileAtomic(EntryPath(cache_, key_), bad).ok());
    const auto found = FindOutcome(cache_, key_);
    // zstd leaves some header bits without meaning: then the content is still the right one.
    if (found) {
      EXPECT_EQ(std::get<Artifact>(*found).image, SomeArtifact().image) << i;
    }
    ASSERT_TRUE(WriteFileAtomic(EntryPath(cache_, key_), good.substr(0, i)).ok());
    EXPECT_FALSE(FindOutcome(cache_, key_)) << i;
  }
}

TEST_F(ArtifactCacheTest, EntryOfAnotherKeyIsAbsent) {
  ASSERT_TRUE(StoreOutcome(cache_, key_, SomeArtifact()).ok());
  const std::string other = Sha256Hex("other");
  ASSERT_TRUE(CreateDirectories(EntryPath(cache_, other).parent_path()).ok());
  std::filesystem::copy(EntryPath(cache_, key_), EntryPath(cache_, other));
  EXPECT_FALSE(FindOutcome(cache_, other));
}

TEST(CacheKey, EverythingThatDecidesTheOutcomeCounts) {
  const Candidate base = Add();
  const std::vector<std::string> flags = {"-a"};
  const std::string key = CacheKey(base, flags, "nvrtc 13.0", "sm_90a");
  EXPECT_EQ(key, CacheKey(base, flags, "nvrtc 13.0", "sm_90a"));
  EXPECT_NE(key, CacheKey(base, {"-b"}, "nvrtc 13.0", "sm_90a"));
  EXPECT_NE(key, CacheKey(base, flags, "nvrtc 13.1", "sm_90a"));
  EXPECT_NE(key, CacheKey(base, flags, "nvrtc 13.0", "sm_80"));
  Candidate other = base;
  other.sources["one.h"] += " ";
  EXPECT_NE(key, CacheKey(other, flags, "nvrtc 13.0", "sm_90a"));
  other = base;
  other.entry = "one.h";
  EXPECT_NE(key, CacheKey(other, flags, "nvrtc 13.0", "sm_90a"));
}

TEST(CacheKey, PlanAndProvenanceDoNot) {
  Candidate other = Add();
  other.plan.workspaces.push_back({"w", Expression::Constant(1), true});
  other.provenance.proposer = "somebody";
  EXPECT_EQ(CacheKey(Add(), {}, "t", "a"), CacheKey(other, {}, "t", "a"));
}

}  // namespace
}  // namespace warpsmith::compile
