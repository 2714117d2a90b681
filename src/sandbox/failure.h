// Private to this folder: what a system call's failure becomes.
#ifndef WARPSMITH_SANDBOX_FAILURE_H_
#define WARPSMITH_SANDBOX_FAILURE_H_

#include <cerrno>
#include <cstring>
#include <string>

#include "base/error.h"

namespace warpsmith::sandbox {

// Reads errno: call it right after the call that failed.
inline Error Failed(const std::string& what) {
  return Error{ErrorCode::kPermission, what + ": " + std::strerror(errno), ""};
}

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_FAILURE_H_
