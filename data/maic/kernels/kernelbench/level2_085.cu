#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// conv 3x3 (8 -> 64) + GroupNorm(16) + scale + maxpool 4 + clamp, one kernel, wgmma.
// One CTA: one image, all 64 output channels (M of the wgmma). B is the input itself: a pixel is
// 16 bytes (8 channels), so 8 neighbouring pixels are a core matrix without swizzle, and a tap is
// only another start address; the two taps of a k16 step are joined by the leading byte offset.
// The tenth tap points to constant pixels (1,0,..,0) and carries the bias.
// Channels whose gamma*scale is negative get negated weights, so that pooling is always a maximum.

constexpr int BATCH = 128, CIN = 8, COUT = 64, H = 128, W = 128;
constexpr int CH = H - 2, CW = W - 2;            // 126 x 126
constexpr int POOL = 4, PH = CH / POOL, PW = CW / POOL;   // 31 x 31
constexpr int PP = PH * PW;                      // 961
constexpr int GROUPS = 16, CPG = COUT / GROUPS;  // 4 channels a group
constexpr int THREADS = 512, WARPS = THREADS / 32;
constexpr int STEPS = 16;                        // steps of 8 conv rows
constexpr int RING = 32;                         // input rows held (power of two), rows 0 and 1 twice
constexpr int PXS = W + 2;                       // pixels a ring row, with padding
constexpr int PIX_BYTES = CIN * 2;               // 16 bytes a pixel
constexpr int ROW_BYTES = PXS * PIX_BYTES;
constexpr int RING_BYTES = (RING + 2) * ROW_BYTES;
constexpr int CONST_BYTES = 64 * PIX_BYTES;
constexpr int STASH_BYTES = COUT * PP * 2;
constexpr int SMEM_BYTES = RING_BYTES + CONST_BYTES + STASH_BYTES;
static_assert(CPG == 4 && THREADS == 8 * (W / 2), "mapping");
static_assert((COUT * PP) % 8 == 0 && RING_BYTES % 16 == 0, "vectors");

__device__ __forceinline__ void wgmma64(float (&d)[32], const uint32_t (&a)[4], uint32_t desc_lo, int acc) {
    const uint64_t desc = ((uint64_t)8u << 32) | desc_lo;     // stride between 8-pixel groups: 128 bytes
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
        "{%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(desc), "r"(acc));
}
__device__ __forceinline__ void wg_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void wg_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ __forceinline__ void wg_wait(float (&d)[32]) {
    asm volatile("wgmma.wait_group.sync.aligned %32;"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]) : "n"(N) : "memory");
}

// One conv row of 64 columns; a is the address (in 16 bytes) of its first input pixel.
__device__ __forceinline__ void issue_row(float (&d)[32], const uint32_t (&wA)[5][4], uint32_t a, uint32_t cst) {
    wg_fence();
    wgmma64(d, wA[0], a + (1u << 16), 0);                                   // (0,0) (0,1)
    wgmma64(d, wA[1], a + 2u + ((uint32_t)(PXS - 2) << 16), 1);             // (0,2) (1,0)
    wgmma64(d, wA[2], a + PXS + 1u + (1u << 16), 1);                        // (1,1) (1,2)
    wgmma64(d, wA[3], a + 2u * PXS + (1u << 16), 1);                        // (2,0) (2,1)
    const uint32_t l = a + 2u * PXS + 2u;
    wgmma64(d, wA[4], l + ((cst - l) << 16), 1);                            // (2,2) and the bias
    wg_commit();
}

__device__ __forceinline__ void epi_row(const float (&d)[32], float (&sum)[2], float (&sq)[2], __half2 (&mx)[8],
                                        bool first, bool valid, bool ok7) {
    float s0 = 0.f, q0 = 0.f, s1 = 0.f, q1 = 0.f;
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        const float u0 = d[4 * j], v0 = d[4 * j + 1], u1 = d[4 * j + 2], v1 = d[4 * j + 3];
        if (j < 7 || ok7) {
            s0 += u0; s1 += u1;
            q0 = fmaf(u0, u0, q0); q1 = fmaf(u1, u1, q1);
            s0 += v0; s1 += v1;
            q0 = fmaf(v0, v0, q0); q1 = fmaf(v1, v1, q1);
        }
        const __half2 m = __floats2half2_rn(fmaxf(u0, v0), fmaxf(u1, v1));
        mx[j] = first ? m : __hmax2(mx[j], m);
    }
    sum[0] += valid ? s0 : 0.f; sum[1] += valid ? s1 : 0.f;
    sq[0] += valid ? q0 : 0.f;  sq[1] += valid ? q1 : 0.f;
}

// Two neighbouring pixels of all 8 input channels; v[c] holds (pixel 2j, pixel 2j+1) of channel c.
__device__ __forceinline__ void load_pair(const __half* __restrict__ xn, int row, int j, uint32_t (&v)[CIN]) {
    if (row < H) {
        const uint32_t* p = reinterpret_cast<const uint32_t*>(xn + (size_t)row * W) + j;
#pragma unroll
        for (int c = 0; c < CIN; ++c) v[c] = __ldg(p + (size_t)c * (H * W / 2));
    } else {
#pragma unroll
        for (int c = 0; c < CIN; ++c) v[c] = 0u;
    }
}
// Stores them channel-last; the order of the two stores alternates to avoid bank conflicts.
__device__ __forceinline__ void store_pair(unsigned char* ring, int row, int j, const uint32_t (&v)[CIN]) {
    uint4 p0, p1;
    p0.x = __byte_perm(v[0], v[1], 0x5410); p1.x = __byte_perm(v[0], v[1], 0x7632);
    p0.y = __byte_perm(v[2], v[3], 0x5410); p1.y = __byte_perm(v[2], v[3], 0x7632);
    p0.z = __byte_perm(v[4], v[5], 0x5410); p1.z = __byte_perm(v[4], v[5], 0x7632);
    p0.w = __byte_perm(v[6], v[7], 0x5410); p1.w = __byte_perm(v[6], v[7], 0x7632);
    const int slot = row & (RING - 1);
    uint4* dst = reinterpret_cast<uint4*>(ring + slot * ROW_BYTES) + 2 * j;
    const int s = (j >> 2) & 1;
    const uint4 pa = s ? p1 : p0, pb = s ? p0 : p1;
    dst[s] = pa;
    dst[s ^ 1] = pb;
    if (slot < 2) {                              // the rows behind the ring's end
        dst[RING * PXS + s] = pa;
        dst[RING * PXS + (s ^ 1)] = pb;
    }
}

__global__ void __launch_bounds__(THREADS, 1)
conv_gn_pool_kernel(__half* __restrict__ out, const __half* __restrict__ x, const __half* __restrict__ scale,
                    const __half* __restrict__ weight, const __half* __restrict__ bias,
                    const __half* __restrict__ gamma, const __half* __restrict__ beta) {
    extern __shared__ __align__(128) unsigned char smem[];
    unsigned char* ring = smem;
    __half* stash = reinterpret_cast<__half*>(smem + RING_BYTES + CONST_BYTES);
    __shared__ float red[WARPS][4][2];
    __shared__ float coefA[COUT], coefB[COUT];
    __shared__ __align__(8) uint64_t bar;

    const int n = blockIdx.x;
    const int tid = threadIdx.x, lane = tid & 31, warp = tid >> 5;
    const int wg = warp >> 2, wq = warp & 3;
    const int half = wg & 1, bandsel = wg >> 1;  // 64 columns and a band of 4 rows for each warpgroup
    const int lq = lane >> 2, lr = lane & 3;
    const __half* xn = x + (size_t)n * CIN * H * W;
    const int lrow = tid >> 6, lj = tid & 63;    // this thread's part of eight new rows
    const uint32_t bar_s = (uint32_t)__cvta_generic_to_shared(&bar);

    if (tid == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar_s), "r"(WARPS) : "memory");

    // The first ten input rows, padding pixels of every ring row, and the constant pixels.
    for (int i = tid; i < 10 * (W / 2); i += THREADS) {
        uint32_t v[CIN];
        load_pair(xn, i / (W / 2), i % (W / 2), v);
        store_pair(ring, i / (W / 2), i % (W / 2), v);
    }
    if (tid < (RING + 2) * 2)
        reinterpret_cast<uint4*>(ring + (tid >> 1) * ROW_BYTES)[W + (tid & 1)] = make_uint4(0u, 0u, 0u, 0u);
    if (tid >= 128 && tid < 192)
        reinterpret_cast<uint4*>(ring + RING_BYTES)[tid - 128] = make_uint4(0x3C00u, 0u, 0u, 0u);

    uint32_t pre[CIN];
    load_pair(xn, 10 + lrow, lj, pre);

    // Weights as A fragments (rows: output channels), two taps a k16 step.
    uint32_t wA[5][4];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int oc = wq * 16 + h * 8 + lq;
        const bool neg = __half2float(gamma[oc]) * __half2float(scale[oc]) < 0.0f;
        const uint32_t flip = neg ? 0x80008000u : 0u;
        const unsigned short* w = reinterpret_cast<const unsigned short*>(weight) + (size_t)oc * (CIN * 9) + 2 * lr * 9;
#pragma unroll
        for (int t = 0; t < 9; ++t)
            wA[t >> 1][(t & 1) * 2 + h] = ((uint32_t)w[t] | ((uint32_t)w[9 + t] << 16)) ^ flip;
        const uint32_t b = (uint32_t)reinterpret_cast<const unsigned short*>(bias)[oc] ^ (flip & 0xffffu);
        wA[4][2 + h] = lr == 0 ? b : 0u;
    }

    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();

    float sum[2] = {0.f, 0.f}, sq[2] = {0.f, 0.f};
    const uint32_t ring_u = ((uint32_t)__cvta_generic_to_shared(ring) >> 4) + half * 64 + bandsel * 4 * PXS;
    const uint32_t cst = (uint32_t)__cvta_generic_to_shared(ring + RING_BYTES) >> 4;
    const bool ok7 = !(half == 1 && lr == 3);    // columns 126 and 127 do not exist

#pragma unroll 1
    for (int it = 0; it < STEPS; ++it) {
        const int p = 2 * it + bandsel;          // band of 4 conv rows
        const uint32_t a = ring_u + ((8 * it) & (RING - 1)) * PXS;
        float acc0[32], acc1[32];
        __half2 mx[8];
        issue_row(acc0, wA, a, cst);
        issue_row(acc1, wA, a + PXS, cst);

        if (it + 1 < STEPS) {                    // rows of the next step, and loads for the one after
            store_pair(ring, 8 * it + 10 + lrow, lj, pre);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncwarp();
            if (lane == 0)
                asm volatile("{\n.reg .b64 t;\nmbarrier.arrive.shared::cta.b64 t, [%0];\n}\n" :: "r"(bar_s) : "memory");
            if (it + 2 < STEPS) load_pair(xn, 8 * it + 18 + lrow, lj, pre);
        }

        const bool tail_ok = p < PH;             // the last band has two rows only
        wg_wait<1>(acc0);
        epi_row(acc0, sum, sq, mx, true, true, ok7);
        issue_row(acc0, wA, a + 2 * PXS, cst);
        wg_wait<1>(acc1);
        epi_row(acc1, sum, sq, mx, false, true, ok7);
        issue_row(acc1, wA, a + 3 * PXS, cst);
        wg_wait<1>(acc0);
        epi_row(acc0, sum, sq, mx, false, tail_ok, ok7);
        wg_wait<0>(acc1);
        epi_row(acc1, sum, sq, mx, false, tail_ok, ok7);

        // Even lanes keep the lower channel, odd lanes the upper one.
        __half* st = stash + (wq * 16 + (lr & 1) * 8 + lq) * PP + p * PW + half * 16 + (lr >> 1);
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const __half2 m = __hmax2(mx[j], __shfl_xor_sync(0xffffffffu, mx[j], 1));
            if (tail_ok && half * 16 + j * 2 + (lr >> 1) < PW)
                st[j * 2] = (lr & 1) ? __high2half(m) : __low2half(m);
        }

        if (it + 1 < STEPS) {
            asm volatile(
                "{\n.reg .pred q;\nWL%=:\n"
                "mbarrier.try_wait.parity.shared::cta.b64 q, [%0], %1;\n"
                "@q bra WD%=;\nbra WL%=;\nWD%=:\n}\n" :: "r"(bar_s), "r"(it & 1) : "memory");
        }
    }

    // Group statistics: 16 lanes share a group for each half.
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const int oc = wq * 16 + h * 8 + lq;
        const bool neg = __half2float(gamma[oc]) * __half2float(scale[oc]) < 0.0f;
        float s = neg ? -sum[h] : sum[h], q = sq[h];
#pragma unroll
        for (int o = 8; o > 0; o >>= 1) {
            s += __shfl_xor_sync(0xffffffffu, s, o);
            q += __shfl_xor_sync(0xffffffffu, q, o);
        }
        if ((lane & 15) == 0) {
            red[warp][h * 2 + (lane >> 4)][0] = s;
            red[warp][h * 2 + (lane >> 4)][1] = q;
        }
    }
    __syncthreads();
    if (tid < COUT) {
        float s = 0.f, q = 0.f;
        const int g4 = tid / CPG;
#pragma unroll
        for (int w = 0; w < 4; ++w) {
            s += red[w * 4 + (g4 >> 2)][g4 & 3][0];
            q += red[w * 4 + (g4 >> 2)][g4 & 3][1];
        }
        const float inv_count = 1.0f / (float)(CPG * CH * CW);
        const float mean = s * inv_count;
        const float var = fmaxf(q * inv_count - mean * mean, 0.0f);
        const float rstd = 1.0f / sqrtf(var + 1e-5f);
        const float g = __half2float(gamma[tid]), sc = __half2float(scale[tid]);
        coefA[tid] = fabsf(g * sc) * rstd;        // the stash already carries the sign
        coefB[tid] = (__half2float(beta[tid]) - mean * rstd * g) * sc;
    }
    __syncthreads();

    // The CTA's output is one contiguous run of COUT * PP elements.
    uint4* o4 = reinterpret_cast<uint4*>(out + (size_t)n * COUT * PP);
    const uint4* s4 = reinterpret_cast<const uint4*>(stash);
    for (int i = tid; i < COUT * PP / 8; i += THREADS) {
        const int ch = (i * 8) / PP, rem = i * 8 - ch * PP;
        const int ch1 = ch + 1 < COUT ? ch + 1 : ch;
        const float A0 = coefA[ch], B0 = coefB[ch], A1 = coefA[ch1], B1 = coefB[ch1];
        const uint4 raw = s4[i];
        uint32_t w[4] = {raw.x, raw.y, raw.z, raw.w};
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float2 f = __half22float2(*reinterpret_cast<__half2*>(&w[e]));
            const bool n0 = rem + 2 * e >= PP, n1 = rem + 2 * e + 1 >= PP;
            float u = fmaf(n0 ? A1 : A0, f.x, n0 ? B1 : B0);
            float v = fmaf(n1 ? A1 : A0, f.y, n1 ? B1 : B0);
            u = fminf(fmaxf(u, 0.0f), 1.0f);
            v = fminf(fmaxf(v, 0.0f), 1.0f);
            const __half2 r = __floats2half2_rn(u, v);
            w[e] = *reinterpret_cast<const uint32_t*>(&r);
        }
        o4[i] = make_uint4(w[0], w[1], w[2], w[3]);
    }
}

extern "C" void launch_gpu_implementation(void* output, const void* x, const void* scale, const void* conv_weight,
                                          const void* conv_bias, const void* group_norm_weight,
                                          const void* group_norm_bias) {
    cudaFuncSetAttribute(conv_gn_pool_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES);
    conv_gn_pool_kernel<<<BATCH, THREADS, SMEM_BYTES>>>(
        (__half*)output, (const __half*)x, (const __half*)scale, (const __half*)conv_weight,
        (const __half*)conv_bias, (const __half*)group_norm_weight, (const __half*)group_norm_bias);
}
