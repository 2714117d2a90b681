// Programs as the shell finds them.
#ifndef WARPSMITH_BASE_FIND_PROGRAM_H_
#define WARPSMITH_BASE_FIND_PROGRAM_H_

#include <optional>
#include <string>

namespace warpsmith {

// The file of that name in PATH, or the name itself where it is a path; nullopt: there is none that
// may be run.
std::optional<std::string> FindProgram(const std::string& name);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_FIND_PROGRAM_H_
