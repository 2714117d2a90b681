// A policy's paths as rules over what is on the disk, and Landlock, which holds a process to them.
// Private to this folder.
#ifndef WARPSMITH_SANDBOX_PATH_RULES_H_
#define WARPSMITH_SANDBOX_PATH_RULES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sandbox/sandbox.h"

namespace warpsmith::sandbox {

enum class Access : uint8_t {
  kList,     // a folder's names, but not its files: those are named one by one
  kRead,     // and list
  kExecute,  // and read
  kWrite,    // and read, make, remove
  kDevice,   // read, write, ioctl
};

struct PathRule {
  std::filesystem::path path;
  Access access = Access::kRead;
};

// Everything the policy names, as it names it, with parents before what lies in them.
std::vector<PathRule> NamedPaths(const Policy& policy);

// A pattern for the node of the GPU with this UUID, as /proc/driver/nvidia (`facts`) says; for all
// GPUs' nodes where it does not.
std::string NodeOfGpu(const std::filesystem::path& facts, std::string_view uuid);

// The files under `rules` that a pattern matches, without symbolic links, sorted.
std::vector<std::filesystem::path> FilesMatching(const std::vector<PathRule>& rules,
                                                 const std::vector<std::string>& patterns);

// Those of `files` that are there, are no links, and lie under `rules`, sorted.
std::vector<std::filesystem::path> FilesUnder(const std::vector<PathRule>& rules,
                                              const std::vector<std::filesystem::path>& files);

// The rules with every folder that holds a hidden file split into what is in it, without that file:
// rights go down a tree and cannot be taken back below.
std::vector<PathRule> WithoutHidden(const std::vector<PathRule>& rules,
                                    const std::vector<std::filesystem::path>& hidden_files);

// --- Landlock: rights over files, TCP and signals that a process takes from itself. Private to
// this folder. https://docs.kernel.org/userspace-api/landlock.html

// The kernel's version of the interface: what it can restrict grows with it. 0: not there.
int LandlockAbi();

inline constexpr int kAbiOfTcp = 4;
inline constexpr int kAbiOfSignals = 6;

// Of this process and all it starts, for good; needs no_new_privs. kUnavailable when the kernel has
// no Landlock, or has it switched off. A path that cannot be opened grants nothing.
Status RestrictFiles(const std::vector<PathRule>& rules, bool network);

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_PATH_RULES_H_
