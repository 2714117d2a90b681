// The hidden subcommand `warpsmith internal-split-confined FOLDER READABLE... -- COMMAND...
// SOCKET`: the process that runs what a model wrote for a split's parts, inside src/sandbox. The
// rules that its text has passed (reference_rules.py) should be enough; this is for when they are
// not.
#ifndef WARPSMITH_AGENT_SPLIT_CONFINED_H_
#define WARPSMITH_AGENT_SPLIT_CONFINED_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sandbox/sandbox.h"

namespace warpsmith::split {

inline constexpr std::string_view kConfinedSubcommand = "internal-split-confined";
// Says to COMMAND what was reached, as sandbox::Describe words it.
inline constexpr const char* kConfinedVariable = "WARPSMITH_CONFINED";
// A folder in FOLDER, for COMMAND's temporary files.
inline constexpr const char* kScratch = "scratch";

// Reads FOLDER, the system's libraries and READABLE (Python's folders), runs programs of READABLE,
// writes in FOLDER/scratch, has no network.
sandbox::Policy ConfinedPolicy(const std::filesystem::path& folder,
                               const std::vector<std::filesystem::path>& readable, int socket);

// Becomes COMMAND, in as much of a sandbox as this machine gives.
int ConfinedMain(const std::vector<std::string>& arguments);

}  // namespace warpsmith::split

#endif  // WARPSMITH_AGENT_SPLIT_CONFINED_H_
