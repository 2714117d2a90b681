/* cc gemm.c $(pkg-config --cflags --libs warpsmith_gemm) -lcuda -o gemm && ./gemm */
#include <cuda.h>
#include <stdio.h>
#include <warpsmith/gemm.h>
static uint16_t ones[256 * 256], result[256 * 256]; /* FP16: 0x3c00 is 1, 0x5c00 is 256 */
int main(void) {
  CUcontext context;
  CUdeviceptr a, c; /* B is A again */
  warpsmith_gemm* gemm = NULL;
  warpsmith_gemm_problem problem = warpsmith_gemm_dense(256, 256, 256, 0, 1);
  for (int i = 0; i < 256 * 256; ++i) ones[i] = 0x3c00;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context)) return 1;
  if (cuMemAlloc(&a, sizeof ones) || cuMemAlloc(&c, sizeof result)) return 1;
  if (cuMemcpyHtoD(a, ones, sizeof ones) || warpsmith_gemm_create(NULL, &gemm) ||
      warpsmith_gemm_run(gemm, &problem, (void*)a, (void*)a, (void*)c, NULL, 0, NULL) ||
      cuMemcpyDtoH(result, c, sizeof result))
    return printf("failed: %s\n", warpsmith_gemm_last_error()), 1;
  return printf("%s\n", result[65535] == 0x5c00 ? "right" : "wrong"), result[65535] != 0x5c00;
}
