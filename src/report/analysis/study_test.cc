#include "report/analysis/study.h"

#include <gtest/gtest.h>

#include "hgemm/family.h"
#include "hgemm/test_comparison.h"
#include "report/analysis/sample_catalogue.h"

namespace warpsmith::analysis {
namespace {

Study StudyOf(const hgemm::Catalogue& catalogue) {
  return MakeStudy(catalogue, std::nullopt).value();
}

size_t PlaceOf(std::string_view name) {
  for (size_t i = 0; i < Traits().size(); ++i) {
    if (Traits()[i].name == name) return i;
  }
  return Traits().size();
}

const CountedValue& ValueOf(const Chapter& chapter, std::string_view trait,
                            const std::string& text) {
  for (const CountedValue& counted : chapter.traits.at(PlaceOf(trait))) {
    if ((counted.value ? counted.value->text : "none") == text) return counted;
  }
  ADD_FAILURE() << trait << " has no " << text;
  static const CountedValue kNothing;
  return kNothing;
}

TEST(StudyTest, CountsValuesByClass) {
  const Study study = StudyOf(SampleCatalogue());
  ASSERT_EQ(study.chapters.size(), 1U);
  const Chapter& chapter = study.chapters[0];
  EXPECT_EQ(chapter.counts.all, 16);
  // 2 M 256 K <= 2^28: M K <= 2^19, that is 10 of the 16; the largest, 2^33, is small.
  EXPECT_EQ(chapter.counts.of, (std::array<int, 4>{10, 6, 0, 0}));
  const CountedValue& shared = ValueOf(chapter, "split", "4");
  EXPECT_EQ(shared.shapes.all, 3);
  EXPECT_EQ(shared.shapes.of, (std::array<int, 4>{0, 3, 0, 0}));
  EXPECT_EQ(ValueOf(chapter, "split", "1").shapes.all, 12);
  EXPECT_EQ(ValueOf(chapter, "stages", "none").shapes.all, 4);
  EXPECT_NEAR(*ValueOf(chapter, "tile", "1024 x 256").geomean_alone, 0.97, 1e-12);
}

TEST(StudyTest, EveryTraitCountsEveryShapeOnceInItsOrder) {
  const Study study = StudyOf(SampleCatalogue());
  for (const CountedTrait& values : study.chapters[0].traits) {
    int shapes = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      shapes += values[i].shapes.all;
      if (i == 0 || !values[i - 1].value) continue;
      EXPECT_LT(values[i - 1].value->order, values[i].value->order);
    }
    EXPECT_EQ(shapes, 16);
  }
}

TEST(StudyTest, FindsWhatRisesWithWhat) {
  const Study study = StudyOf(SampleCatalogue());
  for (const QuantityTrend& trend : study.chapters[0].trends) {
    if (trend.quantity->name == "stages") {
      EXPECT_EQ(trend.shapes, 12);
      EXPECT_GT(trend.correlation[2].value_or(0), 0.9);
      EXPECT_NEAR(trend.correlation[0].value_or(1), 0, 1e-12);
      EXPECT_FALSE(trend.correlation[1]);  // N never changes
    }
    if (trend.quantity->name == "tile rows") {
      EXPECT_GT(trend.correlation[0].value_or(0), 0.5);
    }
  }
}

TEST(StudyTest, LayoutsAreChaptersOfTheirOwn) {
  hgemm::Catalogue catalogue = SampleCatalogue();
  catalogue.rows.push_back(SampleRow({64, 64, 64, hgemm::Layout::kNN}, TinyPoint(1), 1.5));
  const Study study = StudyOf(catalogue);
  ASSERT_EQ(study.chapters.size(), 2U);
  EXPECT_EQ(study.chapters[0].layout, hgemm::Layout::kNN);
  EXPECT_EQ(study.chapters[0].counts.all, 1);
  EXPECT_EQ(study.chapters[1].counts.all, 16);
}

// A comparison of the first two shapes of the sample, one of them with another kernel.
hgemm::MeasurementTable SampleComparison() {
  const hgemm::Catalogue catalogue = SampleCatalogue();
  hgemm::MeasurementTable table = hgemm::SampleTable();
  table.shapes = {hgemm::SampleShape(catalogue.rows[0].problem, 1.75),
                  hgemm::SampleShape(catalogue.rows[1].problem, 1.5)};
  table.shapes[0].choice = PointName(catalogue.rows[0].kernel);
  return table;
}

TEST(StudyTest, AComparisonsRatiosStandForTheCatalogues) {
  const auto study = MakeStudy(SampleCatalogue(), SampleComparison());
  ASSERT_TRUE(study.ok()) << study.error().Line();
  const Chapter& chapter = study->chapters[0];
  EXPECT_EQ(chapter.compared, 1);
  EXPECT_EQ(chapter.other_kernel, 1);
  EXPECT_DOUBLE_EQ(chapter.shapes[0].alone.at(Mode::kServer).value, 1.75);
  EXPECT_DOUBLE_EQ(chapter.shapes[0].library.at(Mode::kDeviceHot).value, 1.75);
  EXPECT_TRUE(chapter.shapes[1].alone.empty());  // not the catalogue's 1.25
  EXPECT_TRUE(chapter.shapes[1].library.empty());
}

TEST(StudyTest, AComparisonMayBeOlderThanAParameter) {
  hgemm::Catalogue catalogue = SampleCatalogue();
  hgemm::MeasurementTable table = SampleComparison();
  catalogue.rows[0].kernel = hgemm::WithAllParameters(catalogue.rows[0].kernel);
  ASSERT_NE(table.shapes[0].choice, PointName(catalogue.rows[0].kernel));
  EXPECT_EQ(MakeStudy(catalogue, table)->chapters[0].compared, 1);
}

TEST(StudyTest, RefusesAnEmptyCatalogueAndAComparisonOfSomethingElse) {
  EXPECT_EQ(MakeStudy({}, std::nullopt).error().code, ErrorCode::kNothingMeasured);
  hgemm::MeasurementTable elsewhere = SampleComparison();
  elsewhere.terms.device = "another GPU";
  const auto refused = MakeStudy(SampleCatalogue(), elsewhere);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  EXPECT_NE(refused.error().message.find("another GPU"), std::string::npos);
}

TEST(Geomean, IsOfAtLeastOneValue) {
  EXPECT_FALSE(Geomean({}));
  EXPECT_DOUBLE_EQ(*Geomean({2, 8}), 4);
}

}  // namespace
}  // namespace warpsmith::analysis
