// What cannot be undone is tried in a child first. Private to this folder.
#ifndef WARPSMITH_SANDBOX_TRIAL_H_
#define WARPSMITH_SANDBOX_TRIAL_H_

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>

#include "base/error.h"
#include "base/result.h"

namespace warpsmith::sandbox {

// Private to this folder: what a system call's failure becomes.

// Reads errno: call it right after the call that failed.
inline Error Failed(const std::string& what) {
  return Error{ErrorCode::kPermission, what + ": " + std::strerror(errno), ""};
}

struct ChildResult {
  int status = 0;  // what `attempt` returned, 0 to 255
  std::string text;
};

// Runs `attempt` in a fork of this process; it may write to the descriptor that it is given.
// kInternal when the child died.
Result<ChildResult> TryInChild(const std::function<int(int pipe_end)>& attempt);

// Writes all of a text; false when nobody listens.
bool WriteText(int pipe_end, const std::string& text);

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_TRIAL_H_
