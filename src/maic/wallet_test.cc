#include "maic/wallet.h"

#include <gtest/gtest.h>

#include "maic/settings.h"

namespace warpsmith::maic {
namespace {

ChatRequest Request(size_t bytes, int64_t most) {
  ChatRequest request;
  request.asker = "lowering";
  request.messages = {{"user", std::string(bytes, 'x')}};
  request.sampling.max_tokens = most;
  return request;
}

TEST(Wallet, SetsAsideWhatAPromptMayCost) {
  Budget budget;
  budget.tokens = 1000;
  Wallet wallet(budget, {});
  const ChatRequest request = Request(300, 200);  // 108 + 200
  EXPECT_TRUE(wallet.Reserve(request));
  EXPECT_TRUE(wallet.Reserve(request));
  EXPECT_TRUE(wallet.Reserve(request));
  EXPECT_FALSE(wallet.Reserve(request));
  EXPECT_EQ(wallet.limit().value_or(""), "tokens");
  EXPECT_FALSE(wallet.Reserve(Request(3, 1))) << "what does not fit ends it";
}

TEST(Wallet, WhatWasNotUsedIsFreeAgain) {
  Budget budget;
  budget.tokens = 400;
  Wallet wallet(budget, {});
  const ChatRequest request = Request(300, 200);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(wallet.Reserve(request)) << i;
    wallet.Settle(request, {7, 3, false}, 0);
  }
  EXPECT_EQ(wallet.spent().tokens, 100);
  EXPECT_FALSE(wallet.Reserve(request));
}

TEST(Wallet, MoneyGoesByTheRole) {
  Budget budget;
  budget.money = 1;
  Wallet wallet(budget, [](const std::string& role, const ChatUsage& usage) {
    return std::optional(role == "lowering" ? 0.001 * static_cast<double>(usage.completion_tokens)
                                            : 0.0);
  });
  ChatRequest cheap = Request(3, 100'000);
  cheap.asker = "review";
  EXPECT_TRUE(wallet.Reserve(cheap));
  EXPECT_TRUE(wallet.Reserve(Request(3, 900)));
  EXPECT_FALSE(wallet.Reserve(Request(3, 200)));
  EXPECT_EQ(wallet.limit().value_or(""), "money");
}

TEST(Settings, TheirTextIsReadBack) {
  Beginning beginning;
  beginning.settings.style = Style::kContrastive;
  beginning.settings.memory = Memory::kNone;
  beginning.settings.profiles = Profiles::kTimesOnly;
  beginning.settings.form = Form::kProgram;
  beginning.settings.breadth = 7;
  beginning.settings.asks_doubts = false;
  beginning.settings.sampling.temperature = 0.7;
  beginning.settings.sampling.max_tokens = 999;
  beginning.seed = 18'446'744'073'709'551'615ULL;
  beginning.batch = 7;
  beginning.start = Candidate{};
  beginning.start->sources["k.cu"] = "code";
  beginning.start->entry = "k.cu";
  const std::string text = TextOf(beginning);
  const auto read = BeginningFrom("test", text);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(TextOf(*read), text);
  EXPECT_EQ(read->seed, beginning.seed);
  EXPECT_EQ(read->settings.sampling.temperature, 0.7);
  EXPECT_EQ(CandidateId(*read->start), CandidateId(*beginning.start));
  EXPECT_FALSE(BeginningFrom("test", "{}").ok());
  EXPECT_FALSE(BeginningFrom("test", "[").ok());
}

}  // namespace
}  // namespace warpsmith::maic
