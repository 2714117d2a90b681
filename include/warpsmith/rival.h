/* What a shared library exports so that `warpsmith hgemm bench --against LIBRARY.so` can compare
 * its kernels with cuBLASLt under the judge's protocol (docs/library.md). A library that exports
 * warpsmith/gemm.h instead, as libwarpsmith_gemm does, can be compared too.
 *
 * The library runs inside the measuring process with your rights: compare only what you trust.
 */
#ifndef WARPSMITH_RIVAL_H_
#define WARPSMITH_RIVAL_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C = A B in FP16 with FP32 accumulation, all row-major and dense: A m x k, C m x n, and B k x n,
 * or n x k where transpose_b is 1. Addresses are of the device and 256-byte aligned.
 *
 * Submits the product to `stream` (a CUstream) and returns 0; it must not wait, and may be called
 * while the stream is captured into a graph. The outputs are compared with a reference, and each
 * call has other addresses. Another result than 0: the library has no kernel for this product. */
int warpsmith_rival_gemm(int64_t m, int64_t n, int64_t k, int transpose_b, const void* a,
                         const void* b, void* c, void* stream);

/* Optional; called once before the first product of a shape, with its operands' addresses, to load,
 * allocate or tune. The contents of C do not matter. Returns 0, or no kernel. */
int warpsmith_rival_prepare(int64_t m, int64_t n, int64_t k, int transpose_b, const void* a,
                            const void* b, void* c, void* stream);

/* Optional: the same two for BF16 in and out (`hgemm bench --dtype bf16`). */
int warpsmith_rival_gemm_bf16(int64_t m, int64_t n, int64_t k, int transpose_b, const void* a,
                              const void* b, void* c, void* stream);
int warpsmith_rival_prepare_bf16(int64_t m, int64_t n, int64_t k, int transpose_b, const void* a,
                                 const void* b, void* c, void* stream);

#ifdef __cplusplus
}
#endif

#endif /* WARPSMITH_RIVAL_H_ */
