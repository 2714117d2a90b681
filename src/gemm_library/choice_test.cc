#include "gemm_library/choice.h"

#include <gmock/gmock.h>

#include <map>
#include <set>

namespace warpsmith::gemm_library {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr hgemm::Target kTarget;

hgemm::CatalogueRow Row(const hgemm::Problem& problem, hgemm::Choice choice, const Point& kernel) {
  hgemm::CatalogueRow row;
  row.problem = problem;
  row.device = "NVIDIA H200";
  row.choice = choice;
  row.kernel = kernel;
  row.library = "cuBLASLt 13.1.0";
  row.results = {{Mode::kDeviceHot, "cublaslt-auto", 1, 1.5, 1.5, {1.4, 1.6}}};
  return row;
}

Pack MakeExample() {
  Pack pack;
  for (const int64_t size : {256, 512, 1024}) {
    const hgemm::Problem problem{size, size, size};
    const Space space = hgemm::SpaceFor(problem, kTarget);
    const Point& point = space.points().back();
    pack.kernels.push_back({point, problem.layout, DType::kF16,
                            hgemm::MakeCandidate(problem, point).value().plan, ""});
    pack.catalogue.rows.push_back(Row(problem, hgemm::Choice::kKernel, point));
    pack.rows.push_back({static_cast<int>(pack.kernels.size()) - 1, "abcd"});
  }
  for (const int64_t k : {640, 1024}) {  // near 512 cubed, with its kernel
    const Point point = pack.kernels[1].point;
    pack.catalogue.rows.push_back(Row({512, 512, k}, hgemm::Choice::kKernel, point));
    pack.rows.push_back({1, "abcd"});
  }
  return pack;
}

// Kernels of wgmma, which take other sizes too; 256, 512 and 1024 cubed chose them.
Pack Example(hgemm::Choice at_512 = hgemm::Choice::kKernel) {
  static const Pack example = MakeExample();  // spaces take a while to enumerate
  Pack pack = example;
  pack.catalogue.rows[1].choice = at_512;
  return pack;
}

TEST(ChoiceTest, AShapeOfTheCatalogueGetsItsKernel) {
  const Chosen chosen =
      Choose(Example(), {.m = 512, .n = 512, .k = 512, .transpose_b = true}, kTarget);
  EXPECT_THAT(chosen.kernels, ::testing::ElementsAre(1U));
  EXPECT_THAT(chosen.reason, HasSubstr("1.500 [1.400, 1.600] x cublaslt-auto (device)"));
}

TEST(ChoiceTest, EachTypeGetsTheKernelOfItsOwnRow) {
  Pack pack = Example();
  hgemm::Problem problem = pack.catalogue.rows[1].problem;
  problem.dtype = DType::kBF16;
  const Point point = pack.kernels[0].point;
  pack.kernels.push_back({point, problem.layout, problem.dtype,
                          hgemm::MakeCandidate(problem, point).value().plan, ""});
  pack.catalogue.rows.push_back(Row(problem, hgemm::Choice::kKernel, point));
  pack.rows.push_back({3, ""});
  for (const auto& [dtype, kernel] : {std::pair(DType::kF16, 1U), {DType::kBF16, 3U}}) {
    const Problem asked{.m = 512, .n = 512, .k = 512, .transpose_b = true, .dtype = dtype};
    EXPECT_THAT(Choose(pack, asked, kTarget).kernels, ::testing::ElementsAre(kernel));
    // The model too chooses among kernels of the type alone.
    Problem near = asked;
    near.m = 384;
    for (const size_t index : Choose(pack, near, kTarget).kernels) {
      EXPECT_EQ(pack.kernels[index].dtype, dtype);
    }
  }
}

TEST(ChoiceTest, WhereCublasLtWasFasterItIsTakenWithItsAlgorithm) {
  const Chosen chosen = Choose(Example(hgemm::Choice::kCublasLt),
                               {.m = 512, .n = 512, .k = 512, .transpose_b = true}, kTarget);
  EXPECT_THAT(chosen.kernels, IsEmpty());
  EXPECT_EQ(chosen.lt_algorithm, "abcd");
  EXPECT_EQ(chosen.lt_version, "cuBLASLt 13.1.0");
}

TEST(ChoiceTest, SaysWhyCublasLtIsTaken) {
  Pack pack = Example(hgemm::Choice::kCublasLt);
  const Problem problem{.m = 512, .n = 512, .k = 512, .transpose_b = true};
  EXPECT_THAT(Choose(pack, problem, kTarget).reason, HasSubstr("chosen against the rule: by hand"));
  pack.catalogue.rows[1].results[0].ratio = 0.9;
  EXPECT_THAT(Choose(pack, problem, kTarget).reason, HasSubstr("its kernel was slower"));
}

TEST(ChoiceTest, AKernelThatWasNotBuiltIsSaidToBeMissing) {
  Pack pack = Example();
  pack.rows[1].kernel = -1;
  const Chosen chosen = Choose(pack, {.m = 512, .n = 512, .k = 512, .transpose_b = true}, kTarget);
  EXPECT_THAT(chosen.kernels, IsEmpty());
  EXPECT_THAT(chosen.reason, HasSubstr("its kernel is not in the pack"));
}

TEST(ChoiceTest, AnotherShapeGetsTheModelsChoiceAmongKernelsThatTakeIt) {
  const Chosen chosen =
      Choose(Example(), {.m = 384, .n = 512, .k = 640, .transpose_b = true}, kTarget);
  EXPECT_FALSE(chosen.kernels.empty());
  EXPECT_THAT(chosen.reason, HasSubstr("not measured in the catalogue; a guess of the cost model"));
  EXPECT_THAT(chosen.reason, HasSubstr(", 512x512x512 (1.500)"));
}

TEST(ChoiceTest, ANeighbourThatLostGivesCublasLt) {
  const Chosen chosen = Choose(Example(hgemm::Choice::kCublasLt),
                               {.m = 384, .n = 512, .k = 640, .transpose_b = true}, kTarget);
  EXPECT_THAT(chosen.kernels, IsEmpty());
  EXPECT_THAT(chosen.reason, HasSubstr("near it, at 512x512x512-TN"));
  EXPECT_THAT(chosen.reason, HasSubstr("chosen against the rule: by hand"));
}

Pack OfRows(const Pack& whole, const std::set<size_t>& rows) {
  Pack pack;
  std::map<int, int> places;  // of the whole pack's kernels
  for (const size_t row : rows) {
    const int kernel = whole.rows[row].kernel;
    const auto [place, is_new] = places.emplace(kernel, static_cast<int>(pack.kernels.size()));
    pack.catalogue.rows.push_back(whole.catalogue.rows[row]);
    pack.rows.push_back({place->second, ""});
    if (is_new) pack.kernels.push_back(whole.kernels[static_cast<size_t>(kernel)]);
  }
  return pack;
}

TEST(ChoiceTest, TheRowsOfAChoiceAreEnoughToMakeItAgain) {
  Pack pack = Example();
  const Space space = hgemm::SpaceFor({512, 512, 512}, kTarget);
  for (int64_t i = 0; i < 16; ++i) {  // far from what is asked; their kernels may be best for it
    const Point& point = space.points()[space.size() * static_cast<size_t>(i) / 16];
    const hgemm::Problem problem{64, 64, 64 + i};
    pack.kernels.push_back({point, problem.layout, DType::kF16,
                            hgemm::MakeCandidate({512, 512, 512}, point).value().plan, ""});
    pack.catalogue.rows.push_back(Row(problem, hgemm::Choice::kKernel, point));
    pack.rows.push_back({static_cast<int>(pack.kernels.size()) - 1, ""});
  }
  for (const hgemm::Choice at_512 : {hgemm::Choice::kKernel, hgemm::Choice::kCublasLt}) {
    pack.catalogue.rows[1].choice = at_512;
    for (const int64_t m : {384, 512, 16}) {
      const Problem problem{.m = m, .n = 512, .k = 512, .transpose_b = true};
      const Chosen chosen = Choose(pack, problem, kTarget);
      const Pack some = OfRows(pack, {chosen.rows.begin(), chosen.rows.end()});
      const Chosen again = Choose(some, problem, kTarget);
      if (!chosen.rows.empty()) {
        EXPECT_EQ(again.reason, chosen.reason);
      }
      ASSERT_EQ(again.kernels.size(), chosen.kernels.size());
      for (size_t i = 0; i < chosen.kernels.size(); ++i) {
        EXPECT_EQ(some.kernels[again.kernels[i]].point, pack.kernels[chosen.kernels[i]].point);
      }
    }
  }
}

TEST(ChoiceTest, WhatNothingIsKnownOfIsCublasLts) {
  const Pack pack = Example();
  const std::string nothing_near = "nor are three shapes near it";
  for (const auto& [problem, reason] : std::vector<std::pair<Problem, std::string>>{
           {{.m = 16, .n = 512, .k = 512, .transpose_b = true}, nothing_near},
           {{.m = 512, .n = 512, .k = 512}, "the pack has no f16 kernels for a row-major B"},
           {{.m = 512, .n = 520, .k = 512, .transpose_b = true},
            "1.4e+08 multiply-adds are above 2^27"},
           {{.m = 512, .n = 512, .k = 120, .transpose_b = true}, "K is below 128"},
           {{.m = 512, .n = 512, .k = 511, .transpose_b = true}, "no kernel takes these sizes"},
           {{.m = 512, .n = 512, .k = 512, .transpose_b = true, .beta = 1}, "alpha 1 and beta 0"},
           {{.m = 512, .n = 512, .k = 512, .transpose_a = true}, "not transposed"},
           {{.m = 512, .n = 512, .k = 512, .transpose_b = true, .dtype = DType::kBF16},
            "the pack has no bf16 kernels"}}) {
    const Chosen chosen = Choose(pack, problem, kTarget);
    EXPECT_THAT(chosen.kernels, IsEmpty());
    EXPECT_THAT(chosen.reason, HasSubstr(reason));
  }
}

TEST(ChoiceTest, AFamilyThatTheModelDoesNotKnowIsNeverItsChoice) {
  Pack pack = Example();
  for (PackKernel& kernel : pack.kernels) kernel.point = {"later", {}};
  const Chosen chosen = Choose(pack, {.m = 384, .n = 512, .k = 640, .transpose_b = true}, kTarget);
  EXPECT_THAT(chosen.kernels, IsEmpty());
}

}  // namespace
}  // namespace warpsmith::gemm_library
