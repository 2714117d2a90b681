// One matrix product as a caller asks for it, and what must hold before anything is submitted.
#ifndef WARPSMITH_GEMM_LIBRARY_PROBLEM_H_
#define WARPSMITH_GEMM_LIBRARY_PROBLEM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "core/dtype.h"

namespace warpsmith::gemm_library {

// C (m x n) = alpha op(A) op(B) + beta C; row-major, leading dimensions in elements, 0: dense.
struct Problem {
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 0, ldb = 0, ldc = 0;
  bool transpose_a = false, transpose_b = false;
  DType dtype = DType::kF16;  // or kBF16
  float alpha = 1, beta = 0;
};

// A matrix as it lies in memory.
struct Storage {
  int64_t rows = 0, columns = 0, leading = 0;  // elements
  // From its first byte to past its last one.
  int64_t bytes() const { return rows == 0 ? 0 : 2 * ((rows - 1) * leading + columns); }
  bool dense() const { return leading == columns; }
};

// A problem that may be computed: all extents from 1 but k, no leading dimension 0.
struct CheckedProblem {
  Problem problem;
  std::array<Storage, 3> storage;  // A, B, C
  bool nothing = false;            // m or n is 0

  bool plain() const { return problem.alpha == 1 && problem.beta == 0; }
};

// kBadInput for negative sizes, leading dimensions below the rows' length, and what does not fit in
// 2^47 bytes.
Result<CheckedProblem> Check(const Problem& problem);

// "512 x 256 x 64, B transposed, bf16"
std::string Text(const Problem& problem);

inline constexpr uint64_t kWorkspaceAlignment = 256;

struct Addresses {
  uint64_t a = 0, b = 0, c = 0, workspace = 0;
  size_t workspace_bytes = 0;
};

// kBadInput for null or misaligned addresses and a C that shares an element with A or B. `reads`:
// A and B are read (k is not 0).
Status CheckAddresses(const CheckedProblem& checked, const Addresses& addresses);

// Do the elements of `a` at `a_address` and of `c` at `c_address` share a byte? Exact where both
// have one leading dimension, else by the ranges they lie in.
bool Overlap(const Storage& a, uint64_t a_address, const Storage& c, uint64_t c_address);

}  // namespace warpsmith::gemm_library

#endif  // WARPSMITH_GEMM_LIBRARY_PROBLEM_H_
