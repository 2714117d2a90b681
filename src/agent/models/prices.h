// What tokens cost.
#ifndef WARPSMITH_AGENT_MODELS_PRICES_H_
#define WARPSMITH_AGENT_MODELS_PRICES_H_

#include <map>
#include <optional>
#include <string>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/chat_model.h"

namespace warpsmith::models {

struct Price {
  double prompt_per_million = 0, completion_per_million = 0;  // tokens; in the user's currency
};

using Prices = std::map<std::string, Price, std::less<>>;  // by the model's exact name

// {"<model>": {"prompt_per_million": x, "completion_per_million": y}, ...}; both must be there.
Result<Prices> PricesFrom(const JsonReader& json);

// Nothing for a model without a price: unknown is not free.
std::optional<double> CostOf(const Prices& prices, const std::string& model,
                             const ChatUsage& usage);

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_PRICES_H_
