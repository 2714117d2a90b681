#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/subprocess.h"
#include "report/reproduce/parts.h"

namespace warpsmith::reproduce {
namespace {

TEST(Quoting, PlainTextStaysOnItsLine) { EXPECT_EQ(Plain("a\nb\\\x1b[2J\xc3\xbc"), "a?b??[2J??"); }

TEST(Quoting, LiteralsHoldQuotesBackslashesAndBytes) {
  EXPECT_EQ(CppLiteral("a\"b\\c\n9?\xff"), R"("a\"b\\c\0129\077\377")");
}

TEST(Quoting, FolderNamesAreOnePartOfAPath) {
  EXPECT_EQ(FolderName("tasks/softmax f16"), "tasks_softmax_f16");
  EXPECT_EQ(FolderName(".."), "_..");
  EXPECT_EQ(FolderName(""), "_");
  EXPECT_EQ(FolderName(std::string(1000, 'a')).size(), 120U);
}

RC_GTEST_PROP(Quoting, AShellReadsItsWordsBack, (const std::vector<std::string>& words)) {
  std::string line = "printf '%s\\n'", expected;
  for (const std::string& any : words) {
    std::string word;
    for (const char c : any) word += c == '\0' ? '$' : c;
    line += " " + ShellWord(word);
    expected += word + "\n";
  }
  if (words.empty()) expected = "\n";
  const auto outcome = RunProcess({"/bin/sh", "-c", line}, {});
  RC_ASSERT(outcome.ok());
  RC_ASSERT(outcome->output == expected);
}

}  // namespace
}  // namespace warpsmith::reproduce
