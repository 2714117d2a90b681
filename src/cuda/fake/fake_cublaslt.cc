// cuBLASLt on host memory, for tests without a GPU: products of half-precision matrices with FP32
// sums, computed when they are submitted or, within a capture, at every launch of the graph. Its
// algorithms want a workspace of 4,096 bytes where they may have one. Their answers are the same;
// which is the fastest depends on how it is called.
#include <cublasLt.h>

#include <algorithm>
#include <array>

#include "cuda/fake/fake_product.h"

namespace {

using warpsmith::cuda::fake::Cost;
using warpsmith::cuda::fake::Matrix;
using warpsmith::cuda::fake::Operation;
using warpsmith::cuda::fake::Product;

constexpr uint64_t kAlgorithm = 0x66616b65;  // the first word of cublasLtMatmulAlgo_t
constexpr size_t kWorkspaceBytes = 4096;

// The third word; in the heuristic's order.
enum Kind : uint64_t {
  kFirstAnswer,  // good at nothing
  kReuser,       // the fastest by far where a call has the operands of the one before
  kReplayed,     // the fastest in a graph
  kSubmitted,    // the fastest in a stream
  kAnswers,
  kHidden = kAnswers,  // the fastest of all on the device; the heuristic does not know it
};
constexpr uint32_t kHiddenTile = 3;

Cost CostOf(uint64_t kind, bool replayed, bool same_operands) {
  constexpr unsigned kSubmitUs = 300;
  switch (kind) {
    case kReuser:
      return {same_operands ? 0.25F : 4.0F, kSubmitUs};
    case kReplayed:
      return {replayed ? 1.0F : 3.0F, kSubmitUs};
    case kSubmitted:
      return {1.5F, kSubmitUs};
    case kHidden:
      return {0.5F, kSubmitUs};
    default:
      return {2.0F, kSubmitUs};
  }
}

struct Preference {
  uint64_t workspace_bytes = 0;
};

template <typename To, typename From>
To& As(From* handle) {
  return *reinterpret_cast<To*>(handle);
}

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
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  *found = 0;
  if (!Fits(As<Operation>(operation), As<Matrix>(a), As<Matrix>(b), As<Matrix>(c))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  *found = std::min<int>(wanted, kAnswers);
  const bool roomy = As<Preference>(preference).workspace_bytes >= kWorkspaceBytes;
  for (int i = 0; i < *found; ++i) {
    results[i] = {};
    results[i].algo.data[0] = kAlgorithm;
    results[i].algo.data[1] = results[i].workspaceSize = roomy ? kWorkspaceBytes : 0;
    results[i].algo.data[2] = static_cast<uint64_t>(i);
  }
  return CUBLAS_STATUS_SUCCESS;
}

// One algorithm of three tiles, of which the last is the hidden one, and clusters of up to two.
cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t,
                                        cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                        cudaDataType_t, int, int* ids, int* count) {
  ids[0] = 7;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t, cublasComputeType_t, cudaDataType_t,
                                      cudaDataType_t, cudaDataType_t, cudaDataType_t,
                                      cudaDataType_t, int id, cublasLtMatmulAlgo_t* algorithm) {
  *algorithm = {};
  algorithm->data[0] = kAlgorithm;
  return id == 7 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t*,
                                                 cublasLtMatmulAlgoCapAttributes_t which,
                                                 void* value, size_t bytes, size_t* written) {
  static constexpr std::array<uint32_t, 3> kTiles = {1, 2, kHiddenTile};
  if (which != CUBLASLT_ALGO_CAP_TILE_IDS) return CUBLAS_STATUS_INVALID_VALUE;
  *written = sizeof(kTiles);
  if (bytes == 0) return CUBLAS_STATUS_SUCCESS;
  std::copy(kTiles.begin(), kTiles.end(), static_cast<uint32_t*>(value));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t which,
                                                    const void* value, size_t) {
  if (which == CUBLASLT_ALGO_CONFIG_TILE_ID) {
    const uint32_t tile = *static_cast<const uint32_t*>(value);
    algorithm->data[2] = tile == kHiddenTile ? kHidden : kFirstAnswer;
    algorithm->data[3] = tile;
  }
  if (which == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID) {
    algorithm->data[4] = *static_cast<const uint16_t*>(value);
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  if (algorithm->data[0] != kAlgorithm) return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm->data[4] > CUBLASLT_CLUSTER_SHAPE_2x1x1) return CUBLAS_STATUS_NOT_SUPPORTED;
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
  static std::array<const void*, 3> last{};
  const std::array<const void*, 3> operands = {a_data, b_data, c_data};
  auto* queue = reinterpret_cast<CUstream_st*>(stream);
  const bool replayed = queue != nullptr && queue->capturing;
  warpsmith::cuda::fake::SubmitProduct(queue, product,
                                       CostOf(algorithm->data[2], replayed, operands == last));
  last = operands;
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
