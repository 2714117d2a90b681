#include "judge/baseline/choice_cache.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "judge/baseline/contest.h"

namespace warpsmith::baseline {
namespace {

using testing::HasSubstr;

const ChoiceSite kSite{"NVIDIA H200", "580.95", "cuBLASLt 13.1.0"};

ChoiceKey Key(int64_t m) { return {.name = {GemmLibrary::kCublas, {}}, .problem = {m, 128, 256}}; }

GemmBaselineChoice Choice(int64_t m, double median_us) {
  return {.name = {GemmLibrary::kCublas, {}},
          .shape = {.m = m, .n = 128, .k = 256, .layout = cuda::GemmLayout::kNN},
          .algorithm = {},
          .median_us = median_us,
          .tried = 2,
          .library = "cuBLAS 13.1.0",
          .contest = ContestId()};
}

class ChoiceCacheTest : public testing::Test {
 protected:
  std::filesystem::path Folder(const char* name) const { return directory_.path() / name; }
  TemporaryDirectory directory_ = TemporaryDirectory::Create("choice-cache").value();
};

TEST_F(ChoiceCacheTest, IsEmptyUntilSomethingIsPut) {
  const ChoiceCache cache(Folder("own"), kSite);
  EXPECT_EQ(cache.Find(Key(64)).value(), std::nullopt);
  ASSERT_TRUE(cache.Put(std::vector{Choice(64, 2.5)}).ok());
  ASSERT_TRUE(cache.Put(std::vector{Choice(512, 4)}).ok());
  EXPECT_EQ(cache.Find(Key(64)).value()->median_us, 2.5);
  EXPECT_EQ(cache.Find(Key(512)).value()->shape.m, 512);
  EXPECT_EQ(cache.Find(Key(128)).value(), std::nullopt);
}

TEST_F(ChoiceCacheTest, PutReplaces) {
  const ChoiceCache cache(Folder("own"), kSite);
  ASSERT_TRUE(cache.Put(std::vector{Choice(64, 2.5)}).ok());
  ASSERT_TRUE(cache.Put(std::vector{Choice(64, 2.25)}).ok());
  EXPECT_EQ(cache.Find(Key(64)).value()->median_us, 2.25);
}

TEST_F(ChoiceCacheTest, PutsSeveralAtOnceAndGivesAll) {
  const ChoiceCache shipped(Folder("shipped"), kSite);
  ASSERT_TRUE(shipped.Put(std::vector{Choice(64, 9), Choice(128, 8)}).ok());
  const ChoiceCache cache(Folder("own"), kSite, Folder("shipped"));
  GemmBaselineChoice of_layout = Choice(64, 7);
  of_layout.name.layout = cuda::GemmLayout::kNN;
  ASSERT_TRUE(cache.Put(std::vector{Choice(64, 2.5), of_layout}).ok());
  const auto all = cache.All().value();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all.at(Text(Key(64))).median_us, 2.5);
  EXPECT_EQ(all.at(Text(Key(128))).median_us, 8);
  EXPECT_EQ(all.at("cublas-nn 64x128x256 device").median_us, 7);
}

TEST_F(ChoiceCacheTest, KeepsTheModesApart) {
  const ChoiceCache cache(Folder("own"), kSite);
  GemmBaselineChoice offline = Choice(64, 6);
  offline.mode = Mode::kOffline;
  ASSERT_TRUE(cache.Put(std::vector{Choice(64, 2.5), offline}).ok());
  ChoiceKey key = Key(64);
  key.mode = Mode::kOffline;
  EXPECT_EQ(cache.Find(key).value()->median_us, 6);
  EXPECT_EQ(cache.Find(Key(64)).value()->median_us, 2.5);
  key.mode = Mode::kServer;
  EXPECT_EQ(cache.Find(key).value(), std::nullopt);
}

// A file that an earlier program wrote: read without an error, and chosen anew.
TEST_F(ChoiceCacheTest, ChoicesOfAnEarlierContestAreReadAndNotTaken) {
  ASSERT_TRUE(CreateDirectories(Folder("own")).ok());
  const char* const file = R"({"choices": {"cublas 64x128x256 device": {"k": 256, "layout": "NN",
    "library": "cuBLAS 13.1.0", "m": 64, "median_us": 2.5, "n": 128, "name": "cublas", "tried": 2,
    "version": 1}}, "device": "NVIDIA H200", "driver": "580.95", "library": "cuBLASLt 13.1.0",
    "schema": "warpsmith.baseline-cache", "version": 1})";
  ASSERT_TRUE(WriteFileAtomic(Folder("own") / FileNameOf(kSite), file).ok());
  const ChoiceCache cache(Folder("own"), kSite);
  const auto found = cache.Find(Key(64));
  ASSERT_TRUE(found.ok()) << found.error().Line();
  EXPECT_EQ(*found, std::nullopt);
  EXPECT_EQ(cache.All()->at(Text(Key(64))).median_us, 2.5);
  ASSERT_TRUE(cache.Put(std::vector{Choice(64, 3)}).ok());
  EXPECT_EQ(cache.Find(Key(64)).value()->median_us, 3);
}

TEST_F(ChoiceCacheTest, KeepsTheElementTypesApart) {
  const ChoiceCache cache(Folder("own"), kSite);
  ASSERT_TRUE(cache.Put(std::vector{Choice(64, 2.5)}).ok());
  ChoiceKey bf16 = Key(64);
  bf16.problem.type = cuda::HalfType::kBF16;
  EXPECT_EQ(cache.Find(bf16).value(), std::nullopt);
  GemmBaselineChoice choice = Choice(64, 3);
  choice.shape.type = cuda::HalfType::kBF16;
  ASSERT_TRUE(cache.Put(std::vector{choice}).ok());
  EXPECT_EQ(cache.Find(bf16).value()->shape.type, cuda::HalfType::kBF16);
  EXPECT_EQ(cache.Find(Key(64)).value()->shape.type, cuda::HalfType::kF16);
}

TEST_F(ChoiceCacheTest, AnotherDriverOrLibraryKnowsNothingOfIt) {
  ASSERT_TRUE(ChoiceCache(Folder("own"), kSite).Put(std::vector{Choice(64, 2.5)}).ok());
  for (const ChoiceSite& other : {ChoiceSite{"NVIDIA H100", "580.95", "cuBLASLt 13.1.0"},
                                  ChoiceSite{"NVIDIA H200", "590.10", "cuBLASLt 13.1.0"},
                                  ChoiceSite{"NVIDIA H200", "580.95", "cuBLASLt 13.2.0"}}) {
    EXPECT_EQ(ChoiceCache(Folder("own"), other).Find(Key(64)).value(), std::nullopt);
  }
}

TEST_F(ChoiceCacheTest, TheShippedTableIsReadAfterOnesOwnAndNeverWritten) {
  const ChoiceCache shipped(Folder("shipped"), kSite);
  ASSERT_TRUE(shipped.Put(std::vector{Choice(64, 9)}).ok());
  ASSERT_TRUE(shipped.Put(std::vector{Choice(128, 8)}).ok());
  const ChoiceCache cache(Folder("own"), kSite, Folder("shipped"));
  EXPECT_EQ(cache.Find(Key(64)).value()->median_us, 9);
  ASSERT_TRUE(cache.Put(std::vector{Choice(64, 7)}).ok());
  EXPECT_EQ(cache.Find(Key(64)).value()->median_us, 7);
  EXPECT_EQ(cache.Find(Key(128)).value()->median_us, 8);
  EXPECT_EQ(shipped.Find(Key(64)).value()->median_us, 9);
}

TEST_F(ChoiceCacheTest, ADamagedFileIsNamedAndLeftAlone) {
  ASSERT_TRUE(CreateDirectories(Folder("own")).ok());
  const auto file = Folder("own") / FileNameOf(kSite);
  const ChoiceCache cache(Folder("own"), kSite);
  for (const char* text : {"", "{", "[]", "{\"schema\": \"else\"}",
                           R"({"schema": "warpsmith.baseline-cache", "version": 1})"}) {
    ASSERT_TRUE(WriteFileAtomic(file, text).ok());
    const auto found = cache.Find(Key(64));
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_THAT(found.error().message, HasSubstr(file.string()));
    EXPECT_FALSE(cache.Put(std::vector{Choice(64, 1)}).ok());
    EXPECT_EQ(ReadFile(file).value(), text);
  }
}

TEST_F(ChoiceCacheTest, AnotherVersionIsSaidToBeOne) {
  ASSERT_TRUE(CreateDirectories(Folder("own")).ok());
  ASSERT_TRUE(WriteFileAtomic(Folder("own") / FileNameOf(kSite),
                              R"({"schema": "warpsmith.baseline-cache", "version": 99,
                                  "device": "", "driver": "", "library": "", "choices": {}})")
                  .ok());
  EXPECT_EQ(ChoiceCache(Folder("own"), kSite).Find(Key(64)).error().code, ErrorCode::kVersion);
}

TEST(ChoiceKey, SaysNameShapeAndMode) {
  EXPECT_EQ(Text(Key(64)), "cublas 64x128x256 device");
  ChoiceKey key = Key(1);
  key.name = {GemmLibrary::kLtAuto, cuda::GemmLayout::kTN};
  key.mode = Mode::kServer;
  EXPECT_EQ(Text(key), "cublaslt-auto-tn 1x128x256 server");
  key.problem.type = cuda::HalfType::kBF16;
  EXPECT_EQ(Text(key), "cublaslt-auto-tn 1x128x256 server bf16");
}

TEST(FileNameOf, IsOnePathComponentWhateverTheSiteIsCalled) {
  const std::string name = FileNameOf({"../../etc/passwd", "a b", std::string(500, 'x')});
  EXPECT_EQ(name.find('/'), std::string::npos);
  EXPECT_LT(name.size(), 150U);
  EXPECT_NE(FileNameOf({"a", "b-c", "d"}), FileNameOf({"a-b", "c", "d"}));
}

}  // namespace
}  // namespace warpsmith::baseline
