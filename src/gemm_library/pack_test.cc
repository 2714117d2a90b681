#include "gemm_library/pack.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "hgemm/family.h"

namespace warpsmith::gemm_library {
namespace {

using ::testing::HasSubstr;

Pack ExamplePack() {
  const hgemm::Problem problem{512, 512, 512};
  static const Space space = hgemm::SpaceFor(problem, {});  // takes a while
  Pack pack;
  pack.architecture = "sm_90a";
  pack.toolkit = "nvrtc 13.0";
  for (const size_t index : {size_t{0}, space.size() - 1}) {
    const Candidate candidate = hgemm::MakeCandidate(problem, space.points()[index]).value();
    pack.kernels.push_back({space.points()[index], problem.layout, DType::kF16, candidate.plan,
                            std::string(5000, static_cast<char>('a' + index % 7))});
  }
  hgemm::CatalogueRow row;
  row.problem = problem;
  row.device = "NVIDIA H200";
  row.choice = hgemm::Choice::kKernel;
  row.kernel = pack.kernels[1].point;
  row.candidate = row.plan_id = row.artifact = std::string(64, '0');
  row.results = {{Mode::kDeviceHot, "cublaslt-auto", 1, 1.5, 1.5, {1.4, 1.6}}};
  row.architecture = row.driver = row.toolkit = row.library = row.level = row.date = "x";
  pack.catalogue.rows = {row};
  pack.rows = {{1, "ab"}};
  return pack;
}

std::string PackErrorOf(const std::string& bytes) {
  const auto read = ReadPack("p", bytes);
  return read.ok() ? "" : read.error().message;
}

TEST(PackTest, ReadsWhatItWrites) {
  const std::string bytes = WritePack(ExamplePack()).value();
  const auto read = ReadPack("p", bytes);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(read->architecture, "sm_90a");
  ASSERT_EQ(read->kernels.size(), 2U);
  EXPECT_EQ(read->kernels[1].point, ExamplePack().kernels[1].point);
  EXPECT_EQ(Image(read->kernels[1]).value(), ExamplePack().kernels[1].image);
  EXPECT_EQ(read->kernels[0].plan.operations.size(),
            ExamplePack().kernels[0].plan.operations.size());
  EXPECT_EQ(read->rows[0].kernel, 1);
  EXPECT_EQ(read->rows[0].lt_algorithm, "ab");
  EXPECT_EQ(WritePack(ExamplePack()).value(), bytes);
}

TEST(PackTest, WhatIsNoPackIsSaidInOneLine) {
  const std::string good = WritePack(ExamplePack()).value();
  EXPECT_THAT(PackErrorOf(""), HasSubstr("does not begin like one"));
  EXPECT_THAT(PackErrorOf("\x7f"
                          "ELF and more"),
              HasSubstr("does not begin like one"));
  EXPECT_THAT(PackErrorOf(good.substr(0, 33)), HasSubstr("cut off"));
  EXPECT_THAT(PackErrorOf(good.substr(0, 100)), HasSubstr("cut off"));
  std::string newer = good;
  newer[newer.find('\n') - 1] = '2';
  EXPECT_EQ(ReadPack("p", newer).error().code, ErrorCode::kVersion);
}

TEST(PackTest, ARowMustNameAKernelOfItsOwnKind) {
  Pack pack = ExamplePack();
  pack.rows[0].kernel = 0;
  EXPECT_THAT(PackErrorOf(WritePack(pack).value()),
              HasSubstr("the kernel that the catalogue names"));
  pack.rows[0].kernel = 2;
  EXPECT_THAT(PackErrorOf(WritePack(pack).value()), HasSubstr("rows[0].kernel"));
}

TEST(PackTest, ATileOfNoRowsIsRefusedAndAParameterOfALaterVersionIsNot) {
  Pack pack = ExamplePack();
  ASSERT_EQ(pack.kernels[1].point.family, "wgmma");
  pack.catalogue.rows[0].kernel.config["invented"] = pack.kernels[1].point.config["invented"] = 9;
  EXPECT_EQ(PackErrorOf(WritePack(pack).value()), "");
  pack.kernels[1].point.config["tile_m"] = 0;
  EXPECT_THAT(PackErrorOf(WritePack(pack).value()),
              HasSubstr("kernels[1].name: expected a kernel: no kernel of family 'wgmma' has "
                        "tile_m=0"));
}

// Rows of one kernel share it, whether or not they were written before a parameter was there.
TEST(PackTest, ARowMayLackWhatCameLater) {
  for (const bool kernel_lacks_it : {false, true}) {
    Pack pack = ExamplePack();
    Config& config =
        kernel_lacks_it ? pack.kernels[1].point.config : pack.catalogue.rows[0].kernel.config;
    ASSERT_EQ(config.at("l2_promotion"), 256);
    config.erase("l2_promotion");
    EXPECT_EQ(PackErrorOf(WritePack(pack).value()), "");
    config["l2_promotion"] = 128;
    EXPECT_THAT(PackErrorOf(WritePack(pack).value()),
                HasSubstr("the kernel that the catalogue names"));
  }
}

TEST(PackTest, PlansThatNeedMemoryOfTheirOwnAreRefused) {
  Pack pack = ExamplePack();
  pack.kernels[0].plan.operations.emplace_back(CopyOperation{"C", "A", Expression::Constant(2)});
  EXPECT_FALSE(WritePack(pack).ok());
  pack = ExamplePack();
  std::get<LaunchOperation>(pack.kernels[0].plan.operations[0])
      .arguments.emplace_back(TableArgument{{1, 2}});
  EXPECT_FALSE(WritePack(pack).ok());
}

TEST(PackTest, DamageAnywhereIsNoticedOrDoesNothing) {
  const std::string good = WritePack(ExamplePack()).value();
  const Pack whole = ReadPack("p", good).value();
  EXPECT_TRUE(rc::check([&] {
    std::string bytes = good;
    const size_t place = *rc::gen::inRange<size_t>(0, bytes.size());
    bytes[place] = static_cast<char>(bytes[place] ^ *rc::gen::inRange(1, 256));
    const auto read = ReadPack("p", bytes);
    if (!read.ok()) return;
    for (size_t i = 0; i < whole.kernels.size(); ++i) {
      const auto image = Image(read->kernels[i]);
      // In parentheses: RC_ASSERT's own || looks at both sides.
      RC_ASSERT((!image.ok() || *image == *Image(whole.kernels[i])));
    }
  }));
}

}  // namespace
}  // namespace warpsmith::gemm_library
