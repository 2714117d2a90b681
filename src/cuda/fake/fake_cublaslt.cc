// cuBLASLt on host memory, for tests without a GPU: products of half-precision matrices with FP32
// sums, computed when they are submitted or, within a capture, at every launch of the graph. Its
// one algorithm wants a workspace of 4,096 bytes where it may have one.
#include <cublasLt.h>

#include <functional>

#include "cuda/fake/fake_state.h"
#include "cuda/fake/half.h"

namespace {

constexpr uint64_t kAlgorithm = 0x66616b65;  // the first word of cublasLtMatmulAlgo_t
constexpr size_t kWorkspaceBytes = 4096;

struct Operation {
  bool transpose_a = false, transpose_b = false;
};
struct Matrix {
  cudaDataType_t type{};
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
};
struct Preference {
  uint64_t workspace_bytes = 0;
};

template <typename To, typename From>
To& As(From* handle) {
  return *reinterpret_cast<To*>(handle);
}

float Load(const Matrix& matrix, const void* data, int64_t row, int64_t column) {
  const uint16_t bits = static_cast<const uint16_t*>(data)[row + column * matrix.leading];
  return matrix.type == CUDA_R_16F ? warpsmith::cuda::fake::FromF16(bits)
                                   : warpsmith::cuda::fake::FromBF16(bits);
}

void Store(const Matrix& matrix, void* data, int64_t row, int64_t column, float value) {
  static_cast<uint16_t*>(data)[row + column * matrix.leading] =
      matrix.type == CUDA_R_16F ? warpsmith::cuda::fake::ToF16(value)
                                : warpsmith::cuda::fake::ToBF16(value);
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

bool Fits(const Operation& operation, const Matrix& a, const Matrix& b, const Matrix& c) {
  const uint64_t m = operation.transpose_a ? a.columns : a.rows;
  const uint64_t k = operation.transpose_a ? a.rows : a.columns;
  const uint64_t n = operation.transpose_b ? b.rows : b.columns;
  const uint64_t depth = operation.transpose_b ? b.columns : b.rows;
  return m == c.rows && n == c.columns && k == depth && a.leading >= static_cast<int64_t>(a.rows) &&
         b.leading >= static_cast<int64_t>(b.rows) && c.leading >= static_cast<int64_t>(c.rows);
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  static int storage;
  *handle = reinterpret_cast<cublasLtHandle_t>(&storage);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  *value = type == MAJOR_VERSION ? 13 : type == MINOR_VERSION ? 99 : 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* operation, cublasComputeType_t,
                                        cudaDataType_t) {
  *operation = reinterpret_cast<cublasLtMatmulDesc_t>(new Operation);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t operation) {
  delete &As<Operation>(operation);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t which,
                                              const void* value, size_t) {
  const bool transposed = *static_cast<const cublasOperation_t*>(value) == CUBLAS_OP_T;
  if (which == CUBLASLT_MATMUL_DESC_TRANSA) As<Operation>(operation).transpose_a = transposed;
  if (which == CUBLASLT_MATMUL_DESC_TRANSB) As<Operation>(operation).transpose_b = transposed;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  *layout = reinterpret_cast<cublasLtMatrixLayout_t>(new Matrix{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete &As<Matrix>(layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = reinterpret_cast<cublasLtMatmulPreference_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete &As<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t which,
                                                    const void* value, size_t) {
  if (which == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
    As<Preference>(preference).workspace_bytes = *static_cast<const uint64_t*>(value);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  if (!Fits(As<Operation>(operation), As<Matrix>(a), As<Matrix>(b), As<Matrix>(c))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *found = 1;
  results[0] = {};
  results[0].algo.data[0] = kAlgorithm;
  const bool roomy = As<Preference>(preference).workspace_bytes >= kWorkspaceBytes;
  results[0].algo.data[1] = results[0].workspaceSize = roomy ? kWorkspaceBytes : 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (algorithm->data[0] != kAlgorithm) return CUBLAS_STATUS_INVALID_VALUE;
  result->algo = *algorithm;
  result->workspaceSize = algorithm->data[1];
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void* alpha,
                              const void* a_data, cublasLtMatrixLayout_t a, const void* b_data,
                              cublasLtMatrixLayout_t b, const void* beta, const void*,
                              cublasLtMatrixLayout_t, void* c_data, cublasLtMatrixLayout_t c,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  const size_t wanted = algorithm->data[1];
  if (algorithm->data[0] != kAlgorithm || workspace_bytes < wanted) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (wanted > 0 && workspace == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  const Product product{As<Operation>(operation),
                        As<Matrix>(a),
                        As<Matrix>(b),
                        As<Matrix>(c),
                        a_data,
                        b_data,
                        c_data,
                        *static_cast<const float*>(alpha),
                        *static_cast<const float*>(beta)};
  auto* queue = reinterpret_cast<CUstream_st*>(stream);
  if (queue != nullptr && queue->capturing) {
    queue->captured.emplace_back([product] { product.Run(); });
  } else {
    product.Run();
  }
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
