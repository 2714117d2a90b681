/* Half-precision matrix products with kernels that were found, judged and compared by warpsmith.
 *
 *     C = alpha op(A) op(B) + beta C      FP16 or BF16 in and out, FP32 accumulation
 *
 * All matrices are row-major: element (i, j) of a matrix X lies at X[i * ldx + j]. op(X) is X, or
 * its transpose where transpose_x is 1, so A is stored m x k (or k x m), B k x n (or n x k), and
 * C m x n.
 *
 * For each problem the library takes the kernel of its pack that was measured to be fastest, or
 * cuBLASLt where that was faster or where no kernel fits; warpsmith_gemm_explain says which and
 * why. It compiles nothing, links neither CUDA nor cuBLAS (both are opened at run time), and needs
 * a GPU driver for CUDA 13 (580 or newer). docs/library.md is the manual.
 *
 * Streams: work is submitted to the stream given and nowhere else, and nothing is waited for.
 * Graphs: a stream that is being captured may be given; warpsmith_gemm_prepare beforehand keeps the
 * loading of kernels out of the capture (it is allowed there too).
 * Memory: no device memory is allocated, except for the code of kernels at their first use.
 * Determinism: the same problem, alignment of pointers and workspace size give the same kernel, and
 * kernels sum in a fixed order, so results repeat bit for bit on one device, driver and cuBLASLt.
 * Threads: every function may be called from any thread, on one library at once, but
 * warpsmith_gemm_destroy only when no other call on it is under way.
 * Errors: a status other than WARPSMITH_GEMM_OK means that nothing was submitted to compute C, and
 * warpsmith_gemm_last_error() tells this thread why. No pointer is followed on the host.
 */
#ifndef WARPSMITH_GEMM_H_
#define WARPSMITH_GEMM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WARPSMITH_GEMM_ABI_VERSION 1

#if defined(__GNUC__)
#define WARPSMITH_GEMM_API __attribute__((visibility("default")))
#else
#define WARPSMITH_GEMM_API
#endif

typedef enum warpsmith_gemm_status {
  WARPSMITH_GEMM_OK = 0,
  WARPSMITH_GEMM_INVALID_ARGUMENT = 1, /* null, misaligned or overlapping; sizes or strides */
  WARPSMITH_GEMM_UNAVAILABLE = 2,      /* no driver, no GPU, or cuBLASLt is needed and not there */
  WARPSMITH_GEMM_UNSUPPORTED = 3,      /* neither a kernel nor cuBLASLt can do this problem */
  WARPSMITH_GEMM_BAD_PACK = 4,   /* the pack of kernels is damaged, foreign or of another version */
  WARPSMITH_GEMM_CUDA_ERROR = 5, /* CUDA or cuBLASLt refused a call; the text names it */
  WARPSMITH_GEMM_INTERNAL = 6    /* out of host memory, or a bug of ours */
} warpsmith_gemm_status;

typedef enum warpsmith_gemm_dtype {
  WARPSMITH_GEMM_F16 = 0, /* IEEE half precision */
  WARPSMITH_GEMM_BF16 = 1
} warpsmith_gemm_dtype;

/* A library that was created for one CUDA context. */
typedef struct warpsmith_gemm warpsmith_gemm;

/* All zero but struct_bytes is what most want. */
typedef struct warpsmith_gemm_options {
  size_t struct_bytes; /* sizeof(warpsmith_gemm_options) */
  /* The file of kernels that `warpsmith hgemm build` wrote. NULL: $WARPSMITH_GEMM_PACK, else
     warpsmith/gemm.wspack beside the shared library; with neither, every product is cuBLASLt's. */
  const char* pack;
  /* 1: ask the driver what memory is behind A, B and C at every call, and refuse the host's. Costs
     about a microsecond a call; for debugging. */
  int check_pointers;
} warpsmith_gemm_options;

typedef struct warpsmith_gemm_problem {
  size_t struct_bytes; /* sizeof(warpsmith_gemm_problem) */
  int64_t m, n, k;     /* from 0; m or n of 0: a no-op; k of 0: C = beta C */
  /* Elements from one row to the next, at least the row's length. 0: dense. */
  int64_t lda, ldb, ldc;
  int transpose_a, transpose_b; /* 0 or 1 */
  warpsmith_gemm_dtype dtype;
  float alpha, beta; /* C is not read where beta is 0 */
} warpsmith_gemm_problem;

/* A dense FP16 problem with alpha 1 and beta 0: what the fastest kernels are for. For BF16, set
 * dtype afterwards. */
static inline warpsmith_gemm_problem warpsmith_gemm_dense(int64_t m, int64_t n, int64_t k,
                                                          int transpose_a, int transpose_b) {
  warpsmith_gemm_problem problem = {
      sizeof(warpsmith_gemm_problem), 0, 0, 0, 0, 0, 0, 0, 0, WARPSMITH_GEMM_F16, 1, 0};
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.transpose_a = transpose_a;
  problem.transpose_b = transpose_b;
  return problem;
}

/* Makes a library for the context that is current in this thread; where none is, for the primary
 * context of device 0. `options` may be NULL. On success *library is to be given to
 * warpsmith_gemm_destroy while the context still exists; otherwise it is NULL. */
WARPSMITH_GEMM_API warpsmith_gemm_status
warpsmith_gemm_create(const warpsmith_gemm_options* options, warpsmith_gemm** library);

/* Nothing submitted before may still be running. NULL is allowed. */
WARPSMITH_GEMM_API void warpsmith_gemm_destroy(warpsmith_gemm* library);

/* The workspace with which the problem is fastest, in bytes: often 0, at most 32 MiB, or what the
 * problem's kernel needs. Pointers are taken to be 16-byte aligned. */
WARPSMITH_GEMM_API warpsmith_gemm_status warpsmith_gemm_workspace(
    warpsmith_gemm* library, const warpsmith_gemm_problem* problem, size_t* bytes);

/* Chooses and loads what the problem will run with so much workspace and 16-byte aligned pointers,
 * so that its first warpsmith_gemm_run costs no more than the others. */
WARPSMITH_GEMM_API warpsmith_gemm_status warpsmith_gemm_prepare(
    warpsmith_gemm* library, const warpsmith_gemm_problem* problem, size_t workspace_bytes);

/* Submits the product to `stream` (a CUstream or cudaStream_t; NULL: the default stream).
 *
 * a, b, c: device addresses, aligned to an element (2 bytes); 16-byte aligned ones and leading
 * dimensions in multiples of 8 are fastest. A and B must not be written while it runs, C must not
 * overlap either (interleaved columns of one buffer with one leading dimension are fine).
 * workspace: device memory that nothing else uses until the product is done, 256-byte aligned; NULL
 * with 0 bytes: none. Its contents do not matter.
 * The context must be the one the library was created for. */
WARPSMITH_GEMM_API warpsmith_gemm_status warpsmith_gemm_run(warpsmith_gemm* library,
                                                            const warpsmith_gemm_problem* problem,
                                                            const void* a, const void* b, void* c,
                                                            void* workspace, size_t workspace_bytes,
                                                            void* stream);

/* What the problem runs with so much workspace and 16-byte aligned pointers, and why, in words: at
 * most `bytes` bytes into `text`, the closing NUL included. */
WARPSMITH_GEMM_API warpsmith_gemm_status
warpsmith_gemm_explain(warpsmith_gemm* library, const warpsmith_gemm_problem* problem,
                       size_t workspace_bytes, char* text, size_t bytes);

/* "invalid argument"; never NULL. */
WARPSMITH_GEMM_API const char* warpsmith_gemm_status_text(warpsmith_gemm_status status);

/* Why this thread's last failed call failed: what was tried, on what, what to do. Never NULL; valid
 * until the thread's next failing call. */
WARPSMITH_GEMM_API const char* warpsmith_gemm_last_error(void);

/* "0.1.0" */
WARPSMITH_GEMM_API const char* warpsmith_gemm_version(void);

#ifdef __cplusplus
}
#endif

#endif /* WARPSMITH_GEMM_H_ */
