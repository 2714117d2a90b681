#include "agent/models/exchange.h"

#include <gmock/gmock.h>

#include "agent/models/tests/exchange.h"
#include "base/file.h"

namespace warpsmith::models {
namespace {

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
