#include "agent/attempt.h"

#include <cstdlib>

namespace warpsmith::agent {

std::string_view Name(Kind kind) {
  switch (kind) {
    case Kind::kGiven:
      return "given";
    case Kind::kBootstrap:
      return "bootstrap";
    case Kind::kJoin:
      return "join";
    case Kind::kLowering:
      return "lowering";
    case Kind::kOwnIdea:
      return "own-idea";
    case Kind::kImprove:
      return "improve";
    case Kind::kContrastive:
      return "contrastive";
  }
  std::abort();
}

bool IsFirst(const Attempt& attempt) {
  return attempt.kind == Kind::kGiven || attempt.kind == Kind::kBootstrap ||
         attempt.kind == Kind::kJoin;
}

}  // namespace warpsmith::agent
