#include "base/display_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith {
namespace {

TEST(DisplayText, ReadableNamesStayAsTheyAre) {
  EXPECT_EQ(ForTerminal("void f<float, 4>(T const*, int)"), "void f<float, 4>(T const*, int)");
  EXPECT_EQ(ForTerminal("größe"), "größe");
  EXPECT_EQ(ForTerminal(std::string(200, 'x'), 10), "xxxxxxx...");
  EXPECT_EQ(QuotedForModel("f(int)"), "\"f(int)\"");
  EXPECT_EQ(QuotedForModel("f<4>"), "\"f\\u003c4\\u003e\"");
  EXPECT_EQ(nlohmann::json::parse(QuotedForModel("f<4> \"ö\" 😀 \\")), "f<4> \"ö\" 😀 \\");
}

RC_GTEST_PROP(DisplayText, AnyBytesBecomeOneSafeLine, (const std::string& bytes)) {
  const std::string shown = ForTerminal(bytes);
  for (const char character : shown) {
    const auto byte = static_cast<unsigned char>(character);
    RC_ASSERT(byte >= 0x20 && byte != 0x7f);
  }
  const std::string quoted = QuotedForModel(bytes);
  RC_ASSERT(nlohmann::json::accept(quoted));
  RC_ASSERT(quoted.find_first_of("<>`{}&\n\r\x1b") == std::string::npos);
}

TEST(DisplayText, LinesKeepTheirEnds) {
  EXPECT_EQ(LinesForTerminal("a\tb\n\n\x1b[2Kc\r\n" + std::string(300, 'x')),
            "a b\n\n?[2Kc?\n" + std::string(300, 'x'));
  EXPECT_EQ(LinesForTerminal(""), "");
  EXPECT_EQ(LinesForTerminal("\n"), "\n");
}

}  // namespace
}  // namespace warpsmith
