#include "serve/mcp/line_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string_view>

namespace warpsmith::mcp {
namespace {

constexpr std::chrono::milliseconds kPatience{1000}, kNone{0};

class LineReaderTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(pipe(ends_), 0); }
  void TearDown() override {
    close(ends_[0]);
    End();
  }
  void Write(std::string_view text) {
    ASSERT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void End() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  // "(long)" for what was passed over, "(none)" where nothing came.
  std::string Next(LineReader& reader, std::chrono::milliseconds patience = kPatience) {
    for (int i = 0; i < 10; ++i) {
      const auto line = reader.Next(patience).value();
      if (line) return line->too_long ? "(long)" : line->text;
      if (patience == kNone) break;
    }
    return "(none)";
  }
  int input() const { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
};

TEST_F(LineReaderTest, PutsLinesTogetherFromPieces) {
  LineReader reader(input(), 100);
  Write("on");
  EXPECT_EQ(Next(reader, kNone), "(none)");
  Write("e\ntwo\n\nthr");
  EXPECT_EQ(Next(reader), "one");
  EXPECT_EQ(Next(reader), "two");
  EXPECT_EQ(Next(reader), "");
  Write("ee");
  End();
  EXPECT_EQ(Next(reader), "three");
  EXPECT_TRUE(reader.ended());
}

TEST_F(LineReaderTest, PassesOverALineThatIsTooLongAndTellsItOnce) {
  LineReader reader(input(), 10);
  Write(std::string(11, 'x') + "\nshort\n");
  EXPECT_EQ(Next(reader), "(long)");
  EXPECT_EQ(Next(reader), "short");
  Write(std::string(30, 'x'));
  EXPECT_EQ(Next(reader), "(long)");
  Write(std::string(30, 'x'));
  EXPECT_EQ(Next(reader, kNone), "(none)");
  Write("xx\nafter\n");
  EXPECT_EQ(Next(reader), "after");
  Write(std::string(10, 'y') + "\n");
  EXPECT_EQ(Next(reader), "yyyyyyyyyy");
}

TEST_F(LineReaderTest, EndsInTheMiddleOfALineThatIsTooLong) {
  LineReader reader(input(), 10);
  Write(std::string(30, 'x'));
  End();
  EXPECT_EQ(Next(reader), "(long)");
  EXPECT_EQ(Next(reader), "(none)");
  EXPECT_TRUE(reader.ended());
}

}  // namespace
}  // namespace warpsmith::mcp
