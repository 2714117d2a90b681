#include "agent/model_client.h"

#include <gtest/gtest.h>

namespace warpsmith::agent {
namespace {

ChatRequest Request(size_t bytes, int64_t most) {
  ChatRequest request;
  request.role = "lowering";
  request.messages = {{"user", std::string(bytes, 'x')}};
  request.sampling.max_tokens = most;
  return request;
}

TEST(TokenBudget, SetsAsideWhatAPromptMayCost) {
  Budget budget;
  budget.tokens = 1000;
  TokenBudget token_budget(budget, {});
  const ChatRequest request = Request(300, 200);  // 108 + 200
  EXPECT_TRUE(token_budget.Reserve(request));
  EXPECT_TRUE(token_budget.Reserve(request));
  EXPECT_TRUE(token_budget.Reserve(request));
  EXPECT_FALSE(token_budget.Reserve(request));
  EXPECT_EQ(token_budget.limit().value_or(""), "tokens");
  EXPECT_FALSE(token_budget.Reserve(Request(3, 1))) << "what does not fit ends it";
}

TEST(TokenBudget, WhatWasNotUsedIsFreeAgain) {
  Budget budget;
  budget.tokens = 400;
  TokenBudget token_budget(budget, {});
  const ChatRequest request = Request(300, 200);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(token_budget.Reserve(request)) << i;
    token_budget.Settle(request, {7, 3, false}, 0);
  }
  EXPECT_EQ(token_budget.spent().tokens, 100);
  EXPECT_FALSE(token_budget.Reserve(request));
}

TEST(TokenBudget, EndsInAReplayWhereItEnded) {
  Budget budget;
  budget.tokens = 1000;
  TokenBudget token_budget(budget, {});
  const ChatRequest request = Request(300, 200);
  while (token_budget.Reserve(request)) EXPECT_FALSE(token_budget.end().has_value());
  ASSERT_TRUE(token_budget.end().has_value());
  EXPECT_EQ(token_budget.end()->fitted, 3);
  TokenBudget replay({}, {}, token_budget.end());
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(replay.Reserve(request)) << i;
  EXPECT_FALSE(replay.Reserve(Request(3, 1)));
  EXPECT_EQ(replay.end()->limit, "tokens");
  EXPECT_EQ(replay.end()->fitted, 3);
}

TEST(TokenBudget, MoneyGoesByTheRole) {
  Budget budget;
  budget.money = 1;
  TokenBudget token_budget(budget, [](const std::string& role, const ChatUsage& usage) {
    return std::optional(role == "lowering" ? 0.001 * static_cast<double>(usage.completion_tokens)
                                            : 0.0);
  });
  ChatRequest cheap = Request(3, 100'000);
  cheap.role = "review";
  EXPECT_TRUE(token_budget.Reserve(cheap));
  EXPECT_TRUE(token_budget.Reserve(Request(3, 900)));
  EXPECT_FALSE(token_budget.Reserve(Request(3, 200)));
  EXPECT_EQ(token_budget.limit().value_or(""), "money");
}

}  // namespace
}  // namespace warpsmith::agent
