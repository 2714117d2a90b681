#include "judge/torch_choice.h"

#include <fmt/format.h>

#include "util/file.h"
#include "util/sha256.h"

namespace warpsmith::judge {

TorchChoice::TorchChoice(const Site& site) {
  std::string key = fmt::format("{}\n{}\n{}\n", site.task_id, site.torch, site.device);
  for (const auto& [name, value] : site.workload.sizes) key += fmt::format("{}={}\n", name, value);
  path_ = CacheHome() / "torch-best" / Sha256Hex(key);
}

std::optional<std::string> TorchChoice::Find() const {
  const Result<std::string> text = ReadFile(path_);
  if (!text.ok()) return std::nullopt;
  for (const char* known : {"eager", "compile"}) {
    if (*text == std::string(known) + "\n") return known;
  }
  return std::nullopt;
}

Status TorchChoice::Store(const std::string& choice) const {
  TRY(CreateDirectories(path_.parent_path()));
  return WriteFileAtomic(path_, choice + "\n");
}

}  // namespace warpsmith::judge
