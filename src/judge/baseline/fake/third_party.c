/* Marks what it is called with in C, where the test looks; has no kernel for m of 7. BF16's marks
 * are negative; it is not prepared. */
#include <stddef.h>
#include <warpsmith/rival.h>

static int prepared;

int warpsmith_rival_prepare(int64_t m, int64_t n, int64_t k, int transpose_b, const void* a,
                            const void* b, void* c, void* stream) {
  (void)n, (void)k, (void)transpose_b, (void)a, (void)b, (void)c, (void)stream;
  ++prepared;
  return m == 7;
}

int warpsmith_rival_gemm(int64_t m, int64_t n, int64_t k, int transpose_b, const void* a,
                         const void* b, void* c, void* stream) {
  int64_t* marks = (int64_t*)c;
  marks[0] = m * 1000000 + n * 1000 + k;
  marks[1] = transpose_b;
  marks[2] = (int64_t)a;
  marks[3] = (int64_t)b;
  marks[4] = prepared;
  marks[5] = stream != NULL;
  return 0;
}

int warpsmith_rival_gemm_bf16(int64_t m, int64_t n, int64_t k, int transpose_b, const void* a,
                              const void* b, void* c, void* stream) {
  (void)transpose_b, (void)a, (void)b, (void)stream;
  ((int64_t*)c)[0] = -(m * 1000000 + n * 1000 + k);
  return 0;
}
