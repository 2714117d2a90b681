// Do the references of a split's parts, joined, compute what the whole's reference does? Found out
// by running them; nothing is believed.
#ifndef WARPSMITH_AGENT_SPLIT_COMPOSITION_H_
#define WARPSMITH_AGENT_SPLIT_COMPOSITION_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "agent/split/parts.h"
#include "base/result.h"
#include "core/task.h"
#include "sandbox/sandbox.h"

namespace warpsmith::split {

enum class Author : uint8_t {
  kUser,   // the references are run as they are
  kModel,  // they may hold arithmetic on tensors only (reference_rules.py); else nothing is run
};

struct Proof {
  double worst = 0;  // the largest error as a share of its bound
  std::string output, workload;
  int64_t comparisons = 0;  // of outputs: each workload, twice
  std::string confined;     // a model's: the sandbox that its references ran in ("L2")
};

// On random inputs for every workload, with PyTorch on the CPU: tensors pass between parts in their
// own types, and each output of the whole is held to the judge's bound. The parts run in a process
// of their own, which sees nothing of the whole; a model's in a sandbox as well (below).
// kBadInput, in one line, where the parts do not compose, or lose too much between them; where a
// part could not be judged alone, since zeros would pass for what it makes, or infinite numbers
// would be right; where a reference fails; after `limit` where they are a model's. kUnavailable
// without PyTorch, and else after `limit`.
Result<Proof> Prove(const Task& whole, const std::vector<Part>& parts, Author author,
                    std::chrono::seconds limit);

// What Prove() asks of the whole alone, before anybody is asked to split it: its reference can be
// run here within `limit`, gives finite numbers, and zeros in their place would not do.
Status ProveWhole(const Task& whole, std::chrono::seconds limit);

// --- The hidden subcommand `warpsmith internal-split-confined FOLDER READABLE... -- COMMAND...
// SOCKET`: the process that runs what a model wrote for a split's parts, inside src/sandbox. The
// rules that its text has passed (reference_rules.py) should be enough; this is for when they are
// not.

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

#endif  // WARPSMITH_AGENT_SPLIT_COMPOSITION_H_
