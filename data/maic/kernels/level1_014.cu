#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <cstddef>

// C = triu(A * B) with A and B upper triangular: for a tile (bi, bj) only k in
// [bi*BM, bj*BN + BN) can contribute. Tensor-core tiles 128x128x64, f32 accumulation.

constexpr int BM = 128;
constexpr int BN = 128;            // equal to BM (the tile decode needs it)
constexpr int BK = 64;             // 64 halves = one 128-byte line of a row of A
constexpr int STAGES = 3;
constexpr int THREADS = 128;       // 4 warps: 2 along m, 2 along n; warp tile 64x64: whole lines of C
constexpr int LDA = BK + 8;        // 72 halves  (144 bytes)
constexpr int LDB = BN + 8;        // 136 halves (272 bytes)
constexpr int A_ELEMS = BM * LDA;
constexpr int B_ELEMS = BK * LDB;
constexpr int STAGE_ELEMS = A_ELEMS + B_ELEMS;
constexpr int SMEM_BYTES = STAGES * STAGE_ELEMS * 2;

__device__ __forceinline__ void cp_async16(uint32_t dst, const void* src, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n"
                 :: "r"(dst), "l"(src), "r"(bytes) : "memory");
}
__device__ __forceinline__ void cp_async_commit() {
    asm volatile("cp.async.commit_group;\n" ::: "memory");
}
template <int N>
__device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;\n" :: "n"(N) : "memory");
}
__device__ __forceinline__ void ldsm4(uint32_t (&r)[4], uint32_t addr) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr) : "memory");
}
__device__ __forceinline__ void ldsm4t(uint32_t (&r)[4], uint32_t addr) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr) : "memory");
}
__device__ __forceinline__ void mma16816(float (&c)[4], const uint32_t (&a)[4],
                                         uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// p = e*(e+1)/2 + r with 0 <= r <= e
__device__ __forceinline__ void tri_decode(int p, int& e, int& r) {
    int x = (int)((sqrtf(8.0f * (float)p + 1.0f) - 1.0f) * 0.5f);
    if (x < 0) x = 0;
    while ((long long)x * (x + 1) / 2 > p) --x;
    while ((long long)(x + 1) * (x + 2) / 2 <= p) ++x;
    e = x;
    r = p - (int)((long long)x * (x + 1) / 2);
}

// Needs N % 8 == 0.
__global__ void __launch_bounds__(THREADS, 2)
triu_mm_kernel(__half* __restrict__ C, const __half* __restrict__ A,
               const __half* __restrict__ B, int N, int T)
{
    extern __shared__ __align__(16) __half smem[];

    const int t = threadIdx.x;
    const int p = blockIdx.x;
    const int nUpper = (int)((long long)T * (T + 1) / 2);

    if (p >= nUpper) {
        // Tile strictly below the diagonal: zeros.
        int e, c;
        tri_decode(p - nUpper, e, c);
        const int row0 = (e + 1) * BM;
        const int col0 = c * BN;
        for (int i = t; i < BM * (BN / 8); i += THREADS) {
            const int r = row0 + i / (BN / 8);
            const int q = col0 + (i % (BN / 8)) * 8;
            if (r < N && q < N)
                *reinterpret_cast<uint4*>(C + (size_t)r * N + q) = make_uint4(0u, 0u, 0u, 0u);
        }
        return;
    }

    // Longest tiles (far from the diagonal) first.
    int e, bi;
    tri_decode(p, e, bi);
    const int bj = bi + (T - 1 - e);
    const int m0 = bi * BM;
    const int n0 = bj * BN;
    const int kBegin = m0;
    const int kEnd = min(N, n0 + BN);
    const int nk = (kEnd - kBegin + BK - 1) / BK;

    const int lane = t & 31;
    const int warp = t >> 5;
    const int wm = (warp & 1) * 64;
    const int wn = (warp >> 1) * 64;

    const uint32_t sbase = (uint32_t)__cvta_generic_to_shared(smem);

    // A: eight neighbouring lanes read the 128 bytes of one line of a row.
    const int ar = t >> 3;             // rows ar + 16*i, i < 8
    const int aq = (t & 7) * 8;
    // B: sixteen neighbouring lanes read 256 contiguous bytes of a row.
    const int br = t >> 4;             // rows br + 8*i, i < 8
    const int bq = (t & 15) * 8;
    const __half* aSrc = A + (size_t)(m0 + ar) * N + aq;
    const __half* bSrc = B + (size_t)br * N + (n0 + bq);
    const uint32_t aDst = sbase + (uint32_t)(ar * LDA + aq) * 2u;
    const uint32_t bDst = sbase + (uint32_t)(A_ELEMS + br * LDB + bq) * 2u;
    const bool bColOk = n0 + bq < N;

    auto load_stage = [&](int stage, int kt) {
        const int k0 = kBegin + kt * BK;
        const uint32_t so = (uint32_t)(stage * STAGE_ELEMS) * 2u;
        const bool aColOk = k0 + aq < N;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const bool ok = aColOk && (m0 + ar + i * 16 < N);
            const __half* src = ok ? aSrc + ((size_t)(i * 16) * N + k0) : A;
            cp_async16(aDst + so + (uint32_t)(i * 16 * LDA) * 2u, src, ok ? 16 : 0);
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const bool ok = bColOk && (k0 + br + i * 8 < N);
            const __half* src = ok ? bSrc + (size_t)(k0 + i * 8) * N : B;
            cp_async16(bDst + so + (uint32_t)(i * 8 * LDB) * 2u, src, ok ? 16 : 0);
        }
    };

    float acc[4][8][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
#pragma unroll
            for (int k = 0; k < 4; ++k) acc[i][j][k] = 0.f;

#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < nk) load_stage(s, s);
        cp_async_commit();
    }

    const uint32_t aFrag = sbase + (uint32_t)((wm + (lane & 15)) * LDA + (lane >> 4) * 8) * 2u;
    const uint32_t bFrag = sbase + (uint32_t)(A_ELEMS + (lane & 15) * LDB + wn + (lane >> 4) * 8) * 2u;

    uint32_t af[2][4][4];
    uint32_t bf[2][4][4];

    for (int kt = 0; kt < nk; ++kt) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();

        const uint32_t so = (uint32_t)((kt % STAGES) * STAGE_ELEMS) * 2u;
        const uint32_t sa = aFrag + so;
        const uint32_t sb = bFrag + so;
        // fragments of the first k step
#pragma unroll
        for (int i = 0; i < 4; ++i) ldsm4(af[0][i], sa + (uint32_t)(i * 16 * LDA) * 2u);
#pragma unroll
        for (int j = 0; j < 4; ++j) ldsm4t(bf[0][j], sb + (uint32_t)(j * 16) * 2u);

        const int next = kt + STAGES - 1;
        if (next < nk) load_stage(next % STAGES, next);
        cp_async_commit();

#pragma unroll
        for (int ks = 0; ks < BK / 16; ++ks) {
            const int cur = ks & 1;
            if (ks + 1 < BK / 16) {
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    ldsm4(af[cur ^ 1][i], sa + (uint32_t)(i * 16 * LDA + (ks + 1) * 16) * 2u);
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    ldsm4t(bf[cur ^ 1][j], sb + (uint32_t)((ks + 1) * 16 * LDB + j * 16) * 2u);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    mma16816(acc[i][j], af[cur][i],
                             bf[cur][j >> 1][(j & 1) * 2], bf[cur][j >> 1][(j & 1) * 2 + 1]);
        }
    }
    cp_async_wait<0>();

    const int quad = lane & 3;
    const bool odd = (quad & 1) != 0;
    const bool high = (quad & 2) != 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int row = m0 + wm + i * 16 + (lane >> 2) + h * 8;
            // the two halves of this row's 128-byte line, one after the other
#pragma unroll
            for (int g = 0; g < 2; ++g) {
                const int c0 = n0 + wn + g * 32;
                uint32_t v[4];         // v[j]: columns j*8 + quad*2, +1 of this row
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const int col = c0 + j * 8 + quad * 2;
                    const float v0 = (col >= row) ? acc[i][g * 4 + j][h * 2] : 0.f;
                    const float v1 = (col + 1 >= row) ? acc[i][g * 4 + j][h * 2 + 1] : 0.f;
                    const __half2 hv = __floats2half2_rn(v0, v1);
                    v[j] = *reinterpret_cast<const uint32_t*>(&hv);
                }
                // 4x4 transposition within the quad: afterwards v[s] is what lane s of the
                // quad held as v[quad], i.e. columns quad*8 + s*2, +1.
#pragma unroll
                for (int k = 0; k < 4; k += 2) {
                    const uint32_t got = __shfl_xor_sync(0xffffffffu, odd ? v[k] : v[k + 1], 1);
                    v[k]     = odd ? got : v[k];
                    v[k + 1] = odd ? v[k + 1] : got;
                }
#pragma unroll
                for (int k = 0; k < 2; ++k) {
                    const uint32_t got = __shfl_xor_sync(0xffffffffu, high ? v[k] : v[k + 2], 2);
                    v[k]     = high ? got : v[k];
                    v[k + 2] = high ? v[k + 2] : got;
                }
                const int q = c0 + quad * 8;
                if (row < N && q < N)
                    *reinterpret_cast<uint4*>(C + (size_t)row * N + q) =
                        make_uint4(v[0], v[1], v[2], v[3]);
            }
        }
    }
}

// Any N.
__global__ void triu_mm_plain(__half* __restrict__ C, const __half* __restrict__ A,
                              const __half* __restrict__ B, int N)
{
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= N || col >= N) return;
    float acc = 0.f;
    for (int k = row; k <= col; ++k)
        acc += __half2float(A[(size_t)row * N + k]) * __half2float(B[(size_t)k * N + col]);
    C[(size_t)row * N + col] = __float2half(acc);
}

extern "C" void launch_gpu_implementation(void* output, void* input_A, void* input_B, int64_t N)
{
    if (N <= 0) return;
    __half* C = static_cast<__half*>(output);
    const __half* A = static_cast<const __half*>(input_A);
    const __half* B = static_cast<const __half*>(input_B);
    const int n = (int)N;
    if (n % 8 == 0) {
        const int T = (n + BM - 1) / BM;
        cudaFuncSetAttribute(triu_mm_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES);
        triu_mm_kernel<<<T * T, THREADS, SMEM_BYTES>>>(C, A, B, n, T);
    } else {
        dim3 block(32, 8);
        dim3 grid((n + 31) / 32, (n + 7) / 8);
        triu_mm_plain<<<grid, block>>>(C, A, B, n);
    }
}
