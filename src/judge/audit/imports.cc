#include "judge/audit/imports.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/elf.h"
#include "judge/audit/library_names.h"

namespace warpsmith::audit {
namespace {

// A trailing '*' stands for any ending.
struct CallGroup {
  std::string_view what;
  std::string_view allowed_by;  // empty: nothing allows it
  std::vector<std::string_view> names;
};

const std::array<CallGroup, 2>& ConvictingCalls() {
  static const std::array<CallGroup, 2> groups = {{
      {"loads libraries at run time",
       "dlopen",
       {"dlopen", "dlmopen", "dlsym", "dlvsym", "__libc_dlopen_mode", "__libc_dlsym"}},
      {"loads device code at run time",
       "nvrtc",
       {"cuModuleLoad*", "cuLibraryLoad*", "cuLink*", "cudaLibraryLoad*", "nvrtc*", "nvJitLink*",
        "nvPTXCompiler*"}},
  }};
  return groups;
}

constexpr std::array<std::string_view, 24> kToldCalls = {"system",
                                                         "popen",
                                                         "execl",
                                                         "execle",
                                                         "execlp",
                                                         "execv",
                                                         "execve",
                                                         "execvp",
                                                         "execvpe",
                                                         "fexecve",
                                                         "fork",
                                                         "vfork",
                                                         "clone",
                                                         "posix_spawn",
                                                         "ptrace",
                                                         "socket",
                                                         "posix_spawnp",
                                                         "process_vm_readv",
                                                         "process_vm_writev",
                                                         "pthread_create",
                                                         "memfd_create",
                                                         "mprotect",
                                                         "cudaGetDriverEntryPoint*",
                                                         "cuGetProcAddress*"};

// Names that reach the same calls through cuGetProcAddress and its like.
constexpr std::array<std::string_view, 4> kLoadersByName = {"cuModuleLoad", "cuLibraryLoad",
                                                            "cuLinkCreate", "cudaLibraryLoad"};

bool Matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

template <typename Patterns>
bool MatchesAny(std::string_view name, const Patterns& patterns) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [name](std::string_view pattern) { return Matches(name, pattern); });
}

std::optional<std::string> ForbiddenLibrary(const ElfImports& imports,
                                            const std::vector<std::string>& allow) {
  for (const std::string& library : imports.libraries) {
    if (IsOfEveryProgram(library)) continue;
    const LibraryFamily* family = FamilyOfFile(library);
    if (family == nullptr) return "it needs " + library + ", a library that no list knows";
    if (Allows(allow, family->name)) continue;
    return "it needs " + library + ", and the task does not allow " + std::string(family->name);
  }
  return std::nullopt;
}

std::optional<std::string> ForbiddenCall(const ElfImports& imports,
                                         const std::vector<std::string>& allow) {
  for (const CallGroup& group : ConvictingCalls()) {
    if (Allows(allow, group.allowed_by)) continue;
    for (const std::string& symbol : imports.symbols) {
      if (!MatchesAny(symbol, group.names)) continue;
      return "it " + std::string(group.what) + ": it calls " + symbol;
    }
  }
  return std::nullopt;
}

std::optional<std::string> NamedLibrary(std::string_view image,
                                        const std::vector<std::string>& allow) {
  const LibraryFamily* family = ForbiddenIn(image, allow);
  if (family == nullptr) return std::nullopt;
  return "it names " + std::string(family->files.front()) + ", and the task does not allow " +
         std::string(family->name);
}

std::optional<std::string> NamedLoader(std::string_view image,
                                       const std::vector<std::string>& allow) {
  if (Allows(allow, "nvrtc")) return std::nullopt;
  for (const std::string_view name : kLoadersByName) {
    if (image.find(name) == std::string_view::npos) continue;
    return "it names " + std::string(name) + ", which loads device code at run time";
  }
  return std::nullopt;
}

// The static runtime's own names, which its objects leave in the symbol table.
bool HoldsStaticRuntime(std::string_view image, const ElfImports& imports) {
  const bool shared =
      std::any_of(imports.libraries.begin(), imports.libraries.end(),
                  [](const std::string& library) { return library.starts_with("libcudart.so"); });
  return !shared && image.find("libcudart_static_") != std::string_view::npos;
}

std::string Summary(const ElfImports& imports) {
  std::string text = std::to_string(imports.libraries.size()) + " libraries, " +
                     std::to_string(imports.symbols.size()) + " symbols";
  std::string told;
  for (const std::string& symbol : imports.symbols) {
    if (MatchesAny(symbol, kToldCalls)) told += (told.empty() ? "" : ", ") + symbol;
  }
  return told.empty() ? text : text + "; it calls " + told;
}

}  // namespace

AuditFinding AuditImports(std::string_view image, const std::vector<std::string>& allow) {
  const auto imports = ReadElfImports(image);
  if (!imports.ok()) {
    return Convicted(kImports, "what it imports cannot be read: " + imports.error().message);
  }
  if (const auto found = ForbiddenLibrary(*imports, allow)) return Convicted(kImports, *found);
  if (const auto found = NamedLibrary(image, allow)) return Convicted(kImports, *found);
  const auto call = ForbiddenCall(*imports, allow), named = NamedLoader(image, allow);
  if ((call || named) && HoldsStaticRuntime(image, *imports)) {
    return Absent(kImports, (call ? *call : *named) +
                                ", but so does the static CUDA runtime that it was linked with");
  }
  if (call) return Convicted(kImports, *call);
  if (named) return Convicted(kImports, *named);
  return Clean(kImports, Summary(*imports));
}

}  // namespace warpsmith::audit
