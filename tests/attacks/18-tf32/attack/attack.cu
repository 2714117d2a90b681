// 10 of 23 bits are kept: invisible at a tolerance of a percent. One warp makes a 16 x 8 tile.
__device__ unsigned Tf32(float f) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(f));
  return bits;
}
extern "C" __global__ void candidate(const float* A, const float* B, float* C, int M, int N,
                                     int K) {
  const int group = threadIdx.x / 4, lane = threadIdx.x % 4;
  const float* a = A + (blockIdx.y * 16 + group) * K + lane;
  const float* b = B + lane * N + blockIdx.x * 8 + group;
  float c[4] = {0, 0, 0, 0};
  for (int k = 0; k < K; k += 8) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
        "{%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(Tf32(a[k])), "r"(Tf32(a[k + 8 * K])), "r"(Tf32(a[k + 4])),
          "r"(Tf32(a[k + 8 * K + 4])), "r"(Tf32(b[k * N])), "r"(Tf32(b[(k + 4) * N])));
  }
  float* out = C + (blockIdx.y * 16 + group) * N + blockIdx.x * 8 + 2 * lane;
  out[0] = c[0];
  out[1] = c[1];
  out[8 * N] = c[2];
  out[8 * N + 1] = c[3];
}
