#include "check_data.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/random.h"
#include "cuda/fake/half.h"

namespace warpsmith::check {
namespace {

constexpr size_t kValues = 1000003;          // a prime, so that no extent divides it
constexpr double kFastProducts = 20e6;       // multiply-adds that the host does for one comparison
constexpr int64_t kWholeElements = 1 << 22;  // of C, that are fetched at once

uint16_t ToBits(float value, warpsmith_gemm_dtype dtype) {
  return dtype == WARPSMITH_GEMM_F16 ? cuda::fake::ToF16(value) : cuda::fake::ToBF16(value);
}

int64_t OrDense(int64_t leading, int64_t columns) { return leading == 0 ? columns : leading; }

// Some of `count` indices: all, or the edges and as many between as `most` allows.
std::vector<int64_t> Some(int64_t count, int64_t most, Random& random) {
  std::vector<int64_t> chosen;
  if (count <= most) {
    for (int64_t i = 0; i < count; ++i) chosen.push_back(i);
    return chosen;
  }
  for (int64_t i = 0; i < most / 4; ++i) {
    chosen.push_back(i);
    chosen.push_back(count - 1 - i);
  }
  while (static_cast<int64_t>(chosen.size()) < most) {
    chosen.push_back(static_cast<int64_t>(random.Below(static_cast<uint64_t>(count))));
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

}  // namespace

float FromBits(uint16_t bits, warpsmith_gemm_dtype dtype) {
  return dtype == WARPSMITH_GEMM_F16 ? cuda::fake::FromF16(bits) : cuda::fake::FromBF16(bits);
}

Result<Operands> Operands::Make(int64_t most_elements, warpsmith_gemm_dtype dtype) {
  Operands operands;
  operands.most_elements_ = most_elements;
  Random random(20261121, "operands");
  std::vector<uint16_t> bits(kValues);
  for (uint16_t& one : bits) {
    const auto unit = static_cast<float>(random.Uniform());
    one = ToBits(2 * unit - 1, dtype);
    operands.values_.push_back(FromBits(one, dtype));
  }
  std::vector<uint16_t> all(static_cast<size_t>(most_elements));
  for (const bool second : {false, true}) {
    for (size_t i = 0; i < all.size(); ++i) all[i] = bits[(i + (second ? kShift : 0)) % kValues];
    cuda::DeviceBuffer& buffer = second ? operands.b_ : operands.a_;
    buffer = TRY(cuda::DeviceBuffer::Allocate(2 * all.size()));
    TRY(cuda::CopyToDevice(buffer.address(), all.data(), 2 * all.size()));
  }
  return operands;
}

int64_t SpanOfC(const warpsmith_gemm_problem& p) { return (p.m - 1) * OrDense(p.ldc, p.n) + p.n; }

std::string Text(const warpsmith_gemm_problem& p) {
  char text[160];
  std::snprintf(text, sizeof text, "%ld,%ld,%ld,%s%s,%s,%g,%g,%ld,%ld,%ld", static_cast<long>(p.m),
                static_cast<long>(p.n), static_cast<long>(p.k), p.transpose_b != 0 ? "T" : "N",
                p.transpose_a != 0 ? "T" : "N", p.dtype == WARPSMITH_GEMM_F16 ? "f16" : "bf16",
                static_cast<double>(p.alpha), static_cast<double>(p.beta), static_cast<long>(p.lda),
                static_cast<long>(p.ldb), static_cast<long>(p.ldc));
  return text;
}

namespace {

struct Sums {
  double product = 0, magnitude = 0;
};

Sums Multiply(const Operands& operands, const warpsmith_gemm_problem& p, int64_t i, int64_t j) {
  const int64_t lda = OrDense(p.lda, p.transpose_a != 0 ? p.m : p.k);
  const int64_t ldb = OrDense(p.ldb, p.transpose_b != 0 ? p.k : p.n);
  Sums sums;
  for (int64_t q = 0; q < p.k; ++q) {
    const double x = operands.A(p.transpose_a != 0 ? q * lda + i : i * lda + q);
    const double y = operands.B(p.transpose_b != 0 ? j * ldb + q : q * ldb + j);
    sums.product += x * y;
    sums.magnitude += std::fabs(x * y);
  }
  return sums;
}

// FP32 sums in any order, each product and partial sum rounded or truncated; then one rounding.
// cuBLASLt rounds the product before it adds C: one more where there is one.
double Bound(const Sums& sums, double expected, const warpsmith_gemm_problem& p) {
  const double rounding = std::ldexp(1.0, p.dtype == WARPSMITH_GEMM_F16 ? -11 : -8);
  const double sum = std::fabs(static_cast<double>(p.alpha)) * sums.magnitude *
                     static_cast<double>(p.k + 4) * std::ldexp(1.0, -23);
  const double before = std::fabs(static_cast<double>(p.beta)) * std::ldexp(1.0, -21);
  const double product = p.beta == 0 ? 0 : std::fabs(static_cast<double>(p.alpha) * sums.product);
  return rounding * (std::fabs(expected) + product) + sum * (1 + rounding) + before +
         std::ldexp(1.0, -24);
}

}  // namespace

Result<Deviation> Compare(const Operands& operands, const warpsmith_gemm_problem& p, uint64_t c) {
  const int64_t pitch = OrDense(p.ldc, p.n);
  const bool whole = SpanOfC(p) <= kWholeElements;
  Random random(static_cast<uint64_t>(p.m * 31 + p.n * 7 + p.k), "places");
  const double most = kFastProducts / static_cast<double>(std::max<int64_t>(1, p.k));
  const auto side = static_cast<int64_t>(std::max(8.0, std::sqrt(most)));
  const std::vector<int64_t> rows = Some(p.m, side, random);
  const std::vector<int64_t> columns = Some(
      p.n, std::max<int64_t>(8, static_cast<int64_t>(most) / static_cast<int64_t>(rows.size())),
      random);
  std::vector<uint16_t> all(static_cast<size_t>(whole ? SpanOfC(p) : pitch));
  if (whole) TRY(cuda::CopyToHost(all.data(), c, 2 * all.size()));
  Deviation deviation;
  const float poison = FromBits(kPoison * 0x101, p.dtype);
  for (const int64_t i : rows) {
    const int64_t start = whole ? i * pitch : 0;
    const int64_t length = i + 1 == p.m ? p.n : pitch;
    if (!whole) {
      TRY(cuda::CopyToHost(all.data(), c + static_cast<uint64_t>(2 * i * pitch),
                           static_cast<size_t>(2 * length)));
    }
    for (int64_t j = p.n; j < length; ++j) {
      deviation.touched += all[static_cast<size_t>(start + j)] != kPoison * 0x101 ? 1 : 0;
    }
    for (const int64_t j : columns) {
      const Sums sums = Multiply(operands, p, i, j);
      const double expected = static_cast<double>(p.alpha) * sums.product +
                              (p.beta == 0 ? 0 : static_cast<double>(p.beta) * poison);
      const double found = FromBits(all[static_cast<size_t>(start + j)], p.dtype);
      const double error = std::fabs(found - expected) / Bound(sums, expected, p);
      deviation.worst = std::isnan(error) ? INFINITY : std::max(deviation.worst, error);
      ++deviation.checked;
    }
  }
  return deviation;
}

}  // namespace warpsmith::check
