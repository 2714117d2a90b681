// What a launch plan needs of the driver, in one call each.
#ifndef REPRODUCE_LAUNCH_H_
#define REPRODUCE_LAUNCH_H_

#include <cuda.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tensors.h"

inline CUmodule LoadCubin(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Stop(std::string(path) + ": cannot be read; reproduce.sh builds it");
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  CUmodule module = nullptr;
  CU(cuModuleLoadData(&module, image.c_str()));
  return module;
}

// Allows so much dynamic shared memory, if it is more than an earlier call allowed.
inline CUfunction Kernel(CUmodule module, const char* name, int shared_bytes, bool large_cluster) {
  CUfunction kernel = nullptr;
  CU(cuModuleGetFunction(&kernel, module, name));
  int limit = 0;
  CU(cuFuncGetAttribute(&limit, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel));
  if (shared_bytes > limit) {
    CU(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_bytes));
  }
  if (large_cluster) {
    CU(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  }
  return kernel;
}

// A constant table of the plan, on the device.
inline CUdeviceptr Upload(const std::vector<int32_t>& values) {
  CUdeviceptr address = 0;
  CU(cuMemAlloc(&address, values.size() * sizeof(int32_t)));
  CU(cuMemcpyHtoD(address, values.data(), values.size() * sizeof(int32_t)));
  return address;
}

using Extent = std::array<unsigned, 3>;

struct Shape {
  Extent grid, block;
  Extent cluster = {1, 1, 1};
  unsigned shared_bytes = 0;  // dynamic
  bool cooperative = false;   // all blocks resident at once
  bool programmatic = false;  // may begin before the kernel ahead of it has ended
};

inline void Launch(CUfunction kernel, const Shape& shape, CUstream stream, void** arguments) {
  CUlaunchAttribute attributes[3] = {};
  CUlaunchConfig config = {};
  config.gridDimX = shape.grid[0];
  config.gridDimY = shape.grid[1];
  config.gridDimZ = shape.grid[2];
  config.blockDimX = shape.block[0];
  config.blockDimY = shape.block[1];
  config.blockDimZ = shape.block[2];
  config.sharedMemBytes = shape.shared_bytes;
  config.hStream = stream;
  config.attrs = attributes;
  if (shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 1) {
    CUlaunchAttribute& cluster = attributes[config.numAttrs++];
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim = {shape.cluster[0], shape.cluster[1], shape.cluster[2]};
  }
  if (shape.cooperative) {
    CUlaunchAttribute& cooperative = attributes[config.numAttrs++];
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  if (shape.programmatic) {
    CUlaunchAttribute& programmatic = attributes[config.numAttrs++];
    programmatic.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    programmatic.value.programmaticStreamSerializationAllowed = 1;
  }
  CU(cuLaunchKernelEx(&config, kernel, arguments, nullptr));
}

// Arguments as in cuTensorMapEncodeTiled: innermost dimension first.
struct TensorMapFields {
  CUtensorMapDataType type;
  std::vector<cuuint64_t> dims, strides_bytes;
  std::vector<cuuint32_t> box, element_strides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

inline CUtensorMap TensorMap(CUdeviceptr address, const TensorMapFields& fields) {
  CUtensorMap map = {};
  CU(cuTensorMapEncodeTiled(&map, fields.type, static_cast<cuuint32_t>(fields.dims.size()),
                            reinterpret_cast<void*>(address), fields.dims.data(),
                            fields.strides_bytes.data(), fields.box.data(),
                            fields.element_strides.data(), fields.interleave, fields.swizzle,
                            fields.promotion, fields.fill));
  return map;
}

// Rows of `width` bytes copied between pitches.
inline void CopyRows(CUdeviceptr target, size_t target_pitch, CUdeviceptr source,
                     size_t source_pitch, size_t width, size_t rows, CUstream stream) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = source;
  copy.srcPitch = source_pitch;
  copy.dstDevice = target;
  copy.dstPitch = target_pitch;
  copy.WidthInBytes = width;
  copy.Height = rows;
  CU(cuMemcpy2DAsync(&copy, stream));
}

#endif  // REPRODUCE_LAUNCH_H_
