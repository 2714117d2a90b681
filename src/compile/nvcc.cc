#include "compile/nvcc.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "base/file.h"
#include "base/foreign_file.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "compile/cubin.h"
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

namespace {

namespace fs = std::filesystem;

bool IsUnit(const fs::path& path) {
  const std::string ending = path.extension().string();
  return ending == ".cu" || ending == ".cpp" || ending == ".cc" || ending == ".cxx" ||
         ending == ".c";
}

// Does a line of `text` include a file of this name, from whatever folder?
bool Includes(std::string_view text, const std::string& name) {
  for (size_t at = text.find("#include"); at != std::string_view::npos;
       at = text.find("#include", at + 1)) {
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    if (line.find("/" + name + "\"") != std::string_view::npos) return true;
    if (line.find("\"" + name + "\"") != std::string_view::npos) return true;
  }
  return false;
}

fs::path LibraryFolder(const fs::path& nvcc) {
  std::error_code unknown;
  const fs::path real = fs::canonical(nvcc, unknown);
  const fs::path root = (unknown ? nvcc : real).parent_path().parent_path();
  for (const char* folder : {"lib64", "lib"}) {
    if (fs::exists(root / folder / "libcudart.so", unknown)) return root / folder;
  }
  return {};
}

namespace fs = std::filesystem;

Status WriteSources(const fs::path& folder, const Compilation& compilation) {
  for (const auto& [path, text] : compilation.sources) {
    TRY(CreateDirectories((folder / path).parent_path()));
    TRY(WriteFileAtomic(folder / path, text));
  }
  return {};
}

std::string WithoutFolder(std::string log, const fs::path& folder) {
  const std::string prefix = folder.string() + "/";
  for (size_t at = log.find(prefix); at != std::string::npos; at = log.find(prefix, at)) {
    log.erase(at, prefix.size());
  }
  return log;
}

// nvcc's flags that make them one shared library, which finds the toolkit's own where it was built.
std::vector<std::string> ProgramFlags(const fs::path& nvcc) {
  std::vector<std::string> flags = {"-shared", "-Xcompiler", "-fPIC", "-O3"};
  const fs::path folder = LibraryFolder(nvcc);
  if (folder.empty()) return flags;  // nvcc's own choice, the static one, then
  flags.insert(flags.end(), {"-cudart", "shared", "-L" + folder.string(), "-Xlinker", "-rpath",
                             "-Xlinker", folder.string()});
  return flags;
}

std::vector<std::string> CommandLine(const fs::path& nvcc, const Compilation& compilation,
                                     Form form, const NvccFolder& folder, bool keep) {
  std::vector<std::string> argv = {nvcc.string()};
  if (form == Form::kKernel) {
    argv.insert(argv.end(), {"-cubin"});
    if (keep) argv.insert(argv.end(), {"--keep", "--keep-dir", folder.output.string()});
  } else {
    const std::vector<std::string> flags = ProgramFlags(nvcc);
    argv.insert(argv.end(), flags.begin(), flags.end());
  }
  argv.insert(argv.end(), compilation.flags.begin(), compilation.flags.end());
  argv.insert(argv.end(), {"-I", folder.sources.string(), "-o", folder.image().string()});
  const bool whole = form == Form::kProgram;
  for (const std::string& unit :
       whole ? ProgramUnits(compilation) : std::vector<std::string>{compilation.entry}) {
    argv.push_back((folder.sources / unit).string());
  }
  return argv;
}

Compiled Failed(std::string failure, std::string log) {
  Compiled compiled;
  compiled.failure = std::move(failure);
  compiled.log = std::move(log);
  return compiled;
}

// What the image was assembled from, where nvcc was told to keep it; else "".
std::string KeptPtx(const NvccFolder& folder, const std::string& entry) {
  auto ptx = ReadFile(folder.output / (fs::path(entry).stem().string() + ".ptx"));
  return ptx.ok() ? *std::move(ptx) : std::string();
}

Result<Compiled> FromOutcome(const ProcessOutcome& outcome, Form form, const NvccFolder& folder,
                             const Compilation& compilation, const Limits& limits) {
  const LaunchedOutput output = ReadLaunched(outcome.output);
  const std::string log = TidyLog(WithoutFolder(output.rest, folder.sources), limits.output_bytes);
  if (outcome.timed_out) {
    Compiled compiled =
        Failed("no result within " + std::to_string(limits.wall.count()) + " ms", log);
    compiled.timed_out = true;
    compiled.repeatable = false;
    return compiled;
  }
  if (!output.launched) {
    return Error{ErrorCode::kUnavailable, "starting nvcc in a sandbox: " + log, ""};
  }
  if (outcome.signal != 0) {
    Compiled compiled = Failed("nvcc died of signal " + std::to_string(outcome.signal), log);
    compiled.repeatable = false;
    return compiled;
  }
  if (outcome.exit_status != 0) {
    Compiled compiled =
        Failed("nvcc ended with status " + std::to_string(outcome.exit_status), log);
    // nvcc's own statuses are smaller. These say that it, or a part that it starts by a shell,
    // could not be started or was killed: mostly because the machine was at its limit.
    compiled.repeatable = outcome.exit_status < kCouldNotLaunch;
    return compiled;
  }
  Compiled compiled;
  compiled.log = log;
  compiled.unconfined = output.unconfined;
  compiled.image = TRY(ReadFile(folder.image()));
  if (form == Form::kKernel) {
    compiled.writable_global_bytes =
        TRY(WritableGlobalBytes(compiled.image, KeptPtx(folder, compilation.entry)));
  }
  return compiled;
}

}  // namespace

std::vector<std::string> ProgramUnits(const Compilation& compilation) {
  std::vector<std::string> units = {compilation.entry};
  for (const auto& [path, text] : compilation.sources) {
    if (path == compilation.entry || !IsUnit(path)) continue;
    const std::string name = fs::path(path).filename().string();
    const bool included =
        std::any_of(compilation.sources.begin(), compilation.sources.end(),
                    [&](const auto& other) { return Includes(other.second, name); });
    if (!included) units.push_back(path);
  }
  return units;
}

Result<Compiled> CompileWithNvcc(const fs::path& launcher, const fs::path& nvcc,
                                 const Compilation& compilation, Form form, const Limits& limits) {
  for (const auto& [path, text] : compilation.sources) {
    if (!StaysInside(path)) return Failed("source path '" + path + "' leaves the folder", "");
    // nvcc hands its command lines to a shell, where `$(...)` in the name of a file is a command.
    if (!IsMadeOf(path, "_-+./")) {
      return Failed("source path '" + path + "' has other characters than a-z, 0-9, _-+./", "");
    }
  }
  const TemporaryDirectory whole = TRY(TemporaryDirectory::Create("warpsmith-nvcc"));
  const NvccFolder folder(whole.path());
  for (const fs::path& part : {folder.sources, folder.scratch, folder.output}) {
    TRY(CreateDirectories(part));
  }
  TRY(WriteSources(folder.sources, compilation));
  TRY(sandbox::GiveToUnprivileged(whole.path()));
  ProcessLimits process;
  process.wall = limits.wall;
  process.address_space_bytes = limits.memory_bytes;
  process.output_bytes = limits.output_bytes;
  process.file_bytes = limits.image_bytes;
  const auto run = [&](bool keep) -> Result<Compiled> {
    const auto command = CommandLine(nvcc, compilation, form, folder, keep);
    const auto outcome = TRY(RunProcess(LaunchedCommand(launcher, whole.path(), command), process,
                                        {"TMPDIR=" + folder.scratch.string()}));
    return FromOutcome(outcome, form, folder, compilation, limits);
  };
  Compiled compiled = TRY(run(false));
  if (form == Form::kProgram || !compiled.failure.empty()) return compiled;
  // Once more where PTX has to tell whether its variables are only read: image and PTX then come of
  // the same run, since a source can tell the time.
  return TRY(HasVariables(compiled.image)) ? run(true) : compiled;
}

}  // namespace warpsmith::compile
