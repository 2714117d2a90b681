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
  EXPECT_NE(prompt.find("no profile could be taken"), std::string::npos);
}

TEST(ContrastivePrompt, WithoutVariantsAsksForAFirstKernel) {
  const std::string prompt = PromptOf(GemmTask(), {});
  EXPECT_EQ(prompt.find("Variant"), std::string::npos);
  EXPECT_NE(prompt.find(GemmTask().name), std::string::npos);
}

}  // namespace
}  // namespace warpsmith::prompts
