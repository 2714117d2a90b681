// What cannot be undone is tried in a child first. Private to this folder.
#ifndef WARPSMITH_SANDBOX_TRIAL_H_
#define WARPSMITH_SANDBOX_TRIAL_H_

#include <functional>
#include <string>

#include "base/result.h"

namespace warpsmith::sandbox {

struct Answer {
  int status = 0;  // what `attempt` returned, 0 to 255
  std::string text;
};

// Runs `attempt` in a fork of this process; it may write to the descriptor that it is given.
// kInternal when the child died.
Result<Answer> TryInChild(const std::function<int(int mouth)>& attempt);

// Writes all of a text; false when nobody listens.
bool Say(int mouth, const std::string& text);

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_TRIAL_H_
