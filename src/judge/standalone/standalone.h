// The hidden subcommand that runs one candidate in a process of its own, for tools that watch
// processes:
//   warpsmith internal-solo DIR [--runs N] [--profile-window] [--activity FILE] [--gpu UUID]
//
// Prints nothing but errors (stderr). The exit status is that of base/error.h: 0 when all runs came
// to their end, in which case DIR/finished was written last.
#ifndef WARPSMITH_JUDGE_STANDALONE_STANDALONE_H_
#define WARPSMITH_JUDGE_STANDALONE_STANDALONE_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/sandbox.h"

namespace warpsmith::standalone {

// --- The hidden subcommand `warpsmith internal-solo-confined DIR OUT -- COMMAND...`: a stand-alone
// run of a program, and the tool that watches it, inside src/sandbox. A program is hostile, and a
// tool that injects itself has threads and sockets before main() of what it watches: so the tool is
// confined as well, and the sandbox is entered before either starts.

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

inline constexpr std::string_view kStandaloneSubcommand = "internal-solo";
inline constexpr int kMaxStandaloneRuns = 1'000'000;

struct StandaloneOptions {
  std::filesystem::path dir;
  int runs = 1;
  // A profiler is to see the runs only (ncu --profile-from-start off): one more run goes before
  // them.
  bool profile_window = false;
  // Where to write what CUPTI saw (judge/standalone/run_folder.h); empty: not at all.
  std::filesystem::path activity;
  std::string device_uuid;  // empty: the first device
};

// What follows the subcommand. kUsage for anything else.
Result<StandaloneOptions> ParseStandaloneOptions(const std::vector<std::string>& arguments);

// Each run is waited for before the next.
Status RunStandalone(const StandaloneOptions& options);

// The subcommand: the process's exit status.
int StandaloneMain(const std::vector<std::string>& arguments);

}  // namespace warpsmith::standalone

#endif  // WARPSMITH_JUDGE_STANDALONE_STANDALONE_H_
