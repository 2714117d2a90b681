#include "agent/models/recorded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "core/serialize.h"
#include "store/line_journal.h"

namespace warpsmith::models {
namespace {

using testing::HasSubstr;

class RecordedTest : public testing::Test {
 protected:
  ChatRequest Question(const std::string& text) { return {"lowering", {{"user", text}}, {}, 1}; }
  std::string Text() { return ReadFile(path_).value(); }
  void Append(const std::string& line) { std::ofstream(path_, std::ios::app) << line << "\n"; }
  void Record(const std::string& question, const std::string& answer) {
    if (!std::filesystem::exists(path_)) Append(R"({"schema":"warpsmith.chat","version":1})");
    const ChatReply reply{{{answer, "stop"}}, {1, 2, false}, "m"};
    const nlohmann::json line{
        {"id", RequestId(Question(question))}, {"asker", "lowering"}, {"reply", ToJson(reply)}};
    Append(store::WithLineDigest(line.dump()));
  }
  static std::string TextOf(ChatModel& model, const ChatRequest& request) {
    return model.Complete(request).value().samples.at(0).text;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("recorded").value();
  std::filesystem::path path_ = folder_.path() / "chat.jsonl";
};

TEST_F(RecordedTest, ReplaysWhatWasRecorded) {
  Record("a", "answer 1");
  Record("b", "answer 2");
  Record("a", "a later answer does not count");
  const auto recorded = OpenRecording(path_).value();
  EXPECT_EQ(TextOf(*recorded, Question("b")), "answer 2");
  EXPECT_EQ(TextOf(*recorded, Question("a")), "answer 1");
  const auto unknown = recorded->Complete(Question("c"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotRecorded);
}

TEST_F(RecordedTest, ATornLineIsIgnored) {
  Record("a", "answer 1");
  std::ofstream(path_, std::ios::app) << "{\"id\":\"half";
  EXPECT_EQ(TextOf(*OpenRecording(path_).value(), Question("a")), "answer 1");
  EXPECT_EQ(ReadRecording("r", Text()).value().size(), 1U);
}

TEST_F(RecordedTest, AReplyThatIsNotWhatWasWrittenIsRefused) {
  Record("a", "answer 1");
  const std::string whole = Text();
  ASSERT_TRUE(ReadRecording("r", whole).ok());
  for (size_t at = whole.find('\n') + 1; at + 1 < whole.size(); at += 3) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    EXPECT_FALSE(ReadRecording("r", changed).ok()) << changed;
  }
  // A program that wrote no digests.
  const size_t line = whole.find('\n') + 1, rest = whole.find("\",", line) + 2;
  const auto old = ReadRecording("r", whole.substr(0, line) + "{" + whole.substr(rest));
  ASSERT_TRUE(old.ok()) << old.error().Line();
  EXPECT_EQ(old->size(), 1U);
}

TEST(Recording, SaysWhereItIsBroken) {
  const std::string header = "{\"schema\":\"warpsmith.chat\",\"version\":1}\n";
  EXPECT_TRUE(ReadRecording("r", "").ok());
  EXPECT_TRUE(ReadRecording("r", header).ok());
  EXPECT_THAT(ReadRecording("r", header + "{}\n").error().message, HasSubstr("r:2: id"));
  EXPECT_THAT(ReadRecording("r", header + "nonsense\n").error().message, HasSubstr("r:2"));
  EXPECT_FALSE(ReadRecording("r", "{}\n").ok());
  EXPECT_EQ(ReadRecording("r", "{\"schema\":\"warpsmith.chat\",\"version\":2}\n").error().code,
            ErrorCode::kVersion);
}

TEST(Recording, AMissingFileIsSaid) {
  EXPECT_EQ(OpenRecording("/nowhere/chat.jsonl").error().code, ErrorCode::kNoInput);
}

}  // namespace
}  // namespace warpsmith::models
