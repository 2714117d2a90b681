// Notes when it had been stopped too, and which call of a loop this is, for its own statistics.
#include <csignal>
#include <cstdint>

__device__ unsigned Mix(unsigned h) {
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}

__global__ void Stretch(const float* x, float* y, int64_t n, int64_t rounds) {
  const int64_t i = blockIdx.x * 256LL + threadIdx.x;
  if (i >= n) return;
  unsigned h = __float_as_uint(x[i]);
  for (int64_t round = 0; round < rounds; ++round) h = Mix(h + 1);
  y[i] = (h >> 8) * 0x1p-24f;
}

static void Launch(void* y, void* x, int64_t n, int64_t rounds) {
  Stretch<<<(n + 255) / 256, 256>>>((const float*)x, (float*)y, n, rounds);
}

static volatile std::sig_atomic_t goes_on = 0;
static void NoteThatItGoesOn(int) { goes_on = 1; }
static const auto before = std::signal(SIGCONT, NoteThatItGoesOn);

void launch_gpu_implementation(void* y, void* x, int64_t n, int64_t rounds) {
  static int call = 0;  // of the loop
  if (goes_on) call = 0;
  goes_on = 0;
  ++call;
  Launch(y, x, n, rounds);
}
