#include "judge/baseline/gemm_baseline.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace warpsmith::baseline {
namespace {

using testing::HasSubstr;

GemmBaselineChoice Sample() {
  cuda::LtAlgorithm algorithm;
  for (size_t i = 0; i < algorithm.bytes.size(); ++i) algorithm.bytes[i] = 0xfedcba9876543210 + i;
  return {.name = {GemmLibrary::kLtAuto, {}},
          .shape = {.m = 64, .n = 128, .k = 256, .layout = cuda::GemmLayout::kTN},
          .algorithm = algorithm,
          .median_us = 2.125,
          .tried = 187,
          .library = "cuBLASLt 13.1.0",
          .mode = Mode::kServer,
          .contest = "j1/contest2"};
}

TEST(GemmBaselineName, EveryNameReadsBackAsItself) {
  EXPECT_EQ(GemmBaselineNames().size(), 9U);
  for (const std::string& name : GemmBaselineNames()) {
    EXPECT_EQ(Text(ParseGemmBaselineName(name).value()), name);
  }
}

TEST(GemmBaselineName, ALibraryIsNamedByItsPath) {
  const auto name = ParseGemmBaselineName("lib:/opt/kernels-nn");
  ASSERT_TRUE(name.ok());
  EXPECT_EQ(name->path, "/opt/kernels-nn");
  EXPECT_EQ(Text(*name), "lib:/opt/kernels-nn");
  GemmBaselineChoice choice = Sample();
  choice.name = *name;
  choice.algorithm.reset();
  const auto back = GemmBaselineChoiceFromText(ToText(choice));
  ASSERT_TRUE(back.ok()) << back.error().Line();
  EXPECT_EQ(back->name, *name);
}

TEST(GemmBaselineName, WithoutASuffixTheLayoutIsOpen) {
  EXPECT_EQ(ParseGemmBaselineName("cublaslt-auto")->layout, std::nullopt);
  EXPECT_EQ(ParseGemmBaselineName("cublas-nn")->layout, cuda::GemmLayout::kNN);
}

TEST(GemmBaselineName, UnknownNamesAreRefusedWithTheKnownOnes) {
  for (const char* name : {"", "-nn", "cublaslt", "cublaslt-auto-nt", "cutlass"}) {
    const auto parsed = ParseGemmBaselineName(name);
    ASSERT_FALSE(parsed.ok()) << name;
    EXPECT_EQ(parsed.error().code, ErrorCode::kUsage);
    EXPECT_THAT(parsed.error().Line(), HasSubstr("cublaslt-heuristic-tn"));
  }
}

TEST(GemmBaselineChoice, SurvivesItsText) {
  const GemmBaselineChoice choice = Sample();
  const GemmBaselineChoice read = GemmBaselineChoiceFromText(ToText(choice)).value();
  EXPECT_EQ(read.name, choice.name);
  EXPECT_EQ(read.shape.layout, choice.shape.layout);
  EXPECT_EQ(read.shape.k, 256);
  EXPECT_EQ(read.algorithm->bytes, choice.algorithm->bytes);
  EXPECT_EQ(read.median_us, 2.125);
  EXPECT_EQ(read.tried, 187);
  EXPECT_EQ(read.library, choice.library);
  EXPECT_EQ(read.mode, Mode::kServer);
  EXPECT_EQ(read.contest, "j1/contest2");
  EXPECT_FALSE(read.exhaustive);
}

// What today's program finds in files that were written before.
TEST(GemmBaselineChoice, VersionOneKnewNoModesAndNoContests) {
  nlohmann::json old = ToJson(Sample());
  old["version"] = 1;
  for (const char* field : {"mode", "contest", "listed_us"}) old.erase(field);
  const auto read = GemmBaselineChoiceFromText(old.dump());
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(read->mode, Mode::kDeviceHot);
  EXPECT_EQ(read->contest, "");
  EXPECT_EQ(read->median_us, 2.125);
}

// Choices were kept and recorded before there was another type.
TEST(GemmBaselineChoice, SaysItsTypeWhereItIsNotFp16) {
  GemmBaselineChoice choice = Sample();
  EXPECT_THAT(ToText(choice), testing::Not(HasSubstr("dtype")));
  EXPECT_EQ(GemmBaselineChoiceFromText(ToText(choice))->shape.type, cuda::HalfType::kF16);
  choice.shape.type = cuda::HalfType::kBF16;
  EXPECT_THAT(ToText(choice), HasSubstr("\"dtype\":\"bf16\""));
  EXPECT_EQ(GemmBaselineChoiceFromText(ToText(choice))->shape.type, cuda::HalfType::kBF16);
}

TEST(GemmBaselineChoice, RefusesWhatItCannotBe) {
  using nlohmann::json;
  const std::pair<const char*, json> changes[] = {
      {"layout", "NT"}, {"m", 0},         {"k", -5},          {"version", 3},   {"tried", 0},
      {"name", "x"},    {"dtype", "f32"}, {"algorithm", "0"}, {"extra", true},  {"n", 1.5},
      {"library", 3},   {"mode", "hot"},  {"contest", 2},     {"exhaustive", 1}};
  for (const auto& [field, value] : changes) {
    json changed = ToJson(Sample());
    changed[field] = value;
    EXPECT_FALSE(GemmBaselineChoiceFromText(changed.dump()).ok()) << field;
  }
  EXPECT_FALSE(GemmBaselineChoiceFromText("{").ok());
}

TEST(GemmBaselineChoice, AnAlgorithmIsCublasLtsAndOnlyItsOwn) {
  nlohmann::json without = ToJson(Sample());
  without.erase("algorithm");
  EXPECT_TRUE(GemmBaselineChoiceFromText(without.dump()).ok()) << "the bar may be cublasGemmEx";
  without["name"] = "cublaslt-auto-tn";
  EXPECT_FALSE(GemmBaselineChoiceFromText(without.dump()).ok());
  without["name"] = "cublas";
  EXPECT_TRUE(GemmBaselineChoiceFromText(without.dump()).ok());
}

TEST(CallOf, IsEqualForEqualCallsWhateverTheyAreCalled) {
  GemmBaselineChoice choice = Sample();
  EXPECT_EQ(CallOf(choice), "cublasLtMatmul TN " + cuda::ToHex(*choice.algorithm));
  GemmBaselineChoice heuristic = choice;
  heuristic.name = {GemmLibrary::kLtHeuristic, cuda::GemmLayout::kTN};
  heuristic.mode = Mode::kOffline;
  EXPECT_EQ(CallOf(heuristic), CallOf(choice));
  choice.algorithm.reset();
  EXPECT_EQ(CallOf(choice), "cublasGemmEx TN");
}

}  // namespace
}  // namespace warpsmith::baseline
