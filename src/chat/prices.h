// What tokens cost.
#ifndef WARPSMITH_CHAT_PRICES_H_
#define WARPSMITH_CHAT_PRICES_H_

#include <map>
#include <optional>
#include <string>

#include "core/chat_model.h"
#include "util/json_reader.h"
#include "util/result.h"

namespace warpsmith::chat {

struct Price {
  double prompt_per_million = 0, completion_per_million = 0;  // tokens; in the user's currency
};

using Prices = std::map<std::string, Price, std::less<>>;  // by the model's exact name

// {"<model>": {"prompt_per_million": x, "completion_per_million": y}, ...}; both must be there.
Result<Prices> PricesFrom(const JsonReader& json);

// Nothing for a model without a price: unknown is not free.
std::optional<double> CostOf(const Prices& prices, const std::string& model,
                             const ChatUsage& usage);

}  // namespace warpsmith::chat

#endif  // WARPSMITH_CHAT_PRICES_H_
