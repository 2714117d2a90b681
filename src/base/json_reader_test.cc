#include "base/json_reader.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/utf8.h"

namespace warpsmith {
namespace {

using ::testing::HasSubstr;

TEST(ParseJson, SaysLineAndColumn) {
  const auto parsed = ParseJson("task.json", "{\n  \"a\": 1,\n  oops\n}");
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(parsed.error().message, HasSubstr("task.json: line 3, column 3"));
}

TEST(ParseJson, RefusesDeepNestingWithoutRecursing) {
  EXPECT_TRUE(ParseJson("x", std::string(64, '[') + std::string(64, ']')).ok());
  EXPECT_FALSE(ParseJson("x", std::string(65, '[') + std::string(65, ']')).ok());
  EXPECT_FALSE(ParseJson("x", std::string(1'000'000, '[')).ok());
  EXPECT_TRUE(ParseJson("x", "\"" + std::string(100, '[') + "\"").ok());
}

TEST(ParseJson, RefusesCutOffAndOutOfRange) {
  EXPECT_THAT(ParseJson("x", "{\"a\": 1").error().message, HasSubstr("ends too early"));
  EXPECT_FALSE(ParseJson("x", "").ok());
  EXPECT_FALSE(ParseJson("x", "1e999").ok());
  EXPECT_FALSE(ParseJson("x", "\"\xff\"").ok());
}

TEST(ParseJson, NeverCrashesOnAnyBytes) {
  EXPECT_TRUE(rc::check([](const std::string& text) { (void)ParseJson("x", text); }));
}

class JsonReaderTest : public ::testing::Test {
 protected:
  nlohmann::json json_ = nlohmann::json::parse(
      R"({"operations": [{"grid": ["1", "2"], "deep": {"on": true}}], "large": 9223372036854775808,
          "half": 0.5, "bad": "nan", "low": "-inf"})");
  JsonReader root_{"plan.json", json_};
};

TEST_F(JsonReaderTest, NamesThePlaceOfAnError) {
  const Error error = root_.At("operations").At(0).At("grid").Bad("three expressions");
  EXPECT_EQ(error.message,
            "plan.json: operations[0].grid: expected three expressions, found an array of 2");
}

TEST_F(JsonReaderTest, MissingFieldsAreErrorsWhereAsked) {
  EXPECT_FALSE(root_.Has("nothing"));
  EXPECT_FALSE(root_.At("nothing").At("below").Has("x"));
  EXPECT_EQ(root_.At("nothing").At(2).At("below").Int().error().message,
            "plan.json: nothing[2].below: expected an integer, found nothing");
}

TEST_F(JsonReaderTest, ChecksTypesAndRanges) {
  EXPECT_FALSE(root_.At("large").Int().ok());
  EXPECT_FALSE(root_.At("half").Int().ok());
  EXPECT_EQ(root_.At("half").Number().value(), 0.5);
  EXPECT_TRUE(std::isnan(root_.At("bad").Number().value()));
  EXPECT_EQ(root_.At("low").Number().value(), -INFINITY);
  EXPECT_TRUE(root_.At("operations").At(0).At("deep").At("on").Bool().value());
  EXPECT_FALSE(root_.At("half").String().ok());
  EXPECT_FALSE(root_.At("half").Items().ok());
  EXPECT_FALSE(root_.At("half").Fields().ok());
}

TEST_F(JsonReaderTest, RefusesUnknownFields) {
  EXPECT_TRUE(root_.At("operations").At(0).OnlyFields({"grid", "deep"}).ok());
  const Status status = root_.At("operations").At(0).OnlyFields({"grid"});
  EXPECT_THAT(status.error().message, HasSubstr("operations[0].deep: unknown field; known here"));
}

// An error is written as JSON itself, which takes no half of a character.
TEST(JsonReader, CutsLongTextsBetweenCharacters) {
  std::string text = "a";
  for (int i = 0; i < 40; ++i) text += "\u00e9";
  const nlohmann::json json = {{text, text}};
  const JsonReader reader("x", json);
  EXPECT_TRUE(IsUtf8(reader.OnlyFields({"known"}).error().message));
  EXPECT_TRUE(IsUtf8(reader.At(text).Bad("a number").message));
}

TEST(NumberToJson, KeepsEveryDouble) {
  EXPECT_TRUE(rc::check([](double value) {
    const nlohmann::json json = nlohmann::json::parse(NumberToJson(value).dump());
    RC_ASSERT(JsonReader("x", json).Number().value() == value);
  }));
  for (const double value : {INFINITY, -INFINITY}) {
    const nlohmann::json json = NumberToJson(value);
    EXPECT_EQ(JsonReader("x", json).Number().value(), value);
  }
  EXPECT_EQ(NumberToJson(NAN), "nan");
}

}  // namespace
}  // namespace warpsmith
