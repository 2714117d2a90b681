#include "base/find_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace warpsmith {

std::optional<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != name.npos) {
    return access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;
  }
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    std::string tried = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (access(tried.c_str(), X_OK) == 0) return tried;
  }
  return std::nullopt;
}

}  // namespace warpsmith
