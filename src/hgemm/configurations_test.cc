#include "hgemm/configurations.h"

#include <gmock/gmock.h>

#include "hgemm/family.h"

namespace warpsmith::hgemm {
namespace {

CatalogueRow ConfigurationRow(const Problem& problem, int64_t warp_m,
                              Choice choice = Choice::kKernel) {
  CatalogueRow row;
  row.problem = problem;
  row.choice = choice;
  row.kernel = {"tiny", {{"warp_m", warp_m}}};
  return row;
}

TEST(OneOfEachConfigurationTest, TakesTheSmallestShapeOfEachThatWasChosen) {
  const Catalogue catalogue{{ConfigurationRow({512, 512, 512, Layout::kTN}, 16),
                             ConfigurationRow({64, 64, 128, Layout::kTN}, 16),
                             ConfigurationRow({256, 64, 64, Layout::kTN}, 32),
                             ConfigurationRow({64, 64, 64, Layout::kTN}, 64, Choice::kCublasLt),
                             ConfigurationRow({128, 64, 64, Layout::kNN}, 16)}};
  std::vector<Problem> problems;
  for (const CatalogueRow& row : OneOfEachConfiguration(catalogue)) problems.push_back(row.problem);
  // 64x64x128 and 128x64x64 are as large as each other: they stay in their order.
  EXPECT_THAT(problems, ::testing::ElementsAre(Problem{64, 64, 128, Layout::kTN},
                                               Problem{128, 64, 64, Layout::kNN},
                                               Problem{256, 64, 64, Layout::kTN}));
  EXPECT_TRUE(OneOfEachConfiguration({}).empty());
}

TEST(OneOfEachConfigurationTest, ARowMayBeOlderThanAParameter) {
  Catalogue catalogue{{ConfigurationRow({64, 64, 128}, 16), ConfigurationRow({64, 64, 256}, 16)}};
  catalogue.rows[1].kernel = WithAllParameters(catalogue.rows[1].kernel);
  EXPECT_THAT(OneOfEachConfiguration(catalogue), ::testing::SizeIs(1));
  ++catalogue.rows[1].kernel.config["overlap"];
  EXPECT_THAT(OneOfEachConfiguration(catalogue), ::testing::SizeIs(2));
}

}  // namespace
}  // namespace warpsmith::hgemm
