// What honest processes need to read, as sandbox.h promises it.
#include <glob.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "sandbox/path_rules.h"
#include "sandbox/sandbox.h"

namespace warpsmith::sandbox {
namespace {

constexpr const char* kLibraryFolders[] = {
    "/lib",           "/lib32",           "/lib64",
    "/usr/lib",       "/usr/lib32",       "/usr/lib64",
    "/usr/local/lib", "/usr/local/lib64", "/usr/share/zoneinfo",
    "/usr/lib/locale"};
// Links lead through the alternatives (/usr/local/cuda is one).
constexpr const char* kLoaderFiles[] = {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
                                        "/etc/alternatives", "/etc/localtime"};

constexpr char kEveryGpu[] = "/dev/nvidia[0-9]*";
constexpr const char* kGpuNodes[] = {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools",
                                     "/dev/nvidia-modeset"};
// The instances of a divided GPU, and who may divide it: root alone.
constexpr const char* kCapabilityNodes[] = {"/dev/nvidia-caps/*",
                                            "/dev/nvidia-caps-imex-channels/*"};
constexpr const char* kGpuFacts[] = {"/proc/self",
                                     "/proc/driver/nvidia",
                                     "/proc/driver/nvidia-caps",
                                     "/proc/driver/nvidia-uvm",
                                     "/proc/driver/nvidia-nvlink",
                                     "/proc/driver/nvidia-nvswitch",
                                     "/proc/devices",
                                     "/proc/modules",
                                     "/proc/cpuinfo",
                                     "/proc/meminfo",
                                     "/proc/filesystems",
                                     "/proc/stat",
                                     "/proc/version",
                                     "/proc/sys/vm",
                                     "/proc/sys/kernel/osrelease",
                                     "/sys/devices",
                                     "/sys/bus",
                                     "/sys/class",
                                     "/sys/module",
                                     "/sys/kernel/mm",
                                     "/sys/fs/cgroup",
                                     "/etc/nvidia",
                                     "/etc/nvidia-container-runtime",
                                     "/usr/share/nvidia"};

void AppendMatches(const char* pattern, std::vector<std::filesystem::path>* paths) {
  glob_t found{};
  if (glob(pattern, 0, nullptr, &found) == 0) {
    for (size_t i = 0; i < found.gl_pathc; ++i) paths->emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
}

// A line of a GPU's information: "GPU UUID: \t GPU-4c09e66c-...".
std::string ValueOf(const std::string& text, std::string_view name) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    const size_t begin = line.find_first_not_of(" \t", name.size());
    if (begin == std::string::npos) return "";
    return line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
  }
  return "";
}

}  // namespace

std::string NodeOfGpu(const std::filesystem::path& facts, std::string_view uuid) {
  std::error_code failed;
  for (const auto& gpu : std::filesystem::directory_iterator(facts / "gpus", failed)) {
    std::ifstream file(gpu.path() / "information");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string minor = ValueOf(text, "Device Minor:");
    const bool is_number =
        !minor.empty() && minor.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && ValueOf(text, "GPU UUID:") == uuid) return "/dev/nvidia" + minor;
  }
  return kEveryGpu;
}

void AllowLibraries(Policy* policy) {
  std::vector<std::filesystem::path>& paths = policy->readable;
  paths.insert(paths.end(), std::begin(kLibraryFolders), std::end(kLibraryFolders));
  paths.insert(paths.end(), std::begin(kLoaderFiles), std::end(kLoaderFiles));
  const char* more = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(more == nullptr ? "" : more);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.starts_with("/") && folder != "/") paths.emplace_back(folder);
  }
}

void AllowGpu(Policy* policy, std::string_view uuid) {
  AppendMatches(NodeOfGpu("/proc/driver/nvidia", uuid).c_str(), &policy->devices);
  // A container may call its nodes otherwise.
  if (policy->devices.empty()) AppendMatches(kEveryGpu, &policy->devices);
  for (const char* pattern : kGpuNodes) AppendMatches(pattern, &policy->devices);
  std::vector<std::filesystem::path> capabilities;
  for (const char* pattern : kCapabilityNodes) AppendMatches(pattern, &capabilities);
  std::erase_if(capabilities, [](const std::filesystem::path& node) {
    struct stat about {};
    return stat(node.c_str(), &about) != 0 || (about.st_mode & S_IROTH) == 0;
  });
  policy->readable.insert(policy->readable.end(), capabilities.begin(), capabilities.end());
  // libcuda names its threads by /proc/self/task/<id>/comm, and does not start without.
  policy->writable.emplace_back("/proc/self/task");
  policy->readable.insert(policy->readable.end(), std::begin(kGpuFacts), std::end(kGpuFacts));
}

}  // namespace warpsmith::sandbox
