#include "report/analysis/kernel_traits.h"

#include <gtest/gtest.h>

#include <set>

#include "hgemm/family.h"
#include "report/analysis/sample_catalogue.h"

namespace warpsmith::analysis {
namespace {

std::string TextOf(std::string_view trait, const Point& point) {
  for (const Trait& one : Traits()) {
    if (one.name != trait) continue;
    const auto value = one.of(point);
    return value ? value->text : "none";
  }
  return "no such trait";
}

double QuantityOf(std::string_view name, const Point& point) {
  for (const Quantity& one : Quantities()) {
    if (one.name == name) return one.of(point).value_or(-1);
  }
  return -2;
}

TEST(KernelTraits, ReadsAWgmmaConfiguration) {
  const Point point = WgmmaPoint(128, 4, 1);
  EXPECT_EQ(TextOf("family", point), "wgmma");
  EXPECT_EQ(TextOf("tile", point), "128 x 256");
  EXPECT_EQ(TextOf("k-block", point), "64");
  EXPECT_EQ(TextOf("stages", point), "4");
  EXPECT_EQ(TextOf("split", point), "1");
  EXPECT_EQ(TextOf("meeting", point), "not shared");
  EXPECT_EQ(TextOf("cluster", point), "2 x 1");
  EXPECT_EQ(TextOf("turns", point), "persistent, even rounds");
  EXPECT_EQ(TextOf("raster", point), "groups of 8, along M");
  EXPECT_EQ(TextOf("overlap", point), "0: after it");
  EXPECT_EQ(TextOf("store", point), "TMA");
  EXPECT_DOUBLE_EQ(QuantityOf("ring, KiB", point), 4 * 64 * (128 + 256) * 2 / 1024.0);
  EXPECT_DOUBLE_EQ(QuantityOf("tile rows / columns", point), 0.5);
}

TEST(KernelTraits, ReadsATinyConfiguration) {
  const Point point = TinyPoint(8);
  EXPECT_EQ(TextOf("tile", point), "32 x 8");
  EXPECT_EQ(TextOf("k-block", point), "64");
  EXPECT_EQ(TextOf("stages", point), "none");
  EXPECT_EQ(TextOf("split", point), "8");
  EXPECT_EQ(TextOf("meeting", point), "warps + cluster");
  EXPECT_EQ(TextOf("cluster", point), "none");
  EXPECT_EQ(TextOf("turns", point), "a CTA a tile");
  EXPECT_EQ(TextOf("raster", point), "none");
  EXPECT_EQ(TextOf("store", point), "registers");
  EXPECT_DOUBLE_EQ(QuantityOf("warps that share K", point), 4);
}

TEST(KernelTraits, TellsWhereAMmaSyncKernelAddsUp) {
  Point point = {"mma_sync", {{"splits", 4}, {"split_cluster", 0}, {"warps_k", 1}}};
  EXPECT_EQ(TextOf("meeting", point), "second kernel");
  point.config["split_cluster"] = 1;
  EXPECT_EQ(TextOf("meeting", point), "cluster");
  EXPECT_EQ(TextOf("split", point), "4");
}

TEST(KernelTraits, KnowsNothingOfAFamilyWithoutSuchParameters) {
  const Point point = {"someone's", {}};
  EXPECT_EQ(TextOf("family", point), "someone's");
  EXPECT_EQ(TextOf("tile", point), "none");
  for (const Quantity& quantity : Quantities()) EXPECT_FALSE(quantity.of(point)) << quantity.name;
}

// As a damaged file has them; run under UBSan.
TEST(KernelTraits, NumbersBeyondIntegersAreStillNumbers) {
  Point point = WgmmaPoint(INT64_MAX, INT64_MAX, INT64_MAX);
  point.config["splits"] = INT64_MAX;
  EXPECT_EQ(TextOf("tile", point), "9223372036854775808 x 256");
  EXPECT_EQ(TextOf("split", point).substr(0, 6), "850705");
}

// A parameter that was renamed in a family would leave its trait without a value.
TEST(KernelTraits, EveryFamilyHasItsTraits) {
  const std::set<std::string_view> every = {"family", "tile", "k-block", "split", "overlap"};
  for (const hgemm::Family& family : hgemm::Families()) {
    const Point point = {std::string(family.name), family.defaults()};
    for (const std::string_view trait : every) {
      EXPECT_NE(TextOf(trait, point), "none") << family.name << " " << trait;
    }
  }
}

TEST(KernelTraits, EveryQuantityBelongsToATrait) {
  std::set<std::string_view> traits;
  for (const Trait& trait : Traits()) EXPECT_TRUE(traits.insert(trait.name).second) << trait.name;
  for (const Quantity& quantity : Quantities()) {
    EXPECT_TRUE(traits.contains(quantity.trait)) << quantity.name;
  }
}

}  // namespace
}  // namespace warpsmith::analysis
