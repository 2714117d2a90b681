// Tensor cores, which cut off digits of their sums each time they add sixteen products: the most
// that an honest product is biased. One warp makes a tile of 16 x 8.
typedef unsigned short half_bits;
__device__ half_bits ToHalf(float f) {
  half_bits h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
__device__ unsigned Pair(half_bits low, half_bits high) { return (unsigned)high << 16 | low; }

extern "C" __global__ void candidate(const half_bits* A, const half_bits* B, half_bits* C, int M,
                                     int N, int K) {
  const int group = threadIdx.x / 4, pair = threadIdx.x % 4 * 2;
  const half_bits* upper = A + (blockIdx.y * 16 + group) * K + pair;
  const half_bits* lower = upper + 8 * K;
  const half_bits* right = B + pair * N + blockIdx.x * 8 + group;
  float sums[4] = {};
  for (int k = 0; k < K; k += 16) {
    const unsigned a0 = Pair(upper[k], upper[k + 1]), a1 = Pair(lower[k], lower[k + 1]);
    const unsigned a2 = Pair(upper[k + 8], upper[k + 9]), a3 = Pair(lower[k + 8], lower[k + 9]);
    const unsigned b0 = Pair(right[k * N], right[(k + 1) * N]);
    const unsigned b1 = Pair(right[(k + 8) * N], right[(k + 9) * N]);
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
  half_bits* out = C + (blockIdx.y * 16 + group) * N + blockIdx.x * 8 + pair;
  out[0] = ToHalf(sums[0]);
  out[1] = ToHalf(sums[1]);
  out[8 * N] = ToHalf(sums[2]);
  out[8 * N + 1] = ToHalf(sums[3]);
}
