#include "cuda/module.h"

#include "base/text.h"
#include "cuda/driver_api.h"

namespace warpsmith::cuda {
namespace {

std::string KernelText(const Function& function) { return "kernel '" + function.name + "'"; }

}  // namespace

Result<Module> Module::Load(std::string_view image) {
  // PTX is read up to its NUL; a cubin carries its own size.
  const std::string terminated(image);
  CUmodule handle = nullptr;
  TRY(DRIVER_CALL("image of " + std::to_string(image.size()) + " bytes", cuModuleLoadData, &handle,
                  terminated.c_str()));
  return Module(handle);
}

Module::Module(CUmod_st* handle)
    : handle_(handle, [](CUmod_st* module) { Api().cuModuleUnload(module); }) {}

Result<Function> Module::Kernel(const std::string& name) const {
  CUfunction handle = nullptr;
  const CUresult found = Api().cuModuleGetFunction(&handle, handle_.get(), name.c_str());
  if (found == CUDA_ERROR_NOT_FOUND) {
    const std::vector<std::string> names = TRY(KernelNames());
    return Error{ErrorCode::kBadInput,
                 "the image has no kernel '" + name +
                     "'; it has: " + (names.empty() ? "none" : Joined(names)),
                 "declare it extern \"C\" __global__, so that its name is not mangled"};
  }
  Function function{name, handle};
  if (found != CUDA_SUCCESS) return DriverError("cuModuleGetFunction", found, KernelText(function));
  // Lazy loading would load it inside the first launch: timed, and refused within a capture.
  TRY(DRIVER_CALL(KernelText(function), cuFuncLoad, handle));
  return function;
}

Result<std::vector<std::string>> Module::KernelNames() const {
  unsigned count = 0;
  TRY(DRIVER_CALL("", cuModuleGetFunctionCount, &count, handle_.get()));
  std::vector<CUfunction> functions(count);
  TRY(DRIVER_CALL("", cuModuleEnumerateFunctions, functions.data(), count, handle_.get()));
  std::vector<std::string> names;
  for (CUfunction function : functions) {
    const char* name = nullptr;
    TRY(DRIVER_CALL("", cuFuncGetName, &name, function));
    names.emplace_back(name);
  }
  return names;
}

Result<int> LocalBytesPerThread(const Function& function) {
  int bytes = 0;
  TRY(DRIVER_CALL(KernelText(function), cuFuncGetAttribute, &bytes,
                  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function.handle));
  return bytes;
}

Result<std::vector<Parameter>> Parameters(const Function& function) {
  std::vector<Parameter> parameters;
  while (true) {
    Parameter parameter;
    const CUresult found = Api().cuFuncGetParamInfo(function.handle, parameters.size(),
                                                    &parameter.offset, &parameter.bytes);
    if (found == CUDA_ERROR_INVALID_VALUE) return parameters;  // the index past the last one
    if (found != CUDA_SUCCESS)
      return DriverError("cuFuncGetParamInfo", found, KernelText(function));
    parameters.push_back(parameter);
  }
}

Status RaiseMaxDynamicShared(const Function& function, uint32_t bytes) {
  const auto detail = [&] {
    return KernelText(function) + ", dynamic shared memory " + std::to_string(bytes) + " B";
  };
  int limit = 0;
  TRY(DRIVER_CALL(detail(), cuFuncGetAttribute, &limit,
                  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function.handle));
  if (static_cast<int64_t>(bytes) <= limit) return {};
  return DRIVER_CALL(detail(), cuFuncSetAttribute, function.handle,
                     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes));
}

Status AllowNonPortableCluster(const Function& function) {
  return DRIVER_CALL(KernelText(function) + ", non-portable cluster size", cuFuncSetAttribute,
                     function.handle, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
}

}  // namespace warpsmith::cuda
