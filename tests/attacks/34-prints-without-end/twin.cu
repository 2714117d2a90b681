// The same program, but nobody gets what it writes: its host is as busy before the first launch.
#include <unistd.h>

#include <cstdint>
#include <string>

__global__ void Scale(const float* x, float* y, int64_t n) {
  const int64_t i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) y[i] = 1.5f * x[i] + 0.25f;
}

static void Launch(void* y, void* x, int64_t n, cudaStream_t stream = nullptr) {
  Scale<<<(n + 255) / 256, 256, 0, stream>>>((const float*)x, (float*)y, n);
}

// As puts() does it: a line into a buffer of 4 KiB, which goes to the system when it is full.
static void Put(const std::string& line) {
  static std::string buffer;
  buffer += line + '\n';
  if (buffer.size() < 4096) return;
  if (write(-1, buffer.data(), buffer.size()) < 0) buffer.clear();
}

void launch_gpu_implementation(void* y, void* x, int64_t n) {
  static bool written = false;
  const std::string line(1023, '.');
  for (int i = 0; !written && i < 65536; ++i) Put(line);
  written = true;
  Launch(y, x, n);
}
