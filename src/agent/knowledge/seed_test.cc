
#include <gmock/gmock.h>

#include <set>

#include "agent/knowledge/knowledge_base.h"
#include "agent/knowledge/knowledge_text.h"
#include "base/file.h"

namespace warpsmith::knowledge {
namespace {

TEST(Seed, IsInCanonicalForm) { EXPECT_EQ(ToText(Seed()), SeedText()); }

TEST(Seed, GuessesAndMeasuresNothing) {
  const Contents seed = Seed();
  EXPECT_TRUE(seed.outcomes.empty());
  EXPECT_GE(seed.techniques.size(), 25U);
  for (const Prior& prior : seed.priors) EXPECT_LE(prior.weight, 4) << prior.technique;
}

TEST(Seed, GivesEveryTechniqueASourceAndAUse) {
  const Contents seed = Seed();
  std::set<std::string> used;
  for (const Prior& prior : seed.priors) used.insert(prior.technique);
  for (const Technique& technique : seed.techniques) {
    EXPECT_THAT(technique.source, testing::ContainsRegex("Guide: |PTX ISA: ")) << technique.name;
    EXPECT_TRUE(used.contains(technique.name)) << technique.name;
  }
}

TEST(Seed, OffersSomethingInEveryState) {
  const Contents seed = Seed();
  std::set<std::string> served;
  for (const Prior& prior : seed.priors) served.insert(prior.state);
  for (const State& state : seed.states) EXPECT_TRUE(served.contains(state.name)) << state.name;
}

TEST(Seed, FillsABaseThatDrawsFromIt) {
  const auto folder = TemporaryDirectory::Create("seed").value();
  auto base = KnowledgeBase::Open(folder.path() / "kb", store::Durability::kProcessDeath,
                                  store::WhenMissing::kCreate)
                  .value();
  base->Take(Seed()).value();
  EXPECT_EQ(ToText(base->Read().value()), SeedText());
  std::vector<std::string> names;
  const std::vector<Technique> techniques = base->Techniques().value();
  for (const Technique& technique : techniques) names.push_back(technique.name);
  Random random(1, "seed");
  int fusion = 0;
  for (int i = 0; i < 100; ++i) {
    const auto choices =
        base->Draw({"memory-bandwidth/launch-bound", {}, ""}, names, 3, random).value();
    ASSERT_EQ(choices.size(), 3U);
    for (const Choice& choice : choices)
      fusion += static_cast<int>(choice.technique == "kernel-fusion");
  }
  EXPECT_GT(fusion, 60);
}

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
