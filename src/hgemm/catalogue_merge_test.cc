#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>

#include "hgemm/test_catalogue.h"

namespace warpsmith::hgemm {
namespace {

TEST(CatalogueMergeTest, KeepsTheSurestRowOfEachShape) {
  const Catalogue one{{SampleRow(64, 1.5), SampleRow(128, 1.1)}},
      other{{SampleRow(64, 1.4), SampleRow(256, 1.2)}};
  const Catalogue parts[] = {other, one};
  const Catalogue merged = Merge(parts);
  ASSERT_EQ(merged.rows.size(), 3U);
  EXPECT_DOUBLE_EQ(merged.rows[0].results[0].ratio, 1.5);
  EXPECT_NE(Find(merged, {256, 128, 256}), nullptr);
  EXPECT_EQ(Find(merged, {256, 128, 256, Layout::kNN}), nullptr);
  EXPECT_EQ(Find(merged, {256, 128, 256, Layout::kTN, DType::kBF16}), nullptr);
  EXPECT_EQ(Find(merged, {256, 128, 256}, "NVIDIA H100"), nullptr);
}

CatalogueRow OfLevel(std::string_view level, double ratio) {
  CatalogueRow row = SampleRow(64, ratio);
  row.level = level;
  return row;
}

TEST(CatalogueMergeTest, OnlyAComparisonTakesBackWhatAComparisonDecided) {
  const auto merged = [](const CatalogueRow& one, const CatalogueRow& other) {
    const Catalogue parts[] = {{{one}}, {{other}}};
    return Merge(parts).rows.front();
  };
  const CatalogueRow compared = OfLevel(kComparedLevel, 0.95);
  EXPECT_EQ(merged(compared, OfLevel(kScreenedLevel, 1.5)).choice, Choice::kCublasLt);
  EXPECT_EQ(merged(compared, OfLevel(kCertifiedLevel, 1.5)).choice, Choice::kCublasLt);
  EXPECT_EQ(merged(compared, OfLevel(kComparedLevel, 1.5)).choice, Choice::kKernel);
  EXPECT_EQ(merged(OfLevel(kScreenedLevel, 1.5), OfLevel(kCertifiedLevel, 1.1)).level, "certified");
}

TEST(CatalogueMergeTest, AChoiceMadeByHandStays) {
  CatalogueRow by_hand = OfLevel(kScreenedLevel, 1.2);
  by_hand.choice = Choice::kCublasLt;
  const Catalogue parts[] = {{{by_hand}}, {{OfLevel(kScreenedLevel, 1.2)}}};
  EXPECT_EQ(Merge(parts).rows.front().choice, Choice::kCublasLt);
}

// As rows are that a version with another rule chose.
TEST(CatalogueMergeTest, AChoiceAgainstTheRuleYieldsToABetterComparison) {
  CatalogueRow old = OfLevel(kComparedLevel, 1.1);
  old.choice = Choice::kCublasLt;
  const auto merged = [&](const CatalogueRow& other) {
    const Catalogue parts[] = {{{old}}, {{other}}};
    return Merge(parts).rows.front().choice;
  };
  EXPECT_EQ(merged(OfLevel(kComparedLevel, 1.2)), Choice::kKernel);
  EXPECT_EQ(merged(OfLevel(kComparedLevel, 1.1)), Choice::kCublasLt);  // the same, but by hand
  EXPECT_EQ(merged(OfLevel(kScreenedLevel, 1.5)), Choice::kCublasLt);
}

TEST(CatalogueMergeTest, DoesNotFeelTheOrderOfItsParts) {
  EXPECT_TRUE(rc::check([] {
    const auto draw = [] {
      Catalogue part;
      for (const int64_t m : {64, 128, 256}) {
        if (!*rc::gen::arbitrary<bool>()) continue;
        const auto hour = std::to_string(*rc::gen::inRange(10, 20));
        CatalogueRow row = SampleRow(m, *rc::gen::element(0.9, 1.1, 1.3), "2026-11-21T" + hour);
        row.level = *rc::gen::element(kScreenedLevel, kComparedLevel, kCertifiedLevel);
        row.choice = *rc::gen::element(Choice::kKernel, Choice::kCublasLt);
        row.candidate = std::string(64, *rc::gen::element('a', 'b'));
        part.rows.push_back(row);
      }
      return part;
    };
    std::vector<Catalogue> parts = {draw(), draw(), draw()};
    const std::string forward = ToText(Merge(parts)).value();
    std::reverse(parts.begin(), parts.end());
    RC_ASSERT(ToText(Merge(parts)).value() == forward);
    const Catalogue nested[] = {Merge(std::span(parts).first(2)), parts[2]};
    RC_ASSERT(ToText(Merge(nested)).value() == forward);
  }));
}

}  // namespace
}  // namespace warpsmith::hgemm
