#include "agent/models/recorded.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "agent/models/tests/exchange.h"
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

using testing::HasSubstr;
using testing::SizeIs;

class ExchangeTest : public testing::Test {
 protected:
  Result<ChatReply> Ask(const ChatRequest& request) { return model_->Complete(request); }
  std::vector<AwaitedAnswer> Awaited() { return AwaitedAnswers(folder_.path()); }
  std::string Id(const ChatRequest& request) { return RequestId(request).substr(0, 16); }
  void Write(const std::string& name, std::string_view text) {
    ASSERT_TRUE(WriteFileAtomic(folder_.path() / name, text).ok());
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("exchange").value();
  std::unique_ptr<ChatModel> model_ = OpenExchange(folder_.path()).value();
  const ChatRequest request_{"lowering", {{"system", "rules"}, {"user", "fuse these"}}, {}, 1};
};

TEST_F(ExchangeTest, WritesThePromptAndAwaitsItsAnswer) {
  const auto reply = Ask(request_);
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().code, ErrorCode::kAwaiting);
  const std::string prompt = ReadFile(folder_.path() / (Id(request_) + ".prompt.md")).value();
  EXPECT_THAT(prompt, HasSubstr(Id(request_) + ".answer.md"));
  EXPECT_THAT(prompt, HasSubstr("## user\n\nfuse these"));
  ASSERT_THAT(Awaited(), SizeIs(1));
  EXPECT_THAT(ReadFile(Awaited()[0].request).value(), HasSubstr("\"asker\": \"lowering\""));
  EXPECT_TRUE(WriteFileAtomic(Awaited()[0].answer, "here").ok());
  EXPECT_EQ(Ask(request_).value().samples.at(0).text, "here");
  EXPECT_THAT(Awaited(), SizeIs(0));
}

TEST_F(ExchangeTest, IsCompleteWithAllSamplesOnly) {
  ChatRequest request = request_;
  request.samples = 3;
  Write(Id(request) + ".answer.md", "one");
  Write(Id(request) + ".answer-2.md", " \n");
  EXPECT_EQ(Ask(request).error().code, ErrorCode::kAwaiting);
  EXPECT_THAT(Ask(request).error().fix, HasSubstr(".answer-2.md"));
  Write(Id(request) + ".answer-2.md", "two");
  Write(Id(request) + ".answer-3.md", "three\xff");
  const auto reply = Ask(request);
  ASSERT_TRUE(reply.ok()) << reply.error().Line();
  EXPECT_EQ(reply->samples[1].text, "two");
  EXPECT_EQ(reply->samples[2].text, "three\xef\xbf\xbd");
  EXPECT_TRUE(reply->usage.estimated);
}

TEST_F(ExchangeTest, AnAnswerThatIsNoFileIsRefused) {
  std::filesystem::create_directory(folder_.path() / (Id(request_) + ".answer.md"));
  EXPECT_EQ(Ask(request_).error().code, ErrorCode::kBadInput);
}

TEST_F(ExchangeTest, AHugeAnswerIsRefusedUnread) {
  const auto path = folder_.path() / (Id(request_) + ".answer.md");
  Write(path.filename(), "x");
  std::filesystem::resize_file(path, kMaxAnswerBytes + 1);
  EXPECT_THAT(Ask(request_).error().message, HasSubstr("larger than 50 MiB"));
}

}  // namespace

}  // namespace warpsmith::models
