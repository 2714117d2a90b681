#include "agent/prompt_writer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace warpsmith::agent {
namespace {

TEST(TechniqueIn, ReadsItAsModelsWriteIt) {
  const struct {
    const char *reply, *name, *description;
  } cases[] = {
      {"TECHNIQUE: split-k - sums over slices of K\n", "split-k", "sums over slices of K"},
      {"Sure!\n\n**Technique:** `Warp Shuffle Reduction`: one warp a row\n",
       "warp-shuffle-reduction", "one warp a row"},
      {"## TECHNIQUE: online-softmax \xE2\x80\x94 one pass\n", "online-softmax", "one pass"},
      {"technique: fusion\n", "fusion", ""},
      {"TECHNIQUE: vectorized-access (128 bit)\n", "vectorized-access", "128 bit)"},
  };
  for (const auto& one : cases) {
    const auto named = TechniqueIn(one.reply);
    ASSERT_TRUE(named.has_value()) << one.reply;
    EXPECT_EQ(named->name, one.name);
    EXPECT_EQ(named->description, one.description);
  }
}

TEST(TechniqueIn, CodeNamesNothing) {
  EXPECT_FALSE(TechniqueIn("```cuda\n// x\nTECHNIQUE: a - b\n```\n").has_value());
  EXPECT_FALSE(TechniqueIn("TECHNIQUE: \xff\xfe!!\n").has_value());
  EXPECT_FALSE(TechniqueIn("").has_value());
}

RC_GTEST_PROP(TechniqueIn, WhatItFindsMayGoIntoTheBase, (const std::string& text)) {
  const auto named = TechniqueIn("TECHNIQUE: " + text);
  if (!named) return;
  const knowledge::Technique technique{named->name, named->description,
                                       std::string(knowledge::kModelSource)};
  RC_ASSERT(knowledge::Check(technique).ok());
}

}  // namespace
}  // namespace warpsmith::agent
