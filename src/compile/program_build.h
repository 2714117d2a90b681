// What of a program is compiled, and how it is linked.
#ifndef WARPSMITH_COMPILE_PROGRAM_BUILD_H_
#define WARPSMITH_COMPILE_PROGRAM_BUILD_H_

#include <filesystem>
#include <string>
#include <vector>

#include "compile/compilation.h"

namespace warpsmith::compile {

// The entry, then every other source with a compiler's ending that no source includes.
std::vector<std::string> ProgramUnits(const Compilation& compilation);

// nvcc's flags that make them one shared library, which finds the toolkit's own where it was built.
std::vector<std::string> ProgramFlags(const std::filesystem::path& nvcc);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_PROGRAM_BUILD_H_
