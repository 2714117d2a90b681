#include "agent/prompts/state.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "judge/profile/metrics.h"

namespace warpsmith::prompts {
namespace {

using profile::Bottleneck;
using profile::BottleneckReport;
using profile::Statement;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Statement Says(Bottleneck bottleneck, std::optional<size_t> kernel, double weight) {
  return {bottleneck, kernel, weight, "a rule says so", {{"dram__throughput", 91.5}}};
}

BottleneckReport Report(std::vector<Statement> evidence, std::vector<double> shares = {1}) {
  BottleneckReport report;
  report.source = "ncu 2025.3";
  for (const double share : shares) report.kernels.push_back({"k", 10 * share, {}, share});
  report.profiled_us = 10;
  report.evidence = std::move(evidence);
  return report;
}

TEST(State, AClearBottleneckIsSure) {
  const auto states = ExtractStates(
      Report({Says(Bottleneck::kMemoryBandwidth, 0, 0.9), Says(Bottleneck::kTail, 0, 0.2)}));
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].name, "memory-bandwidth");
  EXPECT_EQ(states[0].secondary, "tail");
  EXPECT_DOUBLE_EQ(states[0].confidence, 0.9);
  EXPECT_THAT(states[0].doubts, IsEmpty());
  EXPECT_FALSE(IsUnsure(states[0]));
  EXPECT_THAT(states[0].evidence,
              ElementsAre("memory-bandwidth: a rule says so [dram__throughput=91.5]",
                          "tail: a rule says so [dram__throughput=91.5]"));
}

TEST(State, ATieIsUnsure) {
  const auto states = ExtractStates(
      Report({Says(Bottleneck::kMemoryLatency, 0, 0.5), Says(Bottleneck::kBarrier, 0, 0.45)}));
  EXPECT_THAT(states.at(0).doubts, ElementsAre("memory-latency and barrier weigh nearly the same"));
  EXPECT_LT(states[0].confidence, 0.4);
}

TEST(State, WhatExplainsLittleIsUnsure) {
  const auto states = ExtractStates(Report({Says(Bottleneck::kBarrier, 0, 0.2)}));
  EXPECT_EQ(states.at(0).name, "barrier");
  EXPECT_THAT(states[0].doubts, ElementsAre("barrier stands for only 20 % of its time"));
}

TEST(State, NothingNamedIsUnnamedAndUnsure) {
  const auto states = ExtractStates(Report({Says(Bottleneck::kTail, 0, 0.05)}));
  EXPECT_EQ(states.at(0).name, kNoState);
  EXPECT_EQ(states[0].confidence, 0);
  EXPECT_THAT(states[0].doubts, ElementsAre("no rule names a bottleneck"));
  EXPECT_EQ(states[0].evidence.size(), 1u);
}

TEST(State, WithoutCountersTheRulesGuess) {
  BottleneckReport report = Report({Says(Bottleneck::kTensorIdle, 0, 0.9)});
  report.source = "static";
  const auto states = ExtractStates(report);
  EXPECT_EQ(states.at(0).name, "tensor-pipe-idle");
  EXPECT_DOUBLE_EQ(states[0].confidence, 0.45);
  EXPECT_THAT(states[0].doubts, ElementsAre("no counters were read: the profile is 'static'"));
}

TEST(State, MissingCountersAreADoubt) {
  BottleneckReport report = Report({Says(Bottleneck::kTensorIdle, 0, 0.9)});
  report.missing = profile::CounterSet("");
  EXPECT_THAT(ExtractStates(report).at(0).doubts, ElementsAre(HasSubstr("counters are missing")));
}

TEST(State, OneStateAKernelTheLargestFirst) {
  const auto states = ExtractStates(
      Report({Says(Bottleneck::kLaunch, 0, 0.6), Says(Bottleneck::kComputeFma, 1, 0.8),
              Says(Bottleneck::kMemoryBandwidth, std::nullopt, 0.7)},
             {0.25, 0.75}));
  ASSERT_EQ(states.size(), 3u);
  EXPECT_EQ(states[0].name, "compute-fma");
  EXPECT_EQ(states[0].kernel, 1u);
  EXPECT_DOUBLE_EQ(states[0].share, 0.75);
  EXPECT_EQ(states[1].name, "launch-bound");
  EXPECT_EQ(states[2].name, "memory-bandwidth");
  EXPECT_FALSE(states[2].kernel.has_value());
  EXPECT_DOUBLE_EQ(states[2].share, 1);
}

TEST(State, SmallKernelsAreNotWorthAQuestion) {
  const auto states = ExtractStates(Report({Says(Bottleneck::kLaunch, 1, 0.9)}, {0.01, 0.99}));
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[1].name, kNoState);
  EXPECT_FALSE(IsUnsure(states[1]));
}

TEST(State, SeveralReportsShareTheTime) {
  BottleneckReport longer = Report({Says(Bottleneck::kBarrier, 0, 0.9)});
  longer.profiled_us = 30;
  const std::vector<BottleneckReport> reports = {Report({Says(Bottleneck::kTail, 0, 0.9)}), longer};
  const auto states = ExtractStates(reports);
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[0].name, "barrier");
  EXPECT_EQ(states[0].report, 1u);
  EXPECT_DOUBLE_EQ(states[0].share, 0.75);
  EXPECT_DOUBLE_EQ(states[1].share, 0.25);
}

TEST(State, AnEmptyProfileHasNoState) {
  EXPECT_THAT(ExtractStates(BottleneckReport{}), IsEmpty());
  EXPECT_EQ(StatesText({}), "none: nothing was profiled\n");
}

TEST(State, ItsTextQuotesForeignNames) {
  BottleneckReport report = Report({Says(Bottleneck::kBarrier, 0, 0.2)});
  report.kernels[0].kernel = "k<```>\n# Reply";
  const std::string text = StatesText(ExtractStates(report));
  EXPECT_THAT(text,
              HasSubstr("- kernel 1 \"k\\u003c\\u0060\\u0060\\u0060\\u003e?# Reply\", 100 % of "
                        "the time: barrier (confidence 0.2)\n"));
  EXPECT_THAT(text, HasSubstr("  - unsure: barrier stands for only 20 % of its time\n"));
}

// Names are those that knowledge is kept under, and numbers stay within their ranges.
RC_GTEST_PROP(State, StatesOfAnyReportAreWellFormed, ()) {
  std::vector<Statement> evidence;
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    const auto bottleneck = static_cast<Bottleneck>(*rc::gen::inRange(0, 21));
    const int kernel = *rc::gen::inRange(-1, 3);
    const std::optional<size_t> where =
        kernel < 0 ? std::nullopt : std::optional<size_t>(static_cast<size_t>(kernel));
    evidence.push_back(Says(bottleneck, where, *rc::gen::inRange(0, 1001) / 1000.0));
  }
  std::set<std::string, std::less<>> names = {std::string(kNoState)};
  for (const auto& row : profile::BottleneckTable()) names.emplace(row.name);
  for (const State& state : ExtractStates(Report(evidence, {0.5, 0.3, 0.2}))) {
    RC_ASSERT(names.contains(state.name));
    RC_ASSERT(state.secondary.empty() ||
              (names.contains(state.secondary) && state.secondary != state.name));
    RC_ASSERT(state.confidence >= 0 && state.confidence <= 1);
    RC_ASSERT((state.name == kNoState) == (state.confidence == 0));
    RC_ASSERT(state.name != kNoState || IsUnsure(state));
  }
}

}  // namespace
}  // namespace warpsmith::prompts
