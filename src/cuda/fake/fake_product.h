// Products on host memory, which the fake cuBLASLt and the fake cuBLAS submit.
#ifndef WARPSMITH_CUDA_FAKE_FAKE_PRODUCT_H_
#define WARPSMITH_CUDA_FAKE_FAKE_PRODUCT_H_

#include <dlfcn.h>
#include <library_types.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "cuda/fake/fake_state.h"
#include "cuda/fake/half.h"

namespace warpsmith::cuda::fake {

// A function of the fake driver, where that is the one in use.
inline void* FakeDriverFunction(const char* symbol) {
  const char* home = std::getenv("WARPSMITH_CUDA_HOME");  // NOLINT(concurrency-mt-unsafe)
  if (home == nullptr) return nullptr;
  void* driver =
      dlopen((std::string(home) + "/lib64/libcuda.so.1").c_str(), RTLD_NOW | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : dlsym(driver, symbol);
}

// The fake device's clock.
inline void AdvanceClock(float ms) {
  static void* const advance = FakeDriverFunction("warpsmith_fake_advance_clock");
  if (advance != nullptr) reinterpret_cast<void (*)(float)>(advance)(ms);
}

// The fake host's.
inline void AdvanceHost(unsigned us) {
  static void* const advance = FakeDriverFunction("warpsmith_fake_advance_host");
  if (advance != nullptr) reinterpret_cast<void (*)(unsigned)>(advance)(us);
}

struct Operation {
  bool transpose_a = false, transpose_b = false;
};
struct Matrix {
  cudaDataType_t type{};
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
};
inline float Load(const Matrix& matrix, const void* data, int64_t row, int64_t column) {
  const uint16_t bits = static_cast<const uint16_t*>(data)[row + column * matrix.leading];
  return matrix.type == CUDA_R_16F ? FromF16(bits) : FromBF16(bits);
}

inline void Store(const Matrix& matrix, void* data, int64_t row, int64_t column, float value) {
  static_cast<uint16_t*>(data)[row + column * matrix.leading] =
      matrix.type == CUDA_R_16F ? ToF16(value) : ToBF16(value);
}

struct Product {
  Operation operation;
  Matrix a, b, c;
  const void *a_data, *b_data;
  void* c_data;
  float alpha, beta;

  void Run() const {
    const auto depth = static_cast<int64_t>(operation.transpose_a ? a.rows : a.columns);
    for (int64_t i = 0; i < static_cast<int64_t>(c.rows); ++i) {
      for (int64_t j = 0; j < static_cast<int64_t>(c.columns); ++j) {
        float sum = 0;
        for (int64_t p = 0; p < depth; ++p) {
          const float x = operation.transpose_a ? Load(a, a_data, p, i) : Load(a, a_data, i, p);
          const float y = operation.transpose_b ? Load(b, b_data, j, p) : Load(b, b_data, p, j);
          sum += x * y;
        }
        const float before = beta == 0 ? 0 : beta * Load(c, c_data, i, j);
        Store(c, c_data, i, j, alpha * sum + before);
      }
    }
  }
};

// What a product costs: time on the fake device's clock, and on the fake host's where it is not
// replayed by a graph but submitted.
struct Cost {
  float device_ms = 0;
  unsigned submit_us = 0;
};

inline void SubmitProduct(CUstream_st* stream, const Product& product, Cost cost) {
  const auto run = [product, cost] {
    product.Run();
    AdvanceClock(cost.device_ms);
  };
  if (stream != nullptr && stream->capturing) {
    stream->captured.emplace_back(run);
  } else {
    AdvanceHost(cost.submit_us);
    run();
  }
}

}  // namespace warpsmith::cuda::fake

#endif  // WARPSMITH_CUDA_FAKE_FAKE_PRODUCT_H_
