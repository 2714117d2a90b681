// What a process was given by whoever started it. Private to this folder.
#ifndef WARPSMITH_SANDBOX_SURROUNDINGS_H_
#define WARPSMITH_SANDBOX_SURROUNDINGS_H_

#include <string>
#include <vector>

#include "base/result.h"

namespace warpsmith::sandbox {

// Leaves a short list of variables and `kept`, with HOME=/nonexistent; the rest is overwritten in
// memory too, since keys and tokens are passed so.
void CleanEnvironment(const std::vector<std::string>& kept);

// stdin from /dev/null; all but 0, 1, 2 and `kept` closed; files made are their owner's alone.
Status CleanDescriptors(const std::vector<int>& kept);

// kInternal unless this is the process's only thread.
Status OnlyThread();

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_SURROUNDINGS_H_
