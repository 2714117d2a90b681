// The libraries that a product is measured against: C (m x n) = A (m x k) * B (k x n), half in and
// out, sums in float, all row-major. Column-major libraries compute C^T = B^T * A^T.
#ifndef REPRODUCE_GEMM_H_
#define REPRODUCE_GEMM_H_

#include <cublasLt.h>
#include <cublas_v2.h>

#include <vector>

#include "measure.h"

enum class Library {
  kCublas,       // cublasGemmEx, CUBLAS_GEMM_DEFAULT
  kLtHeuristic,  // cuBLASLt, the first answer of its heuristic
  kLtAuto,       // cuBLASLt, the fastest of up to 100 answers, as timed here
};

struct Product {
  int64_t m, n, k;
  bool b_is_n_by_k;  // "TN": B is stored n x k
};

inline void CheckBlas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    Stop(std::string(call) + ": " + cublasGetStatusString(status));
}
#define BLAS(call) CheckBlas(call, #call)

// Tensors: A, B, C at the given places among the task's.
class Gemm : public Contender {
 public:
  Gemm(const char* name, Library library, Product product, size_t a, size_t b, size_t c,
       bool same_outputs)
      : Contender(name), library_(library), product_(product), a_(a), b_(b), c_(c) {
    this->same_outputs = same_outputs;
  }

  void Prepare(const std::vector<Buffers>& sets, CUstream stream) override {
    CU(cuMemAlloc(&workspace_, kWorkspaceBytes));
    if (library_ == Library::kCublas) {
      BLAS(cublasCreate(&cublas_));
      return;
    }
    Describe();
    const int most = library_ == Library::kLtAuto ? 100 : 1;
    std::vector<cublasLtMatmulHeuristicResult_t> answers(static_cast<size_t>(most));
    int found = 0;
    BLAS(cublasLtMatmulAlgoGetHeuristic(lt_, operation_, first_, second_, output_, output_,
                                        preference_, most, answers.data(), &found));
    if (found == 0) Stop("cuBLASLt has no algorithm for this product");
    answers.resize(static_cast<size_t>(found));
    algorithm_ = answers.front().algo;
    if (library_ == Library::kLtAuto) Choose(answers, sets, stream);
  }

  void Call(const Buffers& at, CUstream stream) override {
    const float alpha = 1, beta = 0;
    const auto* a = reinterpret_cast<const void*>(at.tensor[a_]);
    const auto* b = reinterpret_cast<const void*>(at.tensor[b_]);
    auto* c = reinterpret_cast<void*>(at.tensor[c_]);
    auto* workspace = reinterpret_cast<void*>(workspace_);
    if (library_ == Library::kCublas) {
      BLAS(cublasSetStream(cublas_, stream));
      BLAS(cublasSetWorkspace(cublas_, workspace, kWorkspaceBytes));
      BLAS(cublasGemmEx_64(cublas_, product_.b_is_n_by_k ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N,
                           product_.n, product_.m, product_.k, &alpha, b, CUDA_R_16F, BRows(), a,
                           CUDA_R_16F, product_.k, &beta, c, CUDA_R_16F, product_.n,
                           CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
      return;
    }
    BLAS(cublasLtMatmul(lt_, operation_, &alpha, b, first_, a, second_, &beta, c, output_, c,
                        output_, &algorithm_, workspace, kWorkspaceBytes, stream));
  }

 private:
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

  // Of B as a column-major matrix.
  int64_t BRows() const { return product_.b_is_n_by_k ? product_.k : product_.n; }
  int64_t BColumns() const { return product_.b_is_n_by_k ? product_.n : product_.k; }

  void Describe() {
    const cublasOperation_t transpose = product_.b_is_n_by_k ? CUBLAS_OP_T : CUBLAS_OP_N;
    const uint64_t workspace_bytes = kWorkspaceBytes;
    BLAS(cublasLtCreate(&lt_));
    BLAS(cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    BLAS(cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transpose,
                                        sizeof(transpose)));
    BLAS(cublasLtMatrixLayoutCreate(&first_, CUDA_R_16F, static_cast<uint64_t>(BRows()),
                                    static_cast<uint64_t>(BColumns()), BRows()));
    BLAS(cublasLtMatrixLayoutCreate(&second_, CUDA_R_16F, static_cast<uint64_t>(product_.k),
                                    static_cast<uint64_t>(product_.m), product_.k));
    BLAS(cublasLtMatrixLayoutCreate(&output_, CUDA_R_16F, static_cast<uint64_t>(product_.n),
                                    static_cast<uint64_t>(product_.m), product_.n));
    BLAS(cublasLtMatmulPreferenceCreate(&preference_));
    BLAS(cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &workspace_bytes, sizeof(workspace_bytes)));
  }

  // The least of five batches each.
  void Choose(const std::vector<cublasLtMatmulHeuristicResult_t>& answers,
              const std::vector<Buffers>& sets, CUstream stream) {
    constexpr int kCalls = 20, kBatches = 5;
    double best_us = 0;
    cublasLtMatmulAlgo_t best = algorithm_;
    for (const cublasLtMatmulHeuristicResult_t& answer : answers) {
      if (answer.state != CUBLAS_STATUS_SUCCESS) continue;
      algorithm_ = answer.algo;
      const Batch batch(*this, sets, std::min<size_t>(sets.size(), kCalls), kCalls, stream);
      double us = batch.Run();
      for (int i = 1; i < kBatches; ++i) us = std::min(us, batch.Run());
      if (best_us != 0 && us >= best_us) continue;
      best_us = us;
      best = answer.algo;
    }
    algorithm_ = best;
    std::printf("%s: the fastest of %zu algorithms\n", name, answers.size());
  }

  const Library library_;
  const Product product_;
  const size_t a_, b_, c_;
  CUdeviceptr workspace_ = 0;
  cublasHandle_t cublas_ = nullptr;
  cublasLtHandle_t lt_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t first_ = nullptr, second_ = nullptr, output_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_ = {};
};

#endif  // REPRODUCE_GEMM_H_
