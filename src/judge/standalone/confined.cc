#include "judge/standalone/confined.h"

#include <system_error>

#include "base/file.h"
#include "cuda/library.h"

namespace warpsmith::standalone {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostProcesses = 256;
constexpr int64_t kMostOpenFiles = 4096;
constexpr int64_t kMostFileBytes = int64_t{1} << 30;

// The folder that a program is installed in, under every name, unless that is all the system.
void AllowInstallation(const fs::path& program, sandbox::Policy* policy) {
  std::error_code failed;
  const fs::path real = fs::canonical(program, failed);
  for (const fs::path& path : {failed ? program : real, program}) {
    const fs::path root = path.parent_path().parent_path();
    if (!root.is_absolute() || root == "/") continue;
    policy->executable.push_back(root);
  }
}

}  // namespace

sandbox::Policy ConfinedPolicy(const fs::path& dir, const fs::path& out, const fs::path& program) {
  sandbox::Policy policy;
  sandbox::AllowLibraries(&policy);
  sandbox::AllowGpu(&policy);
  const cuda::SearchRoots roots = cuda::RootsFromEnvironment();
  for (const std::string& root : {std::string("/usr/local/cuda"), roots.warpsmith_cuda_home,
                                  roots.cuda_home, roots.build_root}) {
    if (!root.empty() && root != "/") AllowInstallation(root + "/bin/x", &policy);
  }
  AllowInstallation(program, &policy);
  AllowInstallation(ThisExecutable(), &policy);
  policy.executable.emplace_back("/opt/nvidia");  // where the toolkit's packages put Nsight Compute
  policy.executable.insert(policy.executable.end(), {"/usr", "/bin", "/lib", "/lib64"});
  std::error_code failed;
  const fs::path inputs = fs::canonical(dir / "inputs", failed);
  if (!failed) policy.readable.push_back(inputs);
  // CUDA names its threads in /proc, and so it does in what a tool starts, whose entry there is not
  // made yet. Landlock keeps it from other processes' memory, but not from what /proc lets a user
  // set of all that is his: who dies first when memory runs out, say (docs/sandbox.md).
  policy.writable.insert(policy.writable.end(), {dir, out, "/proc"});
  policy.working_folder = out;
  policy.environment = {"CUDA_HOME", "WARPSMITH_CUDA_HOME", "TMPDIR"};
  policy.network = true;  // loopback, in a network of its own where L2 is reached
  policy.allow_processes = true;
  policy.dumpable = true;  // a tool traces what it starts
  policy.limits.processes = kMostProcesses;
  policy.limits.open_files = kMostOpenFiles;
  policy.limits.file_bytes = kMostFileBytes;
  return policy;
}

std::vector<std::string> ConfinedCommand(const std::string& launcher, const fs::path& dir,
                                         const fs::path& out,
                                         const std::vector<std::string>& command) {
  std::vector<std::string> argv = {launcher, std::string(kConfinedSubcommand), dir.string(),
                                   out.string(), "--"};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

int ConfinedMain(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4 || arguments[2] != "--") {
    return sandbox::Fail(
        {ErrorCode::kUsage, std::string(kConfinedSubcommand) + ": DIR OUT -- COMMAND...", ""});
  }
  const auto entered =
      sandbox::EnterOrRefuse(ConfinedPolicy(arguments[0], arguments[1], arguments[3]));
  if (!entered.ok()) return sandbox::Fail(entered.error());
  return sandbox::Fail(sandbox::Become({arguments.begin() + 3, arguments.end()}));
}

}  // namespace warpsmith::standalone
