// The oracle's look at outputs: every element against the reference and its bound, in one pass.
#ifndef WARPSMITH_JUDGE_DEVICE_VERIFY_CUH_
#define WARPSMITH_JUDGE_DEVICE_VERIFY_CUH_

#include "judge/device/elements.cuh"

struct VerifyEntry {
  const void* output;
  const void* expected;
  const float* magnitude;  // of each element; null: `largest` for all
  double largest;
};

// Must match judge::VerifyResult in src/judge/kernels.h. Zeroed before the launch.
struct VerifyResult {
  u64 poison, nan, wrong;
  u64 worst;  // bits of the largest error / bound above, ~index below
  u64 content_hash;
  u32 deviation;  // bits of the largest |out - ref|, as a float
  u32 unused;
  i64 bias_magnitude, bias_value;  // sums, in 2^-20 (BiasSums in src/judge/correctness.h)
  u64 bias_square, bias_elements;
};

struct VerifyParameters {
  const VerifyEntry* entries;
  VerifyResult* results;
  i64 elements;
  double relative, absolute, magnitude;  // the bound's coefficients
  u32 poison;                            // this round's pattern, 16 bits
  u32 exact_up_to;                       // whole numbers up to this must be exact; 0: none
  int dtype, expected_dtype;
  int significand, least_exponent;  // judge::Rounding; significand 0: no bias is asked for
};

__device__ __forceinline__ u64 WarpSum(u64 value) {
  for (int lane = 16; lane > 0; lane /= 2) value += __shfl_xor_sync(0xffffffffu, value, lane);
  return value;
}
__device__ __forceinline__ u64 WarpMax(u64 value) {
  for (int lane = 16; lane > 0; lane /= 2) {
    const u64 other = __shfl_xor_sync(0xffffffffu, value, lane);
    value = other > value ? other : value;
  }
  return value;
}

__device__ __forceinline__ bool InfinityIsRight(const VerifyParameters& p, double reference,
                                                double bound, double value) {
  return isinf(value) && (value > 0) == (reference > 0) &&
         (isinf(reference) || fabs(reference) + bound >= OverflowOf(p.dtype));
}

struct ElementVerdict {
  bool poison, nan, wrong;
  float fraction, deviation;
};

// NaN never passes, whatever the reference says.
__device__ __forceinline__ ElementVerdict JudgeElement(const VerifyParameters& p, u64 bits,
                                                       double value, double reference,
                                                       double magnitude) {
  ElementVerdict verdict = {};
  const double bound = p.relative * fabs(reference) + p.absolute + p.magnitude * magnitude * 1.001;
  verdict.poison = IsPoison(bits, p.dtype, p.poison);
  verdict.nan = !verdict.poison && !isfinite(value) && !InfinityIsRight(p, reference, bound, value);
  if (verdict.poison || verdict.nan) {
    verdict.wrong = true;
    verdict.fraction = __int_as_float(0x7f800000);
    return verdict;
  }
  if (!isfinite(value)) return verdict;
  const double error = fabs(value - reference);
  verdict.deviation = (float)error;
  // An infinite reference would make its bound infinite, and any number right.
  const bool exact = bound == 0.0 || isinf(reference) ||
                     (p.exact_up_to > 0 && fabs(reference) <= (double)p.exact_up_to);
  verdict.wrong = exact ? error != 0.0 : !(error <= bound);
  verdict.fraction =
      exact ? (error != 0.0 ? __int_as_float(0x7f800000) : 0.0f) : (float)(error / bound);
  return verdict;
}

struct SignedSums {
  i64 magnitude, value;
  u64 square, elements;
};

// judge::BiasSums::Add in whole numbers, whose sums do not depend on their order.
__device__ __forceinline__ void AddSigned(const VerifyParameters& p, double value, double reference,
                                          SignedSums& sums) {
  if (p.significand == 0 || reference == 0.0 || !isfinite(value) || !isfinite(reference)) return;
  int exponent = (int)((u64)__double_as_longlong(reference) >> 52 & 0x7ffu) - 1023;
  exponent = exponent > p.least_exponent ? exponent : p.least_exponent;
  const double scale = __longlong_as_double((i64)(1023 + p.significand - exponent) << 52);
  const double halves = fmin(fmax((value - reference) * scale, -4.0), 4.0);
  const i64 fixed = __double2ll_rn(halves * 1048576.0);
  sums.magnitude += reference > 0.0 ? fixed : -fixed;
  sums.value += fixed;
  sums.square += (u64)__double2ll_rn(halves * halves * 1048576.0);
  ++sums.elements;
}

// What the magnitude's largest value of a whole output is, for bounds of MagnitudeKind
// kLargestValue. Must match judge::SpreadResult. Zeroed before the launch.
struct SpreadResult {
  u64 largest;  // bits of the largest finite |value|
  u64 nan;
};

extern "C" __global__ void JudgeSpread(const void* data, int dtype, i64 elements,
                                       SpreadResult* result) {
  u64 largest = 0, nan = 0;
  for (i64 i = GlobalThread(); i < elements; i += GlobalThreads()) {
    const double value = LoadElement(data, dtype, i);
    nan += isnan(value);
    const u64 bits = isfinite(value) ? (u64)__double_as_longlong(fabs(value)) : 0;
    largest = bits > largest ? bits : largest;
  }
  largest = WarpMax(largest);
  nan = WarpSum(nan);
  if (threadIdx.x % 32 != 0) return;
  atomicMax(&result->largest, largest);
  if (nan > 0) atomicAdd(&result->nan, nan);
}

// grid: (blocks, outputs); 256 threads.
extern "C" __global__ void JudgeVerify(VerifyParameters p) {
  const VerifyEntry entry = p.entries[blockIdx.y];
  u64 poison = 0, nan = 0, wrong = 0, worst = 0, hash = 0;
  u64 deviation = 0;
  SignedSums sums = {};
  for (i64 i = GlobalThread(); i < p.elements; i += GlobalThreads()) {
    const u64 bits = ElementBits(entry.output, p.dtype, i);
    const double magnitude = entry.magnitude != nullptr ? entry.magnitude[i] : entry.largest;
    const double value = LoadElement(entry.output, p.dtype, i);
    const double reference = LoadElement(entry.expected, p.expected_dtype, i);
    const ElementVerdict v = JudgeElement(p, bits, value, reference, magnitude);
    AddSigned(p, value, reference, sums);
    poison += v.poison;
    nan += v.nan;
    wrong += v.wrong;
    const u64 place = ((u64)__float_as_uint(v.fraction) << 32) | (0xffffffffu - (u32)i);
    worst = place > worst ? place : worst;
    const u64 deviation_bits = __float_as_uint(v.deviation);
    deviation = deviation_bits > deviation ? deviation_bits : deviation;
    hash += Mix(Mix((u64)i) ^ bits);
  }
  poison = WarpSum(poison);
  nan = WarpSum(nan);
  wrong = WarpSum(wrong);
  hash = WarpSum(hash);
  worst = WarpMax(worst);
  deviation = WarpMax(deviation);
  sums.magnitude = (i64)WarpSum((u64)sums.magnitude);
  sums.value = (i64)WarpSum((u64)sums.value);
  sums.square = WarpSum(sums.square);
  sums.elements = WarpSum(sums.elements);
  if (threadIdx.x % 32 != 0) return;
  VerifyResult* result = &p.results[blockIdx.y];
  if (wrong > 0) {
    atomicAdd(&result->poison, poison);
    atomicAdd(&result->nan, nan);
    atomicAdd(&result->wrong, wrong);
  }
  atomicAdd(&result->content_hash, hash);
  atomicMax(&result->worst, worst);
  atomicMax(&result->deviation, (u32)deviation);
  if (sums.elements == 0) return;
  atomicAdd(reinterpret_cast<u64*>(&result->bias_magnitude), (u64)sums.magnitude);
  atomicAdd(reinterpret_cast<u64*>(&result->bias_value), (u64)sums.value);
  atomicAdd(&result->bias_square, sums.square);
  atomicAdd(&result->bias_elements, sums.elements);
}

#endif  // WARPSMITH_JUDGE_DEVICE_VERIFY_CUH_
