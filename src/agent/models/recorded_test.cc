#include "agent/models/recorded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/file.h"

namespace warpsmith::models {
namespace {

using testing::HasSubstr;
using testing::Not;

// Answers with how often it was asked.
class Counting : public ChatModel {
 public:
  Result<ChatReply> Complete(const ChatRequest& request) override {
    ++asked;
    if (request.role == "broken") return Error{ErrorCode::kUnavailable, "down", ""};
    return ChatReply{{{"answer " + std::to_string(asked), "stop"}}, {1, 2, false}, "m"};
  }
  int asked = 0;
};

class RecordedTest : public testing::Test {
 protected:
  ChatRequest Question(const std::string& text) { return {"lowering", {{"user", text}}, {}, 1}; }
  std::string Text() { return ReadFile(path_).value(); }
  std::unique_ptr<ChatModel> Recorder(Keep keep = Keep::kReplies) {
    return RecordTo(path_, &model_, keep).value();
  }
  static std::string TextOf(ChatModel& model, const ChatRequest& request) {
    return model.Complete(request).value().samples.at(0).text;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("recorded").value();
  std::filesystem::path path_ = folder_.path() / "chat.jsonl";
  Counting model_;
};

TEST_F(RecordedTest, ReplaysWhatWasRecorded) {
  {
    const auto recorder = Recorder();
    EXPECT_EQ(TextOf(*recorder, Question("a")), "answer 1");
    EXPECT_EQ(TextOf(*recorder, Question("b")), "answer 2");
  }
  const auto recorded = OpenRecording(path_).value();
  EXPECT_EQ(TextOf(*recorded, Question("b")), "answer 2");
  EXPECT_EQ(TextOf(*recorded, Question("a")), "answer 1");
  const auto unknown = recorded->Complete(Question("c"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotRecorded);
  EXPECT_EQ(model_.asked, 2);
}

TEST_F(RecordedTest, WhatIsRecordedIsNotAskedAgain) {
  EXPECT_EQ(TextOf(*Recorder(), Question("a")), "answer 1");
  const auto resumed = Recorder();
  EXPECT_EQ(TextOf(*resumed, Question("a")), "answer 1");
  EXPECT_EQ(TextOf(*resumed, Question("b")), "answer 2");
  EXPECT_EQ(model_.asked, 2);
}

TEST_F(RecordedTest, ATornLineIsAskedAgain) {
  EXPECT_EQ(TextOf(*Recorder(), Question("a")), "answer 1");
  std::ofstream(path_, std::ios::app) << "{\"id\":\"half";
  EXPECT_EQ(TextOf(*OpenRecording(path_).value(), Question("a")), "answer 1");
  EXPECT_EQ(TextOf(*Recorder(), Question("b")), "answer 2");
  EXPECT_EQ(ReadRecording("r", Text()).value().size(), 2U);
}

TEST_F(RecordedTest, AFailureIsNotRecorded) {
  const auto recorder = Recorder();
  ChatRequest request = Question("a");
  request.role = "broken";
  EXPECT_FALSE(recorder->Complete(request).ok());
  EXPECT_EQ(ReadRecording("r", Text()).value().size(), 0U);
}

TEST_F(RecordedTest, PromptsAreKeptWhenWanted) {
  EXPECT_EQ(TextOf(*Recorder(), Question("my sources")), "answer 1");
  EXPECT_THAT(Text(), Not(HasSubstr("my sources")));
  EXPECT_EQ(TextOf(*Recorder(Keep::kRequests), Question("my other sources")), "answer 2");
  EXPECT_THAT(Text(), HasSubstr("my other sources"));
}

TEST_F(RecordedTest, AReplyThatIsNotWhatWasWrittenIsRefused) {
  EXPECT_EQ(TextOf(*Recorder(), Question("a")), "answer 1");
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

TEST_F(RecordedTest, OnlyOneProcessRecords) {
  const auto recorder = Recorder();
  const auto second = RecordTo(path_, &model_, Keep::kReplies);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
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
