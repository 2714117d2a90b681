#include "judge/program_sandbox.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cuda/library.h"
#include "judge/audit/library_names.h"

namespace warpsmith::judge {
namespace {

namespace fs = std::filesystem;

sandbox::Level LevelOf(const std::string& name) {
  if (name == sandbox::Name(sandbox::Level::kL2)) return sandbox::Level::kL2;
  if (name == sandbox::Name(sandbox::Level::kL1)) return sandbox::Level::kL1;
  return sandbox::Level::kNone;
}

// Where the toolkit's libraries may be, under every name.
std::vector<fs::path> ToolkitFolders() {
  std::vector<fs::path> folders;
  for (const std::string& candidate :
       cuda::LibraryCandidates("libcudart.so.13", cuda::RootsFromEnvironment())) {
    const fs::path folder = fs::path(candidate).parent_path();
    if (!folder.is_absolute()) continue;
    folders.push_back(folder);
    std::error_code absent;
    const fs::path real = fs::canonical(folder, absent);
    if (!absent && real != folder) folders.push_back(real);
  }
  return folders;
}

sandbox::Policy PolicyOf(const StartCommand& command, int socket) {
  sandbox::Policy policy;
  policy.wanted = LevelOf(command.sandbox);
  sandbox::AllowLibraries(&policy);
  sandbox::AllowGpu(&policy, command.device_uuid);
  for (const fs::path& folder : ToolkitFolders()) policy.executable.push_back(folder);
  policy.hidden = command.hidden;
  policy.descriptors = {socket};
  policy.limits = ProgramLimits();
  return policy;
}

}  // namespace

sandbox::Limits ProgramLimits() {
  // At L1 the user's other processes count, too, and compilers come and go with every core.
  constexpr int64_t kMostThreads = 2048, kMostOpenFiles = 1024;
  constexpr int64_t kMostFileBytes = int64_t{64} << 20;
  sandbox::Limits limits;
  limits.processes = kMostThreads;
  limits.open_files = kMostOpenFiles;
  limits.file_bytes = kMostFileBytes;
  limits.data_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE) / 2;
  return limits;
}

Result<std::string> EnterProgramSandbox(const StartCommand& command, int socket) {
  if (LevelOf(command.sandbox) == sandbox::Level::kNone) {
    return std::string(sandbox::Name(sandbox::Level::kNone));
  }
  const sandbox::Reached reached = TRY(sandbox::EnterOrRefuse(PolicyOf(command, socket)));
  return std::string(sandbox::Name(reached.level));
}

namespace {

// Of the toolkit a program needs the runtime, and the judge's tracing what it loads.
bool IsNeededOfToolkit(const std::string& file) {
  constexpr std::array<std::string_view, 5> kNeeded = {"libcudart.", "libcupti.", "libnvperf",
                                                       "libcheckpoint.", "libpcsamplingutil."};
  return std::any_of(kNeeded.begin(), kNeeded.end(),
                     [&](std::string_view begin) { return file.starts_with(begin); });
}

// Libraries lie side by side with the system's where the toolkit is a package of the system.
bool IsOfTheSystem(const fs::path& folder) {
  const std::string path = folder.string() + "/";
  return path.starts_with("/lib") || path.starts_with("/usr/lib");
}

// The toolkit's libraries that no list knows.
void HideUnknownLibraries(std::vector<std::string>* hidden) {
  for (const fs::path& folder : ToolkitFolders()) {
    if (IsOfTheSystem(folder)) continue;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(folder, failed)) {
      const std::string file = entry.path().filename();
      const bool is_library = file.starts_with("lib") && file.find(".so") != std::string::npos;
      if (!is_library || IsNeededOfToolkit(file) || audit::FamilyOfFile(file) != nullptr) continue;
      hidden->push_back(entry.path());
    }
  }
}

}  // namespace

std::vector<std::string> HiddenLibraries(const std::vector<std::string>& allow) {
  const bool allows_some = std::any_of(allow.begin(), allow.end(),
                                       [](const std::string& name) { return name != "dlopen"; });
  std::vector<std::string> hidden;
  for (const audit::LibraryFamily& family : audit::LibraryFamilies()) {
    // cuSPARSE and cuDNN, say, compile with it what they run.
    const bool serves_others = family.name == "nvrtc" && allows_some;
    if (serves_others || audit::Allows(allow, family.name)) continue;
    for (const std::string_view file : family.files) hidden.push_back(std::string(file) + "*");
  }
  // What is allowed may need others of them.
  if (!allows_some) HideUnknownLibraries(&hidden);
  return hidden;
}

}  // namespace warpsmith::judge
