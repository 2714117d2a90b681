#include "report/knowledge_report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "agent/knowledge/facts.h"
#include "core/step.h"

namespace warpsmith::report {
namespace {

using knowledge::Overview;
using knowledge::OverviewOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// A base with something of everything. The figures are made up, and some strings are what a
// hostile model would like to see in a page.
knowledge::Outcome SampleOutcome(int64_t step, const char* technique, const char* previous,
                                 const char* architecture, double log_gain) {
  return {TextOf(StepReference{"softmax", step}),
          "memory-latency",
          technique,
          {architecture, "f16", "nvrtc 13.0", previous},
          "5f2c",
          knowledge::Rounded(log_gain),
          std::nullopt,
          "2026-11-21T10:00:00Z"};
}

knowledge::Contents SampleKnowledge() {
  knowledge::Contents contents;
  contents.states = {{"memory-latency", knowledge::Origin::kKnown, "warps wait for memory"},
                     {"barrier", knowledge::Origin::kKnown, "warps wait for each other"},
                     {"odd-one", knowledge::Origin::kDiscovered, std::string("says <b>&")}};
  contents.techniques = {{"fusion", "one kernel instead of two", "CUDA guide"},
                         {"padding", "rows of shared memory made longer", "CUDA guide"},
                         {"wide-loads", "16 bytes a load", "CUDA guide"}};
  contents.priors = {{"barrier", "fusion", 0.2, 0.1, 2, 0.9, "a guess"}};
  for (int64_t step = 0; step < 6; ++step) {
    const double noise = 0.01 * static_cast<double>(step);
    contents.outcomes.push_back(
        SampleOutcome(step, "wide-loads", step % 2 == 0 ? "fusion" : "", "sm_90a", 0.25 + noise));
    contents.outcomes.push_back(
        SampleOutcome(step + 10, "fusion", "", step < 4 ? "sm_80" : "sm_90a", 0.1 - noise));
  }
  knowledge::Outcome hang = SampleOutcome(20, "padding", "fusion", "sm_90a", 0);
  hang.log_gain.reset();
  hang.failure = knowledge::Failure::kHang;
  contents.outcomes.push_back(hang);
  contents.notes = {{"memory-latency", "padding", "waits for a block that never starts",
                     "perf-gap-analysis", hang.evidence},
                    {"barrier", "", "</script><script>alert(1)</script>", "person", ""}};
  return knowledge::InOrder(std::move(contents)).value();
}

const KnowledgeTitle kTitle = {"sample", "warpsmith test"};

Overview SeenFromHere() {
  knowledge::Viewpoint here;
  here.architecture = "sm_90a";
  return OverviewOf(SampleKnowledge(), here);
}

TEST(RenderStates, ShowsEachStatesMostPromisingTechniques) {
  const std::string table = RenderStates(OverviewOf(SampleKnowledge(), {}), 1, Colour::kNone);
  EXPECT_THAT(table, ContainsRegex("memory-latency +wide-loads +1\\.[0-9]+x"));
  EXPECT_THAT(table, ContainsRegex("barrier +fusion"));
  EXPECT_THAT(table, ContainsRegex("odd-one\n"));
  EXPECT_THAT(table, Not(HasSubstr("padding")));
}

TEST(RenderState, ShowsTheDiscountOnForeignEvidenceAndWhyThingsFailed) {
  const std::string text = RenderState(SeenFromHere(), "memory-latency", Colour::kNone);
  EXPECT_THAT(text, HasSubstr("fusion: 4 attempts that differ in architecture count 0.22 each"));
  EXPECT_THAT(text, HasSubstr("4 count 0.89"));
  EXPECT_THAT(text, HasSubstr("padding: hang (run:softmax#20)"));
  EXPECT_THAT(text, HasSubstr("waits for a block that never starts"));
  EXPECT_EQ(RenderState(SeenFromHere(), "unheard-of", Colour::kNone), "");
}

TEST(RenderState, CutsListsThatAreLong) {
  knowledge::Contents contents = SampleKnowledge();
  for (int64_t step = 100; step < 150; ++step) {
    knowledge::Outcome crash = SampleOutcome(step, "padding", "", "sm_90a", 0);
    crash.log_gain.reset();
    crash.failure = knowledge::Failure::kCrash;
    contents.outcomes.push_back(crash);
  }
  const std::string text = RenderState(OverviewOf(contents, {}), "memory-latency", Colour::kNone);
  EXPECT_THAT(text, HasSubstr("  and 31 more\n"));
}

TEST(RenderTransitions, ShowsWhatPaysAfterWhat) {
  const std::string text = RenderTransitions(SeenFromHere(), 5, Colour::kNone);
  EXPECT_THAT(text, ContainsRegex("fusion +wide-loads +1\\.31x +3"));
  EXPECT_THAT(text, Not(HasSubstr("padding")));  // it never worked
}

TEST(KnowledgeLine, CountsAndSaysFromWhereItIsSeen) {
  EXPECT_THAT(KnowledgeLine(SeenFromHere(), kTitle),
              HasSubstr("sample: 3 states (1 discovered), 3 techniques, 1 guesses; 12 outcomes "
                        "measured, 1 failed, of 1 tasks; 2 notes\nseen from architecture sm_90a"));
}

TEST(ToJson, HoldsEveryOutcomeWithItsReasons) {
  const nlohmann::json json = ToJson(SeenFromHere(), kTitle);
  EXPECT_EQ(json["schema"], "warpsmith.knowledge");
  EXPECT_EQ(json["outcomes"].size(), 13U);
  EXPECT_EQ(json["outcomes"][0]["failure"], "hang");  // failures are listed first
  EXPECT_EQ(json["outcomes"][0]["reasons"][0], "waits for a block that never starts");
  EXPECT_EQ(json["outcomes_in_all"], 13);
}

TEST(ToHtml, AKnowledgePageKeepsHostileTextText) {
  const std::string html = ToHtml(SeenFromHere(), kTitle);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("wide-loads"));
  EXPECT_THAT(html, Not(HasSubstr("{{script}}")));
}

}  // namespace
}  // namespace warpsmith::report
