#include "report/analysis/sentences.h"

#include <gmock/gmock.h>

#include "report/analysis/sample_catalogue.h"

namespace warpsmith::analysis {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

Chapter ChapterOf(const hgemm::Catalogue& catalogue) {
  return MakeStudy(catalogue, std::nullopt).value().chapters.front();
}

std::vector<std::string> Of(const Chapter& chapter, std::string_view name) {
  for (size_t i = 0; i < Traits().size(); ++i) {
    if (Traits()[i].name == name) return SentencesOf(chapter, i);
  }
  return {};
}

TEST(SentencesTest, CountWhatTheDataHold) {
  const Chapter chapter = ChapterOf(SampleCatalogue());
  EXPECT_THAT(Overview(chapter),
              Contains("16 shapes: 10 tiny and 6 small. The best kernel's family is tiny of 4 and "
                       "wgmma of 12."));
  EXPECT_THAT(Overview(chapter), Contains(HasSubstr("leaves 4 of 16 shapes (25 %) to cuBLASLt; by "
                                                    "class 1 of 10 tiny (10 %) and 3 of 6 small "
                                                    "(50 %)")));
  EXPECT_THAT(Overview(chapter),
              Contains(HasSubstr("the ratio itself below 1 on 4 of 16 shapes (25 %); the worst is "
                                 "0.970 at 4096x256x64.")));
  EXPECT_THAT(Of(chapter, "split"),
              Contains("Kernels that share a tile's K between CTAs: 4 of 16 shapes (25 %); by "
                       "class 1 of 10 tiny (10 %) and 3 of 6 small (50 %)."));
  EXPECT_THAT(Of(chapter, "split"),
              Contains("The median shape of these: M 640, N 256, K 4096; of the others: M 640, N "
                       "256, K 256."));
  EXPECT_THAT(Of(chapter, "stages"), Contains(HasSubstr("Of the sizes K goes most with stages")));
  EXPECT_THAT(Of(chapter, "stages"),
              Contains(HasSubstr("on average 2 at K = 64 (3 shapes), 10 at K = 4096 (3 shapes).")));
}

TEST(SentencesTest, ChangeWithTheData) {
  hgemm::Catalogue catalogue = SampleCatalogue();
  for (hgemm::CatalogueRow& row : catalogue.rows) {
    row.kernel = WgmmaPoint(128, 4, 2);
    row.choice = hgemm::Choice::kKernel;
  }
  const Chapter chapter = ChapterOf(catalogue);
  EXPECT_THAT(Overview(chapter), Contains(HasSubstr("leaves 0 of 16 shapes (0 %)")));
  EXPECT_THAT(Of(chapter, "tile"), Contains("Every one of the 16 shapes has: 128 x 256."));
  EXPECT_THAT(Of(chapter, "split"), Contains(HasSubstr("16 of 16 shapes (100 %)")));
  EXPECT_THAT(Of(chapter, "split"), Each(Not(HasSubstr("of the others"))));
}

TEST(SentencesTest, SayWhatScreenedRatiosAreWorth) {
  hgemm::Catalogue catalogue = SampleCatalogue();
  EXPECT_THAT(Overview(ChapterOf(catalogue)),
              Contains(HasSubstr("16 of 16 shapes (100 %) were screened while searching")));
  for (hgemm::CatalogueRow& row : catalogue.rows) row.level = "certified";
  EXPECT_THAT(Overview(ChapterOf(catalogue)), Each(Not(HasSubstr("flatters"))));
}

TEST(SentencesTest, OneShapeHasNoTrends) {
  hgemm::Catalogue catalogue;
  catalogue.rows = {SampleRow({64, 64, 64}, TinyPoint(1), 1.5)};
  const Chapter chapter = ChapterOf(catalogue);
  for (size_t i = 0; i < Traits().size(); ++i) {
    EXPECT_THAT(SentencesOf(chapter, i), Each(Not(HasSubstr("correlation"))));
  }
  EXPECT_THAT(Overview(chapter), Each(Not(HasSubstr("nan"))));
}

// Eight shapes whose stages rise with K nearly always are no finding.
TEST(SentencesTest, FewShapesShowNoTrend) {
  hgemm::Catalogue catalogue;
  for (int64_t k = 1; k <= 8; ++k) {
    catalogue.rows.push_back(SampleRow({256, 256, 64 * k},
                                       WgmmaPoint(128,
                                                  k == 4   ? 5
                                                  : k == 5 ? 4
                                                           : k,
                                                  1),
                                       1.2));
  }
  const std::vector<std::string> few = Of(ChapterOf(catalogue), "stages");
  EXPECT_THAT(few, Contains("No size says much about stages: the strongest rank correlation is "
                            "+0.98 over 8 shapes, with K; so few may have it by chance."));
  EXPECT_THAT(few, Each(Not(HasSubstr("goes most with stages"))));
}

TEST(SentencesTest, NameTheBaselineThatWasMeasured) {
  hgemm::Catalogue catalogue = SampleCatalogue();
  for (hgemm::CatalogueRow& row : catalogue.rows) row.results[0].baseline = "cublas";
  EXPECT_THAT(Overview(ChapterOf(catalogue)),
              Contains(HasSubstr("shown faster than cublas on 12")));
}

TEST(SentencesTest, NumbersAreShort) {
  EXPECT_EQ(NumberText(12288), "12288");
  EXPECT_EQ(NumberText(0.99512), "0.9951");
  EXPECT_EQ(NumberText(2.5), "2.5");
  EXPECT_EQ(RatioText(1.06), "1.060");
  EXPECT_EQ(ShareText(0, 0), "no shapes");
}

}  // namespace
}  // namespace warpsmith::analysis
