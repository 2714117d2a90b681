// Which of PyTorch's two ways was the faster, remembered on disk: compiling takes minutes.
#ifndef WARPSMITH_JUDGE_TORCH_CHOICE_H_
#define WARPSMITH_JUDGE_TORCH_CHOICE_H_

#include <filesystem>
#include <optional>
#include <string>

#include "core/task.h"
#include "util/result.h"

namespace warpsmith::judge {

class TorchChoice {
 public:
  struct Site {
    std::string task_id;
    Workload workload;
    std::string torch, device;  // "torch 2.11.0+cu130", "NVIDIA H200"
  };
  // A file of CacheHome()/torch-best.
  explicit TorchChoice(const Site& site);

  std::optional<std::string> Find() const;  // "eager" or "compile"
  Status Store(const std::string& choice) const;

 private:
  std::filesystem::path path_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_TORCH_CHOICE_H_
