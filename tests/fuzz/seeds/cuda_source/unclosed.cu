/* "a
__global__ void k(float* x {<<<(((
"\