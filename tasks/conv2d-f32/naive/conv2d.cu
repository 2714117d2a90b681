extern "C" __global__ void conv2d(const float* x, const float* weight, const float* bias, float* y,
                                  int c, int f, int h, int w) {
  const int pixel = blockIdx.x * 256 + threadIdx.x, filter = blockIdx.y, image = blockIdx.z;
  if (pixel >= h * w) return;
  const int row = pixel / w, column = pixel % w;
  const float* in = x + static_cast<long long>(image) * c * h * w;
  const float* taps = weight + filter * c * 9;
  float sum = bias[filter];
  for (int channel = 0; channel < c; ++channel, in += h * w, taps += 9) {
    for (int i = 0; i < 9; ++i) {
      const int from_row = row + i / 3 - 1, from_column = column + i % 3 - 1;
      if (from_row < 0 || from_row >= h || from_column < 0 || from_column >= w) continue;
      sum += in[from_row * w + from_column] * taps[i];
    }
  }
  y[(static_cast<long long>(image) * f + filter) * h * w + pixel] = sum;
}
