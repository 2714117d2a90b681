#include "compile/compilation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace warpsmith::compile {
namespace {

TEST(Compilation, SurvivesTheWire) {
  Limits limits;
  limits.output_bytes = 12;
  limits.image_bytes = 34;
  const Compilation sent{"a.cu", {{"a.cu", "source"}, {"b.h", std::string("\0\xff", 2)}}, {"-x"}};
  const auto back = UnpackCompilation(PackCompilation(sent, limits));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->first.entry, sent.entry);
  EXPECT_EQ(back->first.sources, sent.sources);
  EXPECT_EQ(back->first.flags, sent.flags);
  EXPECT_EQ(back->second.output_bytes, 12);
  EXPECT_EQ(back->second.image_bytes, 34);
}

TEST(Compiled, SurvivesTheWire) {
  Compiled sent;
  sent.image = std::string(
      "\x7f"
      "ELF\0",
      5);
  sent.log = "log";
  sent.repeatable = false;
  const auto back = UnpackCompiled(PackCompiled(sent));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->image, sent.image);
  EXPECT_EQ(back->log, "log");
  EXPECT_FALSE(back->repeatable);
}

TEST(TidyLog, KeepsBothEndsOfALongLog) {
  const std::string tidy = TidyLog("begin" + std::string(1000, '.') + "end", 20);
  EXPECT_TRUE(tidy.starts_with("begin....."));
  EXPECT_TRUE(tidy.ends_with(".......end"));
  EXPECT_NE(tidy.find("988 bytes of the log were cut"), std::string::npos) << tidy;
}

TEST(TidyLog, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(TidyLog("gr\xc3\xbc\xc3\x9f e\xcc\x81 \xf0\x9f\x98\x80", 100),
            "gr\xc3\xbc\xc3\x9f e\xcc\x81 \xf0\x9f\x98\x80");
  EXPECT_EQ(TidyLog("a\xff"
                    "b\xc3",
                    100),
            "a\xef\xbf\xbd"
            "b\xef\xbf\xbd");
  EXPECT_EQ(TidyLog("\xed\xa0\x80", 100), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") << "a surrogate";
  EXPECT_EQ(TidyLog("\xc0\xaf", 100), "\xef\xbf\xbd\xef\xbf\xbd") << "overlong";
}

RC_GTEST_PROP(TidyLog, NeverCrashes, (const std::string& log)) {
  RC_ASSERT(TidyLog(log, 16).size() <= 3 * 16 + 80);  // a replacement takes three bytes
}

RC_GTEST_PROP(Pack, SurvivesTheTrip, (const std::vector<std::string>& items)) {
  const auto back = Unpack("test", Pack(items));
  RC_ASSERT(back.ok());
  RC_ASSERT(*back == items);
}

RC_GTEST_PROP(Pack, CutOrExtendedIsRefused, (const std::vector<std::string>& items)) {
  const std::string packed = Pack(items);
  const auto cut = *rc::gen::inRange<size_t>(0, packed.size());
  RC_ASSERT(!Unpack("test", packed.substr(0, cut)).ok());
  RC_ASSERT(!Unpack("test", packed + "x").ok());
}

RC_GTEST_PROP(Pack, AnyBytesAreReadOrRefused, (const std::string& bytes)) {
  const auto items = Unpack("test", bytes);
  if (items.ok()) RC_ASSERT(Pack(*items) == bytes);
}

}  // namespace

}  // namespace warpsmith::compile
