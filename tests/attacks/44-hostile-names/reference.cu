extern "C" __global__ void reference(const float* x, double* y) { y[threadIdx.x] = x[threadIdx.x]; }
