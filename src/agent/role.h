// Who asks a model (ChatRequest::role): each role may have a model of its own.
#ifndef WARPSMITH_AGENT_ROLE_H_
#define WARPSMITH_AGENT_ROLE_H_

#include <array>
#include <string_view>

namespace warpsmith::agent::role {

inline constexpr std::string_view kBootstrap = "bootstrap";  // a first kernel
inline constexpr std::string_view kLowering = "lowering";    // a technique, or an idea, as code
inline constexpr std::string_view kRepair = "repair";
inline constexpr std::string_view kState = "state";    // what holds a kernel back
inline constexpr std::string_view kReview = "review";  // why a step gained what it did
inline constexpr std::string_view kDoubts = "doubts";  // is a kernel honest?
inline constexpr std::array<std::string_view, 6> kAll = {kBootstrap, kLowering, kRepair,
                                                         kState,     kReview,   kDoubts};

}  // namespace warpsmith::agent::role

#endif  // WARPSMITH_AGENT_ROLE_H_
