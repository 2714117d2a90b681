extern "C" __global__ void saxpy(float a, const float* x, const float* y, float* z, long long n) {
  const long long i = blockIdx.x * 256LL + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
}
