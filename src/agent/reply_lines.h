// What a reply says beside its code.
#ifndef WARPSMITH_AGENT_REPLY_LINES_H_
#define WARPSMITH_AGENT_REPLY_LINES_H_

#include <optional>
#include <string>
#include <string_view>

namespace warpsmith::agent {

struct NamedTechnique {
  std::string name;         // canonical, at most 60 bytes
  std::string description;  // one line, may be empty
};

// "TECHNIQUE: name - what it does", the first such line outside of code; marked up or not.
std::optional<NamedTechnique> TechniqueIn(std::string_view reply);

}  // namespace warpsmith::agent

#endif  // WARPSMITH_AGENT_REPLY_LINES_H_
