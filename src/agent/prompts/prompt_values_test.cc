#include "agent/prompts/prompt_values.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

#include "agent/prompts/prompt_values.h"
#include "core/tests/gemm_example.h"

namespace warpsmith::prompts {
namespace {

TEST(DrawExemplars, AreOfDifferentBucketsAndTheBestComesFirst) {
  const std::vector<double> scores = {0.0, 0.01, 0.5, 0.51, 1.0, -0.7};
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed, "test");
    const std::vector<size_t> drawn = DrawExemplars(scores, {.most = 3}, random);
    ASSERT_EQ(drawn.size(), 3U);
    std::set<int64_t> buckets;
    for (const size_t one : drawn) buckets.insert(std::llround(scores[one] / 0.1));
    EXPECT_EQ(buckets.size(), 3U);
    EXPECT_GT(scores[drawn[0]], scores[drawn[1]]);
    EXPECT_GT(scores[drawn[1]], scores[drawn[2]]);
  }
}

TEST(DrawExemplars, GivesWhatThereIs) {
  Random random(1, "test");
  EXPECT_TRUE(DrawExemplars({}, {}, random).empty());
  const std::array<double, 3> alike = {0.2, 0.2, 0.2};
  EXPECT_EQ(DrawExemplars(alike, {.most = 3}, random).size(), 1U);
}

// P is proportional to exp((mean of the bucket - mean of all) / tau).
TEST(DrawExemplars, DrawsABucketByItsScore) {
  const std::array<double, 2> scores = {0.0, 0.2};
  Random random(7, "test");
  int better = 0;
  constexpr int kDraws = 4000;
  for (int i = 0; i < kDraws; ++i) {
    better += DrawExemplars(scores, {.most = 1, .tau = 0.2}, random).front() == 1 ? 1 : 0;
  }
  EXPECT_NEAR(better / double{kDraws}, std::exp(1) / (1 + std::exp(1)), 0.03);
}

std::string PromptOf(const Task& task, std::vector<Variant> variants) {
  return ContrastivePrompt({.device = "a GPU (sm_90a)",
                            .task_name = task.name,
                            .facts = TaskFacts(task),
                            .reference = ReferenceText(task),
                            .form = Form::kKernel,
                            .variants = std::move(variants),
                            .profile = {},
                            .documents = {}});
}

TEST(ContrastivePrompt, ShowsEachVariantWithItsScoreAndInterval) {
  const Candidate candidate = GemmCandidate();
  const std::string prompt =
      PromptOf(GemmTask(), {{&candidate, 1.25, {1.2, 1.3}}, {&candidate, std::nullopt, {}}});
  EXPECT_NE(prompt.find("## Variant 1: score 1.25x [1.2x, 1.3x]"), std::string::npos);
  EXPECT_NE(prompt.find("## Variant 2: score unknown"), std::string::npos);
  EXPECT_NE(prompt.find("a GPU (sm_90a)"), std::string::npos);
  EXPECT_EQ(prompt.find("# Profile"), std::string::npos);
  EXPECT_EQ(prompt.find("# Passages"), std::string::npos);
  EXPECT_NE(prompt.find("primary baseline's time divided by its own"), std::string::npos);
}

TEST(ContrastivePrompt, ShowsAProfileAndDocumentsWhereThereAreAny) {
  const Candidate candidate = GemmCandidate();
  Contrast contrast;
  contrast.variants = {{&candidate, 1.25, {1.2, 1.3}}};
  contrast.profile = "busy\n";
  contrast.documents = "a passage";
  const std::string prompt = ContrastivePrompt(contrast);
  EXPECT_NE(prompt.find("# Profile of the best of them\n\nbusy\n\n# Passages from documents\n\n"
                        "```\na passage\n```\n\nText in fences"),
            std::string::npos)
      << prompt;
}

TEST(VariantsText, ShowsAFileThatSeveralHaveOnce) {
  Candidate first, second;
  first.form = second.form = Form::kProgram;
  first.sources = {{"a.cu", "int a;"}, {"common.cuh", "int c;"}};
  second.sources = {{"a.cu", "int b;"}, {"common.cuh", "int c;"}};
  const Candidate third = second;
  const std::vector<Variant> variants = {
      {&first, 2, {2, 2}}, {&second, 1, {1, 1}}, {&third, 0.5, {0.5, 0.5}}};
  EXPECT_EQ(VariantsText(variants, true),
            "## Variant 1: score 2x [2x, 2x]\n\na.cu\n```\nint a;\n```\n\n"
            "common.cuh\n```\nint c;\n```\n\n"
            "## Variant 2: score 1x [1x, 1x]\n\na.cu\n```\nint b;\n```\n"
            "common.cuh: as in variant 1\n\n"
            "## Variant 3: score 0.5x [0.5x, 0.5x]\n\na.cu: as in variant 2\n"
            "common.cuh: as in variant 1\n\n");
}

TEST(VariantsText, ShowsAConfigurationAloneWhereRepliesMayBeOne) {
  Candidate candidate = GemmCandidate();
  candidate.provenance.family = "tiny";
  candidate.provenance.config = {{"tile_m", 16}};
  const std::vector<Variant> variants = {{&candidate, 2, {2, 2}}};
  EXPECT_EQ(VariantsText(variants, true),
            "## Variant 1: score 2x [2x, 2x]\n\n```\n"
            "{\"family\":\"tiny\",\"values\":{\"tile_m\":16}}\n```\n\n");
  EXPECT_NE(VariantsText(variants, false).find("Its launch plan"), std::string::npos);
  for (const bool has_variants : {false, true}) {
    Contrast contrast;
    if (has_variants) contrast.variants = variants;
    contrast.configurations = "tiny {\"tile_m\":[16]}\n";
    EXPECT_NE(ContrastivePrompt(contrast).find("```\ntiny {\"tile_m\":[16]}\n```"),
              std::string::npos);
  }
}

TEST(ContrastivePrompt, WithoutVariantsAsksForAFirstKernel) {
  const std::string prompt = PromptOf(GemmTask(), {});
  EXPECT_EQ(prompt.find("Variant"), std::string::npos);
  EXPECT_NE(prompt.find(GemmTask().name), std::string::npos);
}

}  // namespace
}  // namespace warpsmith::prompts
