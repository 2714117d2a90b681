#include "judge/audit/literals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace warpsmith::audit {
namespace {

std::vector<std::string> BytesOf(std::string_view source) {
  std::vector<std::string> bytes;
  for (const Literal& literal : ReadLiterals(source)) bytes.push_back(literal.bytes);
  return bytes;
}
using testing::ElementsAre;

TEST(Literals, StringsAreDecodedAndJoined) {
  EXPECT_THAT(BytesOf(R"(f("a\n\x41\101\"b" /* c "no" */ "d"); g("e"); // "not")"),
              ElementsAre("a\nAA\"bd", "e"));
  EXPECT_THAT(BytesOf(R"src(u8"x" R"(raw \n ")" L'y')src"), ElementsAre("xraw \\n \"", "y"));
  EXPECT_THAT(BytesOf("R\"tag(a)b\" )tag\""), ElementsAre("a)b\" "));
}

TEST(Literals, NumberListsAreBytesAsWideAsTheWidest) {
  using std::string_literals::operator""s;
  EXPECT_THAT(BytesOf("{0x7f, 'E', 76, 0106}"), ElementsAre("\x7f"
                                                            "ELF"));
  EXPECT_THAT(BytesOf("{ {0x464c457f, 1u}, {0b10} }"), ElementsAre("\x7f"
                                                                   "ELF\x01\0\0\0\x02\0\0\0"s));
  EXPECT_THAT(BytesOf("a(1) + b(1'000)"), ElementsAre("\x01", "\xe8\x03"));
  EXPECT_THAT(BytesOf("1.5e-3f"), testing::SizeIs(1));
}

TEST(Literals, TellTheirLine) {
  const auto literals = ReadLiterals("\n/*\n*/ \"a\"\nint b = 7;\n");
  ASSERT_EQ(literals.size(), 2U);
  EXPECT_EQ(literals[0].line, 3);
  EXPECT_EQ(literals[1].line, 4);
}

TEST(Literals, UnfinishedOnesEndWithTheText) {
  for (const char* source :
       {"\"a", "'", "/* a", "R\"(a", "R\"abc", "\"\\", "\"\\x", "0x", "1e+", "u8", "'a"}) {
    ReadLiterals(source);
  }
}

RC_GTEST_PROP(Literals, AnyTextIsRead, (const std::string& text)) {
  ReadLiterals(text);
  ReadLiterals("\"" + text);
  ReadLiterals("R\"(" + text);
  ReadLiterals("0" + text);
}

}  // namespace
}  // namespace warpsmith::audit
