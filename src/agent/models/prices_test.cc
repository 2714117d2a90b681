#include "agent/models/prices.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace warpsmith::models {
namespace {

Result<Prices> Read(const char* text) {
  const nlohmann::json json = nlohmann::json::parse(text);
  return PricesFrom(JsonReader("prices.toml", json));
}

TEST(Prices, CountBothKindsOfTokens) {
  const Prices prices =
      Read(R"({"m": {"prompt_per_million": 2, "completion_per_million": 8.5}})").value();
  EXPECT_DOUBLE_EQ(CostOf(prices, "m", {1'000'000, 2'000'000}).value(), 19);
  EXPECT_DOUBLE_EQ(CostOf(prices, "m", {500, 0}).value(), 0.001);
}

TEST(Prices, UnknownIsNotFree) { EXPECT_EQ(CostOf(Prices{}, "m", {1, 1}), std::nullopt); }

TEST(Prices, AreWholeAndNotNegative) {
  EXPECT_EQ(Read(R"({"m": {"prompt_per_million": 2}})").error().message,
            "prices.toml: m.completion_per_million: expected a number, \"nan\", \"inf\" or "
            "\"-inf\", found nothing");
  EXPECT_FALSE(Read(R"({"m": {"prompt_per_million": -1, "completion_per_million": 1}})").ok());
  EXPECT_FALSE(Read(R"({"m": {"prompt_per_million": "inf", "completion_per_million": 1}})").ok());
}

}  // namespace
}  // namespace warpsmith::models
