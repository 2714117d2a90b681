#include "search/proposers/strategy.h"

#include <array>
#include <string>
#include <utility>

namespace warpsmith::proposers {

std::span<const std::string_view> StrategyNames() {
  static constexpr std::array<std::string_view, 3> kNames = {
      RandomSearch::kName, LocalSearch::kName, GuidedSearch::kName};
  return kNames;
}

Result<Strategy> MakeStrategy(std::string_view name, std::shared_ptr<const Terrain> terrain,
                              uint64_t seed, std::vector<int> first) {
  GuidedOptions options;
  options.first = std::move(first);
  if (name == GuidedSearch::kName) {
    return Strategy(GuidedSearch(std::move(terrain), seed, options));
  }
  if (name == kBrief) {
    options.starting_arms = 5;
    options.exploration = 0;
    return Strategy(GuidedSearch(std::move(terrain), seed, options));
  }
  if (!options.first.empty()) {
    return Error{ErrorCode::kUsage,
                 "the search '" + std::string(name) + "' cannot begin with given points",
                 "choose one of: guided, brief"};
  }
  if (name == RandomSearch::kName) return Strategy(RandomSearch(terrain, seed));
  if (name == LocalSearch::kName) return Strategy(LocalSearch(std::move(terrain), seed));
  return Error{ErrorCode::kUsage, "no search strategy is called '" + std::string(name) + "'",
               "choose one of: random, local, guided, brief"};
}

std::string_view NameOf(const Strategy& strategy) {
  return std::visit([](const auto& search) { return search.kName; }, strategy);
}

std::vector<int> Next(Strategy& strategy, int n) {
  return std::visit([n](auto& search) { return search.Next(n); }, strategy);
}

void Tell(Strategy& strategy, int index, double score) {
  std::visit([index, score](auto& search) { search.Tell(index, score); }, strategy);
}

}  // namespace warpsmith::proposers
