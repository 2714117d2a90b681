#include "cuda/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/build_info.h"

namespace warpsmith::cuda {
namespace {

constexpr char kSystemRoot[] = "/usr/local/cuda";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody calls setenv
  return value == nullptr ? "" : value;
}

// Each once: CUDA_HOME is often the system's folder too.
std::string Join(const std::vector<std::string>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    const auto end = items.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(items.begin(), end, items[i]) != end) continue;
    text += (text.empty() ? "" : ", ") + items[i];
  }
  return text;
}

void AppendFolders(std::string_view root, std::string_view soname, std::vector<std::string>* out) {
  if (root.empty()) return;
  for (const char* folder : {"/lib64/", "/lib/", "/extras/CUPTI/lib64/"}) {
    const bool is_cupti = soname.starts_with("libcupti");
    if (std::string_view(folder).starts_with("/extras") && !is_cupti) continue;
    out->push_back(std::string(root) + folder + std::string(soname));
  }
}

std::vector<std::string> ToolCandidates(std::string_view name, const SearchRoots& roots) {
  std::vector<std::string> candidates;
  for (const std::string& root :
       {roots.warpsmith_cuda_home, roots.cuda_home, std::string(kSystemRoot), roots.build_root}) {
    if (!root.empty()) candidates.push_back(root + "/bin/" + std::string(name));
  }
  std::istringstream path(Environment("PATH"));
  for (std::string folder; std::getline(path, folder, ':');) {
    if (!folder.empty()) candidates.push_back(folder + "/" + std::string(name));
  }
  return candidates;
}

}  // namespace

SearchRoots RootsFromEnvironment() {
  return {Environment("WARPSMITH_CUDA_HOME"), Environment("CUDA_HOME"),
          std::string(build_info::CudaRoot())};
}

std::vector<std::string> LibraryCandidates(std::string_view soname, const SearchRoots& roots) {
  std::vector<std::string> candidates;
  AppendFolders(roots.warpsmith_cuda_home, soname, &candidates);
  AppendFolders(roots.cuda_home, soname, &candidates);
  AppendFolders(kSystemRoot, soname, &candidates);
  candidates.emplace_back(soname);
  AppendFolders(roots.build_root, soname, &candidates);
  return candidates;
}

Result<std::filesystem::path> FindTool(std::string_view name) {
  const std::vector<std::string> candidates = ToolCandidates(name, RootsFromEnvironment());
  for (const std::string& candidate : candidates) {
    if (access(candidate.c_str(), X_OK) == 0) return std::filesystem::path(candidate);
  }
  return Error{ErrorCode::kUnavailable,
               "no program " + std::string(name) + " (tried " + Join(candidates) + ")",
               "set CUDA_HOME to a CUDA 13 toolkit that has it"};
}

Result<Library> Library::Open(std::string_view soname, std::string_view fix) {
  const std::vector<std::string> candidates = LibraryCandidates(soname, RootsFromEnvironment());
  std::string reason = "not found";
  for (const std::string& candidate : candidates) {
    const bool is_path = candidate.find('/') != std::string::npos;
    if (is_path && access(candidate.c_str(), F_OK) != 0) continue;
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return Library(handle, candidate);
    }
    const std::string found = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc's is per thread
    if (found.find("cannot open shared object file") == std::string::npos) reason = found;
  }
  return Error{
      ErrorCode::kUnavailable,
      "could not open " + std::string(soname) + ": " + reason + " (tried " + Join(candidates) + ")",
      std::string(fix)};
}

Result<void*> Library::Symbol(const char* name) const {
  if (void* symbol = dlsym(handle_, name)) return symbol;
  return Error{ErrorCode::kUnavailable, path_ + " has no function " + name,
               "it is older than this program needs: install CUDA 13"};
}

}  // namespace warpsmith::cuda
