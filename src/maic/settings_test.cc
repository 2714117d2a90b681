#include "maic/settings.h"

#include <gtest/gtest.h>

namespace warpsmith::maic {
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
}  // namespace warpsmith::maic
