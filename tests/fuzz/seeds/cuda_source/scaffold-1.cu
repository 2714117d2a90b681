
#include <cstdio>
#define BLOCK 16
constexpr int kUnused = 3;
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  const char* text = "matmul<<<1, 2>>>(a)";
}
int main() {
  int rows = 1 << 10, N = 512, depth = 64;
  float *a, *b, *c;
  cudaMalloc(&a, rows * depth * 4);
  dim3 block(BLOCK, BLOCK);
  dim3 grid((N + BLOCK - 1) / BLOCK, (unsigned)((rows + block_edge() - 1)) / BLOCK);
  dim3 right((N + BLOCK - 1) / BLOCK, (rows + BLOCK - 1) / BLOCK);
  matmul<<<right, block, 2 * BLOCK * sizeof_nothing, 0>>>(a, b, c, rows, N, depth);
}
