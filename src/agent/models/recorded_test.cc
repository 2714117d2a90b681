#include "agent/models/recorded.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "core/serialize.h"
#include "store/line_journal.h"

namespace warpsmith::models {
namespace {

using testing::HasSubstr;

constexpr char kHeader[] = "{\"schema\":\"warpsmith.chat\",\"version\":1}\n";

ChatRequest Question(const std::string& text) { return {"lowering", {{"user", text}}, {}, 1}; }

// The line of a reply to Question(text).
std::string ReplyTo(const std::string& text, const std::string& answer) {
  const ChatReply reply{{{answer, "stop"}}, {1, 2, false}, "m"};
  const nlohmann::json line = {
      {"id", RequestId(Question(text))}, {"asker", "lowering"}, {"reply", ToJson(reply)}};
  return store::WithLineDigest(line.dump()) + "\n";
}

TEST(Recording, AnswersWhatWasRecordedAndNothingElse) {
  const TemporaryDirectory folder = TemporaryDirectory::Create("recorded").value();
  const auto path = folder.path() / "chat.jsonl";
  // Of two replies to one request the first counts; a torn line is none.
  ASSERT_TRUE(WriteFileAtomic(path, kHeader + ReplyTo("a", "answer 1") + ReplyTo("b", "answer 2") +
                                        ReplyTo("a", "another") + "{\"id\":\"half")
                  .ok());
  const auto recorded = OpenRecording(path).value();
  EXPECT_EQ(recorded->Complete(Question("b")).value().samples.at(0).text, "answer 2");
  EXPECT_EQ(recorded->Complete(Question("a")).value().samples.at(0).text, "answer 1");
  const auto unknown = recorded->Complete(Question("c"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotRecorded);
}

TEST(Recording, AReplyThatIsNotWhatWasWrittenIsRefused) {
  const std::string whole = kHeader + ReplyTo("a", "answer 1");
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
