// NVRTC: CUDA C++ to cubin, in this process. Needs no GPU and no driver.
#ifndef WARPSMITH_CUDA_NVRTC_H_
#define WARPSMITH_CUDA_NVRTC_H_

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpsmith::cuda {

struct NvrtcInput {
  std::string name;  // for messages: "gemm.cu"
  std::string source;
  std::vector<std::pair<std::string, std::string>> headers;  // include name -> text
  std::vector<std::string> options;
};

struct NvrtcOutput {
  bool compiled = false;
  std::string failure;  // the code's name when it did not compile
  std::string cubin;
  std::string ptx;  // what the cubin was made of
  std::string log;
};

// Thread-safe, though NVRTC compiles one program at a time.
class Nvrtc {
 public:
  // Opened once per process; the answer is kept.
  static Result<const Nvrtc*> Open();

  int version() const { return version_; }  // 13000: 13.0
  const std::string& path() const { return path_; }
  // 75, 80, 86, 89, 90, 100 ...: what --gpu-architecture=sm_<n> may name.
  const std::vector<int>& architectures() const { return architectures_; }

  // A source that does not compile is an output, not an Error.
  Result<NvrtcOutput> Compile(const NvrtcInput& input) const;

 private:
  Nvrtc() = default;
  static Result<Nvrtc> Start();
  int version_ = 0;
  std::string path_;
  std::vector<int> architectures_;
};

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_NVRTC_H_
