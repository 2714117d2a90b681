#include "base/utf8.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

namespace warpsmith {
namespace {

TEST(Utf8, KeepsValidText) {
  for (const char* text : {"", "plain", "\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(IsUtf8(text));
    EXPECT_EQ(ValidUtf8(text), text);
  }
}

TEST(Utf8, ReplacesEachBadByte) {
  EXPECT_EQ(ValidUtf8("a\xff"
                      "b"),
            "a\xef\xbf\xbd"
            "b");
  for (const char* text : {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80",
                           "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(text));
  }
}

TEST(Utf8, AnyBytesBecomeTextThatJsonTakes) {
  EXPECT_TRUE(rc::check([](const std::string& bytes) {
    const std::string text = ValidUtf8(bytes);
    RC_ASSERT(IsUtf8(text));
    RC_ASSERT(nlohmann::json::parse(nlohmann::json(text).dump()) == text);
  }));
}

}  // namespace
}  // namespace warpsmith
