#include "compile/program_build.h"

#include <algorithm>
#include <string_view>
#include <system_error>

namespace warpsmith::compile {
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

std::vector<std::string> ProgramFlags(const fs::path& nvcc) {
  std::vector<std::string> flags = {"-shared", "-Xcompiler", "-fPIC", "-O3"};
  const fs::path folder = LibraryFolder(nvcc);
  if (folder.empty()) return flags;  // nvcc's own choice, the static one, then
  flags.insert(flags.end(), {"-cudart", "shared", "-L" + folder.string(), "-Xlinker", "-rpath",
                             "-Xlinker", folder.string()});
  return flags;
}

}  // namespace warpsmith::compile
