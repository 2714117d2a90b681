// Operands on the device whose every element the host knows, and what a product of them must be.
#ifndef WARPSMITH_TESTS_LIBRARY_CHECK_DATA_H_
#define WARPSMITH_TESTS_LIBRARY_CHECK_DATA_H_

#include <warpsmith/gemm.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cuda/memory.h"

namespace warpsmith::check {

// Element i of every operand is Element(i) of its type, whatever its shape: two buffers do for all
// products. A and B begin at different elements of one sequence of prime length.
class Operands {
 public:
  static Result<Operands> Make(int64_t most_elements, warpsmith_gemm_dtype dtype);
  uint64_t a() const { return a_.address(); }
  uint64_t b() const { return b_.address(); }
  float A(int64_t i) const { return values_[static_cast<size_t>(i) % values_.size()]; }
  float B(int64_t i) const { return values_[(static_cast<size_t>(i) + kShift) % values_.size()]; }
  int64_t most_elements() const { return most_elements_; }

 private:
  static constexpr size_t kShift = 4321;
  std::vector<float> values_;  // exactly those that the halves hold
  cuda::DeviceBuffer a_, b_;
  int64_t most_elements_ = 0;
};

float FromBits(uint16_t bits, warpsmith_gemm_dtype dtype);

// Every byte of C beforehand. As a half 1.06, as a bfloat16 0.0115: what beta multiplies.
inline constexpr uint8_t kPoison = 0x3c;

struct Deviation {
  double worst = 0;     // error over bound, of all elements looked at; right: at most 1
  int64_t checked = 0;  // elements
  int64_t touched = 0;  // elements between the rows that are not as they were
};

// Compares C, which lies at `c`, with FP64 sums: every element where that is fast, else those of
// some rows and columns, edges among them.
Result<Deviation> Compare(const Operands& operands, const warpsmith_gemm_problem& problem,
                          uint64_t c);

// Elements from C's first to past its last one.
int64_t SpanOfC(const warpsmith_gemm_problem& problem);

std::string Text(const warpsmith_gemm_problem& problem);

}  // namespace warpsmith::check

#endif  // WARPSMITH_TESTS_LIBRARY_CHECK_DATA_H_
