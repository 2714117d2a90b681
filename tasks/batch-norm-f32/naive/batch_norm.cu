constexpr int kThreads = 512;

// In every thread. The whole block calls it.
__device__ float BlockSum(float sum) {
  __shared__ float partial[kThreads / 32];
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  __syncthreads();  // a previous sum has been read
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < kThreads / 32; ++i) sum += partial[i];
  return sum;
}

// moments[c] = {mean, 1 / sqrt(variance + 1e-5)}
extern "C" __global__ void __launch_bounds__(kThreads)
    moments(const float* x, float2* moments, int batch, int channels, int space) {
  const int channel = blockIdx.x;
  float sum = 0, squares = 0;
  for (int image = 0; image < batch; ++image) {
    const float* plane = x + (static_cast<long long>(image) * channels + channel) * space;
    for (int i = threadIdx.x; i < space; i += kThreads) {
      sum += plane[i];
      squares += plane[i] * plane[i];
    }
  }
  const float count = static_cast<float>(batch) * space;
  const float mean = BlockSum(sum) / count;
  const float variance = fmaxf(BlockSum(squares) / count - mean * mean, 0.0f);
  if (threadIdx.x == 0) moments[channel] = {mean, rsqrtf(variance + 1e-5f)};
}

extern "C" __global__ void normalize(const float* x, const float2* moments, const float* weight,
                                     const float* bias, float* y, int channels, int space) {
  const int i = blockIdx.x * 256 + threadIdx.x, channel = blockIdx.y;
  if (i >= space) return;
  const long long at = (static_cast<long long>(blockIdx.z) * channels + channel) * space + i;
  const float2 moment = moments[channel];
  y[at] = (x[at] - moment.x) * moment.y * weight[channel] + bias[channel];
}
