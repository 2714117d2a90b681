// The task's tensors, and the sets of buffers that the calls take in turn.
#ifndef REPRODUCE_TENSORS_H_
#define REPRODUCE_TENSORS_H_

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

inline void Stop(const std::string& what) {
  std::fprintf(stderr, "reproduce: %s\n", what.c_str());
  std::exit(1);
}

inline void Check(CUresult code, const char* call) {
  if (code == CUDA_SUCCESS) return;
  const char* name = "unknown error";
  cuGetErrorName(code, &name);
  Stop(std::string(call) + ": " + name);
}
#define CU(call) Check(call, #call)

enum class Type { kF16, kBf16, kF32, kF64, kI8, kI32, kI64, kBool };
enum class Fill {
  kOutput,    // written by the call
  kNormal,    // N(0, 1)
  kUniform,   // U(-1, 1)
  kUnit,      // U(0, 1)
  kIntegers,  // whole numbers from `low` to `high` - 1
  kOffsets,   // ascending whole numbers, the first 0 and the last `high`
  kZero,
};

struct Tensor {
  const char* name;
  Type type;
  int64_t elements;
  Fill fill;
  int64_t low = 0, high = 0;
};

inline size_t BytesOf(Type type) {
  switch (type) {
    case Type::kF16:
    case Type::kBf16:
      return 2;
    case Type::kF32:
    case Type::kI32:
      return 4;
    case Type::kF64:
    case Type::kI64:
      return 8;
    default:
      return 1;
  }
}
inline size_t BytesOf(const Tensor& tensor) {
  return static_cast<size_t>(tensor.elements) * BytesOf(tensor.type);
}

// SplitMix64: equal seeds give equal numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  double Uniform() { return static_cast<double>(Bits() >> 11) * 0x1p-53; }
  double Normal() {  // Box and Muller
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    return radius * std::cos(6.283185307179586 * Uniform());
  }

 private:
  uint64_t state_;
};

template <typename T>
void Put(T value, char* target) {
  std::memcpy(target, &value, sizeof(value));
}

inline void Store(Type type, double value, char* target) {
  switch (type) {
    case Type::kF16:
      return Put(__float2half(static_cast<float>(value)), target);
    case Type::kBf16:
      return Put(__float2bfloat16(static_cast<float>(value)), target);
    case Type::kF32:
      return Put(static_cast<float>(value), target);
    case Type::kF64:
      return Put(value, target);
    case Type::kI8:
      return Put(static_cast<int8_t>(std::lrint(std::clamp(value, -128.0, 127.0))), target);
    case Type::kI32:
      return Put(static_cast<int32_t>(std::llrint(value)), target);
    case Type::kI64:
      return Put(static_cast<int64_t>(std::llrint(value)), target);
    case Type::kBool:
      return Put(static_cast<uint8_t>(value != 0), target);
  }
}

inline double Load(Type type, const char* source) {
  const auto as = [&](auto value) {
    std::memcpy(&value, source, sizeof(value));
    return value;
  };
  switch (type) {
    case Type::kF16:
      return __half2float(as(__half()));
    case Type::kBf16:
      return __bfloat162float(as(__nv_bfloat16()));
    case Type::kF32:
      return as(float());
    case Type::kF64:
      return as(double());
    case Type::kI8:
      return as(int8_t());
    case Type::kI32:
      return as(int32_t());
    case Type::kI64:
      return static_cast<double>(as(int64_t()));
    default:
      return as(uint8_t());
  }
}

inline double Draw(const Tensor& tensor, Random& random) {
  switch (tensor.fill) {
    case Fill::kUniform:
      return 2 * random.Uniform() - 1;
    case Fill::kUnit:
      return random.Uniform();
    case Fill::kIntegers: {
      const uint64_t choices =
          static_cast<uint64_t>(std::max<int64_t>(1, tensor.high - tensor.low));
      return static_cast<double>(tensor.low) + static_cast<double>(random.Bits() % choices);
    }
    case Fill::kNormal:
      return random.Normal();
    default:
      return 0;
  }
}

// Evenly spaced whole numbers, each but the ends moved by less than half a step.
inline double Offset(const Tensor& tensor, int64_t i, Random& random) {
  if (i == 0) return 0;
  if (i + 1 == tensor.elements) return static_cast<double>(tensor.high);
  const double step = static_cast<double>(tensor.high) / static_cast<double>(tensor.elements - 1);
  return std::floor((static_cast<double>(i) + random.Uniform() - 0.5) * step);
}

// A million values (a prime number, so that rows differ), then the same again: a gigabyte of
// normal numbers takes minutes, and no time depends on it. Offsets are all drawn.
inline std::vector<char> ContentsOf(const Tensor& tensor, uint64_t seed) {
  constexpr int64_t kDistinct = 1000003;
  const size_t width = BytesOf(tensor.type);
  std::vector<char> bytes(BytesOf(tensor));
  Random random(seed);
  const bool offsets = tensor.fill == Fill::kOffsets;
  const int64_t drawn = offsets ? tensor.elements : std::min(tensor.elements, kDistinct);
  for (int64_t i = 0; i < drawn; ++i) {
    const double value = offsets ? Offset(tensor, i, random) : Draw(tensor, random);
    Store(tensor.type, value, bytes.data() + static_cast<size_t>(i) * width);
  }
  for (size_t filled = static_cast<size_t>(drawn) * width; filled < bytes.size();) {
    const size_t more = std::min(filled, bytes.size() - filled);
    std::memcpy(bytes.data() + filled, bytes.data(), more);
    filled += more;
  }
  return bytes;
}

// What one call reads and writes.
struct Buffers {
  std::vector<CUdeviceptr> tensor;  // in the task's order
  CUdeviceptr workspace = 0;        // filled with 0xff once
};

// Contents differ from set to set.
inline Buffers MakeBuffers(const std::vector<Tensor>& tensors, size_t workspace_bytes,
                           uint64_t seed) {
  Buffers buffers;
  for (const Tensor& tensor : tensors) {
    CUdeviceptr address = 0;
    CU(cuMemAlloc(&address, BytesOf(tensor)));
    const std::vector<char> contents = ContentsOf(tensor, seed += 0x632be59bd9b4e019);
    CU(cuMemcpyHtoD(address, contents.data(), contents.size()));
    buffers.tensor.push_back(address);
  }
  if (workspace_bytes > 0) {
    CU(cuMemAlloc(&buffers.workspace, workspace_bytes));
    CU(cuMemsetD8Async(buffers.workspace, 0xff, workspace_bytes, nullptr));
  }
  return buffers;
}

#endif  // REPRODUCE_TENSORS_H_
