#include "command_tree.h"

#include <gtest/gtest.h>

namespace warpsmith::cli {
namespace {

TEST(ArgumentChecksTest, SecondsAreFiniteAndNotNegative) {
  for (const char* good : {"0", "1.5", "1e3"}) EXPECT_EQ(CheckSeconds(good), "") << good;
  for (const char* bad : {"", "-1", "nan", "inf", "1e400", "5s", "x"}) {
    EXPECT_NE(CheckSeconds(bad), "") << bad;
  }
}

TEST(ArgumentChecksTest, AWholeNumberIsDigits) {
  EXPECT_EQ(CheckWholeNumber("0"), "");
  for (const char* bad : {"", "-1", "1.5", "0x10", " 1"}) EXPECT_NE(CheckWholeNumber(bad), "");
}

TEST(ArgumentChecksTest, FailOnIsAListOfConditions) {
  for (const char* good : {"regression", "never", "regression,incorrect"}) {
    EXPECT_EQ(CheckFailOn(good), "") << good;
  }
  for (const char* bad : {"", "slow", "regression,", ",never", "regression incorrect"}) {
    EXPECT_NE(CheckFailOn(bad), "") << bad;
  }
}

TEST(ArgumentChecksTest, AnOutputFileHasAFolder) {
  for (const char* good : {"r.html", "./r.html", "/tmp/r.html"}) {
    EXPECT_EQ(CheckOutputFile(good), "") << good;
  }
  for (const char* bad : {"/nodir/r.html", "nodir/r.html", "/tmp", "/dev/null/r.html"}) {
    EXPECT_NE(CheckOutputFile(bad), "") << bad;
  }
}

TEST(ArgumentChecksTest, JsonIsSeenAnywhere) {
  const char* with[] = {"warpsmith", "no-such-command", "--json"};
  EXPECT_TRUE(AsksForJson(3, with));
  EXPECT_FALSE(AsksForJson(2, with));
}

TEST(ArgumentChecksTest, ArgumentsAreUtf8) {
  const char* bad[] = {"warpsmith", "report", "caf\xe9"};
  EXPECT_EQ(CheckIsUtf8(2, bad), "");
  EXPECT_EQ(CheckIsUtf8(3, bad), "argument 2 is not UTF-8: 'caf\xef\xbf\xbd'");
}

}  // namespace
}  // namespace warpsmith::cli
