#include "agent/split/confined.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace warpsmith::split {
namespace {

constexpr int64_t kMostProcesses = 2048;  // torch starts a thread for every core, several times
constexpr int64_t kMostOpenFiles = 4096;
constexpr int64_t kMostFileBytes = int64_t{64} << 20;

int64_t MemoryBytes() {
  return static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

}  // namespace

sandbox::Policy ConfinedPolicy(const std::filesystem::path& folder,
                               const std::vector<std::filesystem::path>& readable, int socket) {
  sandbox::Policy policy;
  sandbox::AllowLibraries(&policy);
  policy.executable = readable;
  policy.executable.insert(policy.executable.end(), {"/usr", "/bin", "/lib", "/lib64"});
  policy.readable.insert(policy.readable.end(),
                         {folder, "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
                          "/sys/devices/system", "/sys/fs/cgroup"});
  policy.writable = {folder / kScratch};  // torch wants a temporary folder to begin at all
  policy.working_folder = folder;
  policy.descriptors = {socket};
  policy.environment = {"TMPDIR", "PYTHONPATH", "OMP_NUM_THREADS", "MKL_NUM_THREADS",
                        "PYTHONDONTWRITEBYTECODE"};
  policy.allow_processes = true;  // to become Python
  policy.limits.processes = kMostProcesses;
  policy.limits.open_files = kMostOpenFiles;
  policy.limits.file_bytes = kMostFileBytes;
  policy.limits.data_bytes = MemoryBytes();
  return policy;
}

int ConfinedMain(const std::vector<std::string>& arguments) {
  const auto line = std::find(arguments.begin(), arguments.end(), "--");
  if (line == arguments.begin() || arguments.end() - line < 3) {
    return sandbox::Fail(
        {ErrorCode::kUsage,
         std::string(kConfinedSubcommand) + ": FOLDER READABLE... -- COMMAND... SOCKET", ""});
  }
  const auto reached = sandbox::Enter(ConfinedPolicy(
      arguments.front(), {arguments.begin() + 1, line}, std::atoi(arguments.back().c_str())));
  if (!reached.ok()) return sandbox::Fail(reached.error());
  setenv(kConfinedVariable, sandbox::Describe(*reached).c_str(), 1);
  return sandbox::Fail(sandbox::Become({line + 1, arguments.end()}));
}

}  // namespace warpsmith::split
