// The bases of real runs that are shipped beside the seed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/knowledge/knowledge_base.h"
#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/seed.h"
#include "base/file.h"

namespace warpsmith::knowledge {
namespace {

std::string ShippedText() {
  const auto path = FindShippedFile("data/knowledge/h200.jsonl");
  return ReadFile(path.value()).value();
}

Contents Shipped() { return ContentsFromText("h200.jsonl", ShippedText()).value(); }

TEST(ShippedBase, IsInCanonicalForm) { EXPECT_EQ(ToText(Shipped()), ShippedText()); }

TEST(ShippedBase, HoldsTheSeedAndEvidence) {
  const Contents shipped = Shipped();
  EXPECT_THAT(shipped.priors, testing::SizeIs(Seed().priors.size()));
  EXPECT_GT(shipped.outcomes.size(), 200U);
  for (const Outcome& outcome : shipped.outcomes) {
    EXPECT_EQ(outcome.context.architecture, "sm_90a");
    EXPECT_THAT(outcome.evidence, testing::StartsWith("run:"));
  }
}

TEST(ShippedBase, DescribesWhatTheSeedDescribes) {
  const Contents shipped = Shipped();
  for (const Technique& technique : Seed().techniques) {
    EXPECT_THAT(shipped.techniques, testing::Contains(technique));
  }
}

TEST(ShippedBase, IsTakenIntoABaseThatBeganWithTheSeed) {
  const auto folder = TemporaryDirectory::Create("shipped").value();
  auto base = KnowledgeBase::Open(folder.path() / "kb", store::Durability::kProcessDeath,
                                  store::WhenMissing::kCreate)
                  .value();
  ASSERT_TRUE(base->Take(Seed()).ok());
  const auto taken = base->Take(Shipped());
  ASSERT_TRUE(taken.ok()) << taken.error().Line();
  EXPECT_EQ(ToText(base->Read().value()), ShippedText());
}

}  // namespace
}  // namespace warpsmith::knowledge
