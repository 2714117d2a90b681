// Thompson sampling over techniques: each is drawn about as often as it is believed to be the best.
#ifndef WARPSMITH_AGENT_KNOWLEDGE_DRAW_H_
#define WARPSMITH_AGENT_KNOWLEDGE_DRAW_H_

#include <map>
#include <span>
#include <string>
#include <vector>

#include "agent/knowledge/posterior.h"
#include "base/random.h"

namespace warpsmith::knowledge {

// What must not be tried again blindly, and why: technique -> "hang (run:a#3)". Whoever knows
// better takes an entry out.
using Blocked = std::map<std::string, std::string, std::less<>>;

struct Belief {
  std::string technique;
  Posterior posterior;
};

struct Choice {
  std::string technique;
  double sampled_value = 0;   // why it was chosen
  double expected_value = 0;  // the prediction that what is measured will be held against
};

// Up to k of the techniques, best sample first, none twice, none that is blocked. The same beliefs
// in any order and the same random stream give the same answer.
std::vector<Choice> Draw(std::span<const Belief> beliefs, const Blocked& blocked, size_t k,
                         Random& random);

}  // namespace warpsmith::knowledge

#endif  // WARPSMITH_AGENT_KNOWLEDGE_DRAW_H_
