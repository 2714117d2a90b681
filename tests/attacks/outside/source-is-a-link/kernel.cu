// What is judged is stored, shown and sent to a model: with it goes whatever table.inc leads to.
__device__ const char kTable[] =
#include "table.inc"
    ;
extern "C" __global__ void candidate(float* y) { y[threadIdx.x] = kTable[threadIdx.x]; }
