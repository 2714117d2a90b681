typedef float real;
#define TX 16
__global__ void k(const real* x, real* y, int w, int h, float s, bool b) {}
int main(int argc, char** argv) {
  int w = 1 << 10, h = 48, t = 8;
  if (argc > 1) t = atoi(argv[1]);
  cudaMalloc(&x, w);
  dim3 block(TX, t), grid((w + block.x - 1) / block.x), other = dim3(2);
  grid.y = ceil((float)h / block.y);
  k<real><<<dim3(grid), block, TX * sizeof(real)>>>(x, y, (int)w, 3, -.5f, true);
}
