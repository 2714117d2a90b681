#include "agent/models/prices.h"

#include <cmath>

namespace warpsmith::models {
namespace {

Result<double> PriceAt(const JsonReader& json, std::string_view key) {
  const double price = TRY(json.At(key).Number());
  if (std::isfinite(price) && price >= 0) return price;
  return json.At(key).Bad("a price of a million tokens, from 0");
}

}  // namespace

Result<Prices> PricesFrom(const JsonReader& json) {
  Prices prices;
  for (const auto& [model, price] : TRY(json.Fields())) {
    TRY(price.OnlyFields({"prompt_per_million", "completion_per_million"}));
    prices[model] = {TRY(PriceAt(price, "prompt_per_million")),
                     TRY(PriceAt(price, "completion_per_million"))};
  }
  return prices;
}

std::optional<double> CostOf(const Prices& prices, const std::string& model,
                             const ChatUsage& usage) {
  const auto found = prices.find(model);
  if (found == prices.end()) return std::nullopt;
  return (static_cast<double>(usage.prompt_tokens) * found->second.prompt_per_million +
          static_cast<double>(usage.completion_tokens) * found->second.completion_per_million) /
         1e6;
}

}  // namespace warpsmith::models
