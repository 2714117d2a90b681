#include "judge/torch_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/file.h"
#include "base/sha256.h"

namespace warpsmith::judge {

TorchChoice::TorchChoice(const Site& site) {
  std::string key = fmt::format("{}\n{}\n{}\n", site.task_id, site.torch, site.device);
  for (const auto& [name, value] : site.workload.sizes) key += fmt::format("{}={}\n", name, value);
  path_ = CacheHome() / "torch-best" / Sha256Hex(key);
}

std::string TorchChoice::Times::Best() const {
  return compile_us && *compile_us < eager_us ? "compile" : "eager";
}

double TorchChoice::Times::BestUs() const {
  return compile_us ? std::min(eager_us, *compile_us) : eager_us;
}

std::string TorchChoice::Times::Text() const {
  return fmt::format("eager {:.4g} us, compile {}", eager_us,
                     compile_us ? fmt::format("{:.4g} us", *compile_us) : "impossible");
}

std::optional<TorchChoice::Times> TorchChoice::Find() const {
  const Result<std::string> text = ReadFile(path_);
  if (!text.ok()) return std::nullopt;
  Times times{0, 0.0};
  if (std::sscanf(text->c_str(), "eager %lf compile %lf", &times.eager_us, &*times.compile_us) !=
      2) {
    return std::nullopt;
  }
  return times;
}

Status TorchChoice::Store(const Times& times) const {
  if (!times.compile_us) return {};  // another day it may compile
  TRY(CreateDirectories(path_.parent_path()));
  return WriteFileAtomic(path_,
                         fmt::format("eager {} compile {}\n", times.eager_us, *times.compile_us));
}

}  // namespace warpsmith::judge
