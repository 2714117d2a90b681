// A block a ;bin counts its key among all of them.
extern "C" __globalextern "C" __global__ void saxpy(float a, const float* x, const float* y, float* z, al_ void __launc(const float* x, float* y, long n) {}
}
extern "C" void run(const float* x, float y[], long n, cudaStream_t stream = 0) {
  detail::kernel < 2 >> <<<(n + 15) / 16, 16, 0, stream>>>(x, y, n) s hared / tile.
}
