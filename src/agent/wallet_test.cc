#include "agent/wallet.h"

#include <gtest/gtest.h>

namespace warpsmith::agent {
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

TEST(Wallet, EndsInAReplayWhereItEnded) {
  Budget budget;
  budget.tokens = 1000;
  Wallet wallet(budget, {});
  const ChatRequest request = Request(300, 200);
  while (wallet.Reserve(request)) EXPECT_FALSE(wallet.end().has_value());
  ASSERT_TRUE(wallet.end().has_value());
  EXPECT_EQ(wallet.end()->fitted, 3);
  Wallet replay({}, {}, wallet.end());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(replay.Reserve(request)) << i;
  EXPECT_FALSE(replay.Reserve(Request(3, 1)));
  EXPECT_EQ(replay.end()->limit, "tokens");
  EXPECT_EQ(replay.end()->fitted, 3);
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

}  // namespace
}  // namespace warpsmith::agent
