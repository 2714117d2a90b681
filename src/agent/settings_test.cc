#include "agent/settings.h"

#include <gtest/gtest.h>

namespace warpsmith::agent {
namespace {

TEST(Settings, TheirTextIsReadBack) {
  RunConfig run_config;
  run_config.settings.style = Style::kContrastive;
  run_config.settings.memory = MemoryUse::kNone;
  run_config.settings.profiles = Profiles::kTimesOnly;
  run_config.settings.form = Form::kProgram;
  run_config.settings.breadth = 7;
  run_config.settings.asks_doubts = false;
  run_config.settings.reward = {RewardForm::kLog, 0.5};
  run_config.settings.sampling.temperature = 0.7;
  run_config.settings.sampling.max_tokens = 999;
  run_config.seed = 18'446'744'073'709'551'615ULL;
  run_config.batch = 7;
  run_config.start = Candidate{};
  run_config.start->sources["k.cu"] = "code";
  run_config.start->entry = "k.cu";
  const std::string text = TextOf(run_config);
  const auto read = RunConfigFrom("test", text).value();
  EXPECT_EQ(TextOf(read), text);
  EXPECT_EQ(read.seed, run_config.seed);
  EXPECT_EQ(read.settings.reward, run_config.settings.reward);
  EXPECT_EQ(read.settings.sampling.temperature, 0.7);
  EXPECT_EQ(CandidateId(*read.start), CandidateId(*run_config.start));
}

TEST(Settings, PartsAreReadBackAndLeaveOtherBeginningsAsTheyWere) {
  RunConfig run_config;
  const std::string without = TextOf(run_config);
  // Recordings hold this text; it must stay what it was before there were parts.
  EXPECT_EQ(without.find("parts"), std::string::npos);
  EXPECT_EQ(without.find("reward"), std::string::npos);
  EXPECT_EQ(without.find("join"), std::string::npos);
  EXPECT_EQ(without.find("split"), std::string::npos);
  Candidate kernel;
  kernel.sources["k.cu"] = "code";
  kernel.entry = "k.cu";
  run_config.parts = {{"first", "computes a", kernel}, {"second", "computes b", kernel}};
  const std::string text = TextOf(run_config);
  EXPECT_NE(text.find("\"join.md\":1"), std::string::npos) << text;
  const auto read = RunConfigFrom("test", text).value();
  EXPECT_EQ(TextOf(read), text);
  ASSERT_EQ(read.parts.size(), 2U);
  EXPECT_EQ(read.parts[1].name, "second");
  EXPECT_EQ(read.parts[1].facts, "computes b");
  EXPECT_EQ(CandidateId(read.parts[1].candidate), CandidateId(kernel));
}

TEST(Settings, ATextThatIsNoneIsRefused) {
  EXPECT_FALSE(RunConfigFrom("test", "{}").ok());
  EXPECT_FALSE(RunConfigFrom("test", "[").ok());
  std::string text = TextOf({});
  const size_t seed = text.find("\"seed\":\"1\"");
  ASSERT_NE(seed, text.npos);
  ASSERT_TRUE(RunConfigFrom("test", text).ok());
  for (const char* bad : {"", "x", "1x", "-1", "18446744073709551616"}) {
    std::string changed = text;
    changed.replace(seed, 10, std::string("\"seed\":\"") + bad + "\"");
    EXPECT_FALSE(RunConfigFrom("test", changed).ok()) << bad;
  }
}

}  // namespace
}  // namespace warpsmith::agent
