#include "agent/settings.h"

#include <gtest/gtest.h>

namespace warpsmith::agent {
namespace {

TEST(Settings, TheirTextIsReadBack) {
  Beginning beginning;
  beginning.settings.style = Style::kContrastive;
  beginning.settings.memory = Memory::kNone;
  beginning.settings.profiles = Profiles::kTimesOnly;
  beginning.settings.form = Form::kProgram;
  beginning.settings.breadth = 7;
  beginning.settings.asks_doubts = false;
  beginning.settings.sampling.temperature = 0.7;
  beginning.settings.sampling.max_tokens = 999;
  beginning.seed = 18'446'744'073'709'551'615ULL;
  beginning.batch = 7;
  beginning.start = Candidate{};
  beginning.start->sources["k.cu"] = "code";
  beginning.start->entry = "k.cu";
  const std::string text = TextOf(beginning);
  const auto read = BeginningFrom("test", text);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(TextOf(*read), text);
  EXPECT_EQ(read->seed, beginning.seed);
  EXPECT_EQ(read->settings.sampling.temperature, 0.7);
  EXPECT_EQ(CandidateId(*read->start), CandidateId(*beginning.start));
}

TEST(Settings, PartsAreReadBackAndLeaveOtherBeginningsAsTheyWere) {
  Beginning beginning;
  const std::string without = TextOf(beginning);
  // Recordings hold this text; it must stay what it was before there were parts.
  EXPECT_EQ(without.find("parts"), std::string::npos);
  EXPECT_EQ(without.find("join"), std::string::npos);
  EXPECT_EQ(without.find("split"), std::string::npos);
  Candidate kernel;
  kernel.sources["k.cu"] = "code";
  kernel.entry = "k.cu";
  beginning.parts = {{"first", "computes a", kernel}, {"second", "computes b", kernel}};
  const std::string text = TextOf(beginning);
  EXPECT_NE(text.find("\"join.md\":1"), std::string::npos) << text;
  const auto read = BeginningFrom("test", text);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(TextOf(*read), text);
  ASSERT_EQ(read->parts.size(), 2U);
  EXPECT_EQ(read->parts[1].name, "second");
  EXPECT_EQ(read->parts[1].facts, "computes b");
  EXPECT_EQ(CandidateId(read->parts[1].candidate), CandidateId(kernel));
}

TEST(Settings, ATextThatIsNoneIsRefused) {
  EXPECT_FALSE(BeginningFrom("test", "{}").ok());
  EXPECT_FALSE(BeginningFrom("test", "[").ok());
  std::string text = TextOf({});
  const size_t seed = text.find("\"seed\":\"1\"");
  ASSERT_NE(seed, text.npos);
  ASSERT_TRUE(BeginningFrom("test", text).ok());
  for (const char* bad : {"", "x", "1x", "-1", "18446744073709551616"}) {
    std::string changed = text;
    changed.replace(seed, 10, std::string("\"seed\":\"") + bad + "\"");
    EXPECT_FALSE(BeginningFrom("test", changed).ok()) << bad;
  }
}

}  // namespace
}  // namespace warpsmith::agent
