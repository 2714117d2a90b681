// Modules, their kernels, and what a launch of one leaves in the log.
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <sstream>

#include "cuda/fake/fake_state.h"

using warpsmith::cuda::fake::HostKernel;
using warpsmith::cuda::fake::Submit;
using warpsmith::cuda::fake::TheState;

struct CUfunc_st {
  std::string name;
  std::vector<size_t> parameter_bytes;
  int max_dynamic_shared = 48 << 10;
  bool nonportable_cluster = false;
};
struct CUmod_st {
  std::vector<std::unique_ptr<CUfunc_st>> functions;
};

namespace {

std::string Extent(unsigned x, unsigned y, unsigned z) {
  return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
}

std::string AttributesText(const CUlaunchConfig& config) {
  std::string text;
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttributeValue& value = config.attrs[i].value;
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      text += " cluster=" + Extent(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
    } else if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) {
      text += " cooperative";
    } else if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
      text += " programmatic";
    }
  }
  return text;
}

// Parameters are copied when the launch is submitted, as the driver does.
using Values = std::vector<std::array<char, 128>>;

Values CopyValues(const CUfunc_st& function, void** arguments) {
  Values values(function.parameter_bytes.size());
  for (size_t i = 0; i < values.size(); ++i) {
    std::memcpy(values[i].data(), arguments[i], function.parameter_bytes[i]);
  }
  return values;
}

void RunLaunch(const std::string& line, const std::string& name, Values values) {
  static auto* mutex = new std::mutex;  // of the log and the clock; kernels are defined beforehand
  {
    const std::lock_guard lock(*mutex);
    TheState().log.push_back(line);
    TheState().clock_ms += TheState().launch_ms;
  }
  const auto kernel = TheState().kernels.find(name);
  if (kernel == TheState().kernels.end()) return;
  std::vector<void*> pointers;
  for (auto& value : values) pointers.push_back(value.data());
  kernel->second(pointers.data());
}

}  // namespace

extern "C" {

// For the test: see cuda/fake/fake_control.h.
void warpsmith_fake_define_kernel(const char* name, HostKernel kernel) {
  TheState().kernels[name] = kernel;
}
// From now on launches do nothing: what is left is the cost of whoever launches.
static bool ignores_launches = false;
void warpsmith_fake_ignore_launches(bool ignore) { ignores_launches = ignore; }
void warpsmith_fake_set_launch_ms(float ms) { TheState().launch_ms = ms; }
size_t warpsmith_fake_log_size() { return TheState().log.size(); }
const char* warpsmith_fake_log_line(size_t i) { return TheState().log[i].c_str(); }
void warpsmith_fake_clear_log() { TheState().log.clear(); }
void warpsmith_fake_advance_clock(float ms) { TheState().clock_ms += ms; }
void warpsmith_fake_advance_host(unsigned us) { TheState().host_ns += int64_t{1000} * us; }
int64_t warpsmith_fake_host_ns() { return TheState().host_ns += 1000; }

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  auto loaded = std::make_unique<CUmod_st>();
  std::istringstream lines(static_cast<const char*>(image));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string kind;
    auto function = std::make_unique<CUfunc_st>();
    words >> kind >> function->name;
    if (kind != "kernel") return CUDA_ERROR_INVALID_VALUE;
    for (size_t bytes = 0; words >> bytes;) function->parameter_bytes.push_back(bytes);
    loaded->functions.push_back(std::move(function));
  }
  *module = loaded.release();
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  delete module;
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  for (const auto& known : module->functions) {
    if (known->name != name) continue;
    *function = known.get();
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module) {
  *count = static_cast<unsigned>(module->functions.size());
  return CUDA_SUCCESS;
}
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module) {
  for (unsigned i = 0; i < count; ++i) functions[i] = module->functions[i].get();
  return CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = function->name.c_str();
  return CUDA_SUCCESS;
}
CUresult cuFuncLoad(CUfunction) { return CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const bool dynamic = attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  *value = dynamic ? function->max_dynamic_shared : 0;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    if (value > 232448) return CUDA_ERROR_INVALID_VALUE;
    function->max_dynamic_shared = value;
  } else if (attribute == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    function->nonportable_cluster = value != 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  if (index >= function->parameter_bytes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  *bytes = function->parameter_bytes[index];
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments,
                          void**) {
  if (ignores_launches) return CUDA_SUCCESS;
  if (static_cast<int>(config->sharedMemBytes) > function->max_dynamic_shared) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::string line =
      function->name + " grid=" + Extent(config->gridDimX, config->gridDimY, config->gridDimZ) +
      " block=" + Extent(config->blockDimX, config->blockDimY, config->blockDimZ) +
      " shared=" + std::to_string(config->sharedMemBytes) + AttributesText(*config);
  return Submit(config->hStream,
                [line, name = function->name, values = CopyValues(*function, arguments)] {
                  RunLaunch(line, name, values);
                });
}

CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function,
                                      const CUlaunchConfig* config) {
  unsigned size = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& extent = config->attrs[i].value.clusterDim;
    size = extent.x * extent.y * extent.z;
  }
  if (size > 8 && !function->nonportable_cluster) return CUDA_ERROR_INVALID_VALUE;
  *clusters = static_cast<int>(132 / size);
  return CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, size_t) {
  *blocks = 2048 / threads;
  return CUDA_SUCCESS;
}

// The map's words: address, rank, dims from word 2, strides in bytes from word 7.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank,
                                void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                                const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                CUtensorMapSwizzle, CUtensorMapL2promotion,
                                CUtensorMapFloatOOBfill) {
  if (reinterpret_cast<uintptr_t>(address) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  map->opaque[0] = reinterpret_cast<uintptr_t>(address);
  map->opaque[1] = rank;
  for (cuuint32_t i = 0; i < rank; ++i) map->opaque[2 + i] = dims[i];
  for (cuuint32_t i = 0; i + 1 < rank; ++i) map->opaque[7 + i] = strides[i];
  return CUDA_SUCCESS;
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address) {
  if (reinterpret_cast<uintptr_t>(address) % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
  map->opaque[0] = reinterpret_cast<uintptr_t>(address);
  return CUDA_SUCCESS;
}

}  // extern "C"
