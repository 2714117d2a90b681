// Which of PyTorch's two ways was the faster, remembered on disk: compiling takes minutes.
#ifndef WARPSMITH_JUDGE_TORCH_CHOICE_H_
#define WARPSMITH_JUDGE_TORCH_CHOICE_H_

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/task.h"

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

  struct Times {
    double eager_us = 0;
    std::optional<double> compile_us;  // not everything can be compiled
    std::string Best() const;          // "eager" or "compile"
    double BestUs() const;
    std::string Text() const;  // "eager 38.2 us, compile 41.0 us"
  };
  std::optional<Times> Find() const;
  Status Store(const Times& times) const;

 private:
  std::filesystem::path path_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_TORCH_CHOICE_H_
