// The hidden subcommand `warpsmith internal-solo-confined DIR OUT -- COMMAND...`: a stand-alone run
// of a program, and the tool that watches it, inside src/sandbox. A program is hostile, and a tool
// that injects itself has threads and sockets before main() of what it watches: so the tool is
// confined as well, and the sandbox is entered before either starts.
#ifndef WARPSMITH_JUDGE_STANDALONE_CONFINED_H_
#define WARPSMITH_JUDGE_STANDALONE_CONFINED_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/sandbox.h"

namespace warpsmith::standalone {

inline constexpr std::string_view kConfinedSubcommand = "internal-solo-confined";

// DIR and OUT may be written, nothing else. Local sockets and processes are allowed, since a tool
// cannot work without them; so a program is freer here than where it is timed.
sandbox::Policy ConfinedPolicy(const std::filesystem::path& dir, const std::filesystem::path& out,
                               const std::filesystem::path& program);

// `command` as `launcher` ("warpsmith") runs it confined.
std::vector<std::string> ConfinedCommand(const std::string& launcher,
                                         const std::filesystem::path& dir,
                                         const std::filesystem::path& out,
                                         const std::vector<std::string>& command);

// The subcommand: becomes COMMAND. Where not even L1 is reached nothing is run: status 77.
int ConfinedMain(const std::vector<std::string>& arguments);

}  // namespace warpsmith::standalone

#endif  // WARPSMITH_JUDGE_STANDALONE_CONFINED_H_
