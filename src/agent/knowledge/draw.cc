#include "agent/knowledge/draw.h"

#include <algorithm>

namespace warpsmith::knowledge {

std::vector<Choice> Draw(std::span<const Belief> beliefs, const Blocked& blocked, size_t k,
                         Random& random) {
  std::map<std::string_view, const Posterior*> candidates;
  for (const Belief& belief : beliefs) {
    if (!blocked.contains(belief.technique)) {
      candidates.emplace(belief.technique, &belief.posterior);
    }
  }
  std::vector<Choice> choices;
  for (const auto& [technique, posterior] : candidates) {
    const double sampled = SampledValue(*posterior, random);
    choices.push_back({std::string(technique), sampled, ExpectedValue(*posterior)});
  }
  std::stable_sort(choices.begin(), choices.end(), [](const Choice& a, const Choice& b) {
    return a.sampled_value > b.sampled_value;
  });
  if (choices.size() > k) choices.resize(k);
  return choices;
}

}  // namespace warpsmith::knowledge
