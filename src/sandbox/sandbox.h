// A process locks itself in, without root and without a container, before it touches anything
// hostile: first thing in main(), before CUDA is initialised and before any thread exists.
//
//   L1  not root, no capabilities, no new privileges, Landlock over files, TCP and signals,
//       a filter over system calls, limits
//   L2  L1 in namespaces of its own: a root folder that holds the policy's paths and nothing else,
//       an empty network, its own System V IPC
//
// What each level stops, and what it does not: docs/sandbox.md.
#ifndef WARPSMITH_SANDBOX_SANDBOX_H_
#define WARPSMITH_SANDBOX_SANDBOX_H_

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::sandbox {

enum class Level : uint8_t { kNone, kL1, kL2 };
std::string_view Name(Level level);  // "L0", "L1", "L2"

// 0: as it is. Core dumps are always off.
struct Limits {
  int64_t address_space_bytes = 0;  // a CUDA context needs it unlimited
  int64_t data_bytes = 0;           // private writable memory, which CUDA's reservations are not
  int64_t file_bytes = 0;           // a memfd counts as a file
  int64_t open_files = 0;
  int64_t processes = 0;  // processes and threads beside those that the user has already
};

// Paths are absolute; a folder stands for all in it; one that does not exist grants nothing.
struct Policy {
  Level wanted = Level::kL2;
  std::vector<std::filesystem::path> readable;
  std::vector<std::filesystem::path> writable;    // and readable
  std::vector<std::filesystem::path> executable;  // and readable; matters with allow_processes
  std::vector<std::filesystem::path> devices;     // nodes to read, write and ioctl
  std::vector<std::filesystem::path> hidden;  // files of the folders above that cannot be opened
  std::vector<int> descriptors;               // stay open, beside 0, 1 and 2
  std::vector<std::string> environment;       // names kept beside the short list in sandbox.cc
  std::filesystem::path working_folder = "/";
  bool network = false;
  bool allow_processes = false;  // fork and exec: for compilers, never for candidates
  // May write to its own /proc/self, and be traced by its user. Without, the files there are root's
  // but for the threads' names: none of them takes back that it dies first when memory runs out.
  bool dumpable = false;
  Limits limits;
};

// What loading shared libraries takes: the library folders and the loader's cache.
void AllowLibraries(Policy* policy);
// What CUDA takes: the device nodes, what it reads in /proc and /sys, and to name its threads. To
// be dumpable it does not take (driver 580). Of several GPUs the node of the one with this UUID
// alone, if the driver's files say which that is; "" stands for all.
void AllowGpu(Policy* policy, std::string_view uuid = "");

// The files, without links, of the policy's folders that a pattern matches: of the file's name
// ("libcublas*"), or of its whole path where it holds a slash. Looks through all folders (0.3 s).
std::vector<std::filesystem::path> FilesMatching(const Policy& policy,
                                                 const std::vector<std::string>& patterns);

struct Reached {
  Level level = Level::kNone;
  // What is not in force and why; empty when the wanted level was reached in full.
  std::vector<std::string> absent;
};
std::string Describe(const Reached& reached);  // "L1; not in force: ..."

// Enters the highest level up to `wanted` that this machine lets it, and says what kept it from
// more: the caller decides whether that is enough. What can be in force is in force even where the
// level is kNone. An Error means that the process is half-way in and should end. It cannot be
// undone. kInternal when the process has other threads already.
Result<Reached> Enter(const Policy& policy);

// The same for a program that must not run loose: kPermission where no level was reached.
Result<Reached> EnterOrRefuse(const Policy& policy);

// Becomes `command`: a program's path and its arguments. Returns only the Error that kept it.
Error Become(std::span<const std::string> command);
// Says the error on stderr, for a main that was to become a program. Gives the exit status.
int Fail(const Error& error);

// The level that a program of this user would reach here, found out in a child.
Result<Reached> Probe();

// The identity that root gives up its own for. Folders that it is to write must be given to it.
inline constexpr uid_t kUnprivilegedId = 65534;
// The folder and all in it, where root calls; others go on as they are.
Status GiveToUnprivileged(const std::filesystem::path& folder);

}  // namespace warpsmith::sandbox

#endif  // WARPSMITH_SANDBOX_SANDBOX_H_
