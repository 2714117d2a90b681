#include "compile/confinement.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <system_error>

#include "compile/worker_compiler.h"
#include "cuda/library.h"

namespace warpsmith::compile {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kConfined = "warpsmith: nvcc is confined: ";
constexpr std::string_view kNotConfined = "warpsmith: nvcc is not confined: ";
constexpr int64_t kMostProcesses = 256;
// nvcc needs about ten; but without a namespace of its own, what the user starts meanwhile counts.
constexpr int64_t kMostProcessesOfNvcc = 2048;
constexpr int64_t kMostOpenFiles = 1024;

// Every place that NVRTC and nvcc are looked for in.
std::vector<fs::path> ToolkitFolders() {
  const cuda::SearchRoots roots = cuda::RootsFromEnvironment();
  std::vector<fs::path> folders = {"/usr/local/cuda"};
  for (const std::string& root : {roots.warpsmith_cuda_home, roots.cuda_home, roots.build_root}) {
    if (!root.empty() && root != "/") folders.emplace_back(root);
  }
  return folders;
}

void Append(const std::vector<fs::path>& more, std::vector<fs::path>* paths) {
  paths->insert(paths->end(), more.begin(), more.end());
}

// The folder above bin/ that a program is installed in; nothing when that is all the system.
std::vector<fs::path> InstallationOf(const fs::path& program) {
  std::error_code failed;
  const fs::path real = fs::canonical(program, failed);
  if (failed || real.parent_path().filename() != "bin") return {};
  const fs::path root = real.parent_path().parent_path();
  if (root == "/") return {};
  return {root, program.parent_path()};
}

// The compiler of host code, where nvcc would find it.
std::vector<fs::path> HostCompiler() {
  const char* chosen = std::getenv("NVCC_CCBIN");
  if (chosen != nullptr) return InstallationOf(chosen);
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/g++").c_str(), X_OK) == 0) return InstallationOf(folder + "/g++");
  }
  return {};
}

// nvcc and the programs that it starts: read the toolkit and the system's compiler too.
sandbox::Policy NvccPolicy(const fs::path& nvcc, const fs::path& folder) {
  sandbox::Policy policy = NvrtcPolicy(STDERR_FILENO);
  Append(ToolkitFolders(), &policy.executable);
  Append(InstallationOf(nvcc), &policy.executable);
  Append(HostCompiler(), &policy.executable);
  Append({"/usr", "/bin", "/lib", "/lib64"}, &policy.executable);
  const NvccFolder ours(folder);
  policy.readable.push_back(ours.sources);
  policy.writable = {ours.scratch, ours.output};
  policy.working_folder = ours.scratch;
  policy.environment = {"CUDA_HOME", "TMPDIR", "NVCC_CCBIN"};
  policy.allow_processes = true;
  policy.limits.processes = kMostProcessesOfNvcc;
  return policy;
}

}  // namespace

sandbox::Policy NvrtcPolicy(int socket) {
  sandbox::Policy policy;
  sandbox::AllowLibraries(&policy);
  Append(ToolkitFolders(), &policy.readable);
  Append({"/proc/self", "/proc/meminfo", "/proc/cpuinfo", "/usr/include"}, &policy.readable);
  policy.descriptors = {socket};
  policy.environment = {"CUDA_HOME"};
  policy.limits.open_files = kMostOpenFiles;
  policy.limits.processes = kMostProcesses;
  return policy;
}

std::string Unconfined(const sandbox::Reached& reached) {
  if (reached.level != sandbox::Level::kNone) return "";
  return std::string(kWithoutSandbox) + " (" + sandbox::Describe(reached) + ")";
}

std::vector<std::string> LaunchedCommand(const fs::path& launcher, const fs::path& folder,
                                         const std::vector<std::string>& command) {
  std::vector<std::string> argv = {launcher.string(), kNvccSubcommand, folder.string()};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

LaunchedOutput ReadLaunched(std::string output) {
  LaunchedOutput read;
  const size_t end = output.find('\n');
  const std::string line = output.substr(0, end);
  read.launched =
      end != std::string::npos && (line.starts_with(kConfined) || line.starts_with(kNotConfined));
  if (line.starts_with(kNotConfined)) read.unconfined = line.substr(kNotConfined.size());
  if (read.launched) output.erase(0, end + 1);
  read.rest = std::move(output);
  return read;
}

int NvccMain(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2) return kCouldNotLaunch;
  const auto reached = sandbox::Enter(NvccPolicy(arguments[1], arguments[0]));
  if (!reached.ok()) {
    std::printf("the sandbox could not be entered: %s\n", reached.error().Line().c_str());
    return kCouldNotLaunch;
  }
  const std::string unconfined = Unconfined(*reached);
  const std::string_view kind = unconfined.empty() ? kConfined : kNotConfined;
  const std::string words = unconfined.empty() ? sandbox::Describe(*reached) : unconfined;
  std::printf("%s%s\n", std::string(kind).c_str(), words.c_str());
  std::fflush(stdout);
  const Error error = sandbox::Become({arguments.begin() + 1, arguments.end()});
  std::printf("starting %s\n", error.message.c_str());
  return kCouldNotLaunch;
}

}  // namespace warpsmith::compile
