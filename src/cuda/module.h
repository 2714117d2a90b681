// Loaded device code.
#ifndef WARPSMITH_CUDA_MODULE_H_
#define WARPSMITH_CUDA_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

// A kernel of a module; valid as long as the module is.
struct Function {
  std::string name;
  CUfunc_st* handle = nullptr;
};

class Module {
 public:
  // `image`: a cubin, fatbin or PTX text. Loaded into the current context at once, not lazily.
  static Result<Module> Load(std::string_view image);

  // kBadInput, listing the kernels that are there, when the name is not.
  Result<Function> Kernel(const std::string& name) const;
  Result<std::vector<std::string>> KernelNames() const;  // mangled, unless they are extern "C"

 private:
  explicit Module(CUmod_st* handle);
  std::unique_ptr<CUmod_st, void (*)(CUmod_st*)> handle_;
};

// The stack and what was spilled, as compiled.
Result<int> LocalBytesPerThread(const Function& function);

// The kernel's parameters as compiled, in order: a launch must pass exactly these.
struct Parameter {
  size_t offset = 0, bytes = 0;
};
Result<std::vector<Parameter>> Parameters(const Function& function);

// Needed above 48 KiB of dynamic shared memory, and above 8 CTAs a cluster. A limit that is already
// higher stays, so that several plans can share a kernel.
Status RaiseMaxDynamicShared(const Function& function, uint32_t bytes);
Status AllowNonPortableCluster(const Function& function);

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_MODULE_H_
