// [20 lines of init.cu stand here]
#include <cstdint>
// [149 lines of init.cu stand here]
// ---------------------------------------------------------------------------------------------
// One launch for 3 x 32 x 32 images, 16 filters of 3 x 3, 8 groups, 2 x 2 pooling: one block an image.
// mma.m16n8k16: rows are pixels, columns are channels (two tiles of 8), k = (c, kh, kw), 27 padded to 32.
// The four pixels of a pooling window are the four rows that one thread holds (rows g and g + 8 of two
// tiles), and its two columns of a tile are the two channels of one group.
namespace fused {
constexpr int IN_C = 3, HW = 32, OUT_C = 16, POOL = 15, WINDOWS = POOL * POOL, KREAL = 27, GROUPS = 8;
constexpr int CONV = 30;
constexpr int WARPS = (WINDOWS + 7) / 8;     // 29, eight windows a warp
constexpr int THREADS = WARPS * 32;          // 928

__device__ __forceinline__ void mma16816(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                                         uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(THREADS, 1)
conv_gn_pool_kernel(const half* __restrict__ input, const half* __restrict__ weight,
                    const half* __restrict__ bias, const half* __restrict__ gamma,
                    const half* __restrict__ beta, const half* __restrict__ scale,
                    half* __restrict__ output, float eps, float clamp_min, float clamp_max) {
    __shared__ __align__(16) unsigned short img[IN_C * HW * HW];
    __shared__ __align__(16) unsigned short staged[OUT_C * WINDOWS];   // the pooled image in output order
    __shared__ uint4 frag[2 * 32];               // weight fragments: [channel tile][lane], four pairs of k
    __shared__ float part_sum[GROUPS][32];
    __shared__ float part_sq[GROUPS][32];
    __shared__ __align__(16) float s_mul[OUT_C];
    __shared__ __align__(16) float s_add[OUT_C];

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const int g = lane >> 2;
    const int t = lane & 3;
    const int n = blockIdx.x;

    if (tid < IN_C * HW * HW / 8) {
        reinterpret_cast<uint4*>(img)[tid] =
            __ldg(reinterpret_cast<const uint4*>(input + (size_t)n * (IN_C * HW * HW)) + tid);
    } else if (tid < IN_C * HW * HW / 8 + 256) {
        // Order of k: lane t < 3 holds channel t, pairs P0, P1, P2 = (kw 0, kw 1) of kh 0, 1, 2 and P3 = kw 2 of
        // (kh 0, kh 1); lane t = 3 holds (kh 2, kw 2) of the channels: P0 = (0, 1), P1 = (2, nothing).
        const int u = tid - IN_C * HW * HW / 8;
        const int p = u & 3;
        const int wl = (u >> 2) & 31;
        const int wt = wl & 3;
        const int oc = (u >> 7) * 8 + (wl >> 2);
        int lo = -1, hi = -1;                    // -1: no such value
        if (wt < 3) {
            lo = wt * 9 + (p < 3 ? 3 * p : 2);
            hi = wt * 9 + (p < 3 ? 3 * p + 1 : 5);
        } else if (p == 0) {
            lo = 8;
            hi = 17;
        } else if (p == 1) {
            lo = 26;
        }
        const unsigned short* w = reinterpret_cast<const unsigned short*>(weight) + oc * KREAL;
        uint32_t wlo = 0, whi = 0;
        if (lo >= 0) wlo = __ldg(w + lo);
        if (hi >= 0) whi = __ldg(w + hi);
        reinterpret_cast<uint32_t*>(frag)[u] = wlo | (whi << 16);
    }

    // Parameters of the channels: only the two lanes that will need them.
    float p_ga = 0.0f, p_be = 0.0f, p_sc = 0.0f;
    if (warp < GROUPS && lane < 2) {
        p_ga = __half2float(gamma[2 * warp + lane]);
        p_be = __half2float(beta[2 * warp + lane]);
        p_sc = __half2float(scale[2 * warp + lane]);
    }

    float acc[2][2][4];                          // [row of the window][channel tile]
#pragma unroll
    for (int j = 0; j < 2; ++j) {
        const float2 b = __half22float2(__ldg(reinterpret_cast<const half2*>(bias) + j * 4 + t));
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            acc[i][j][0] = b.x; acc[i][j][1] = b.y;
            acc[i][j][2] = b.x; acc[i][j][3] = b.y;
        }
    }
    __syncthreads();
    const uint4 w0 = frag[lane];
    const uint4 w1 = frag[32 + lane];

    const int win = warp * 8 + g;
    const bool real = win < WINDOWS;
    const int wc = real ? win : WINDOWS - 1;
    const int oy = wc / POOL;
    const int ox = wc - oy * POOL;
    // Words of the window's 4 x 4 patch. t < 3: channel t, row r: wa[r] = columns 0, 1, wb[r] = columns 2, 3.
    // t = 3: columns 2, 3 of channel r: wa[r] of patch row 2, wb[r] of patch row 3 (r = 3 is not used).
    const bool last = (t == 3);
    const uint32_t* wbase = reinterpret_cast<const uint32_t*>(img) +
                            (last ? (2 * oy + 2) * (HW / 2) + ox + 1 : t * (HW * HW / 2) + 2 * oy * (HW / 2) + ox);
    const int rstep = last ? HW * HW / 2 : HW / 2;
    const int bstep = last ? HW / 2 : 1;
    uint32_t wa[4], wb[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        const uint32_t* wp = wbase + ((r == 3 && last) ? 0 : r * rstep);
        wa[r] = wp[0];
        wb[r] = wp[bstep];
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const uint32_t l0 = i ? wb[0] : wa[0];
        const uint32_t l1 = i ? wb[1] : wa[1];
        const uint32_t l2 = i ? wb[2] : wa[2];
        // rows g: left pixel; rows g + 8: right pixel
        const uint32_t p0l = last ? __byte_perm(l0, l1, 0x5410) : wa[i];
        const uint32_t p0r = last ? __byte_perm(l0, l1, 0x7632) : __byte_perm(wa[i], wb[i], 0x5432);
        const uint32_t p1l = last ? (l2 & 0xFFFFu) : wa[i + 1];
        const uint32_t p1r = last ? (l2 >> 16) : __byte_perm(wa[i + 1], wb[i + 1], 0x5432);
        const uint32_t p2l = last ? 0u : wa[i + 2];
        const uint32_t p2r = last ? 0u : __byte_perm(wa[i + 2], wb[i + 2], 0x5432);
        const uint32_t p3l = last ? 0u : __byte_perm(wb[i], wb[i + 1], 0x5410);
        const uint32_t p3r = last ? 0u : __byte_perm(wb[i], wb[i + 1], 0x7632);
        mma16816(acc[i][0], p0l, p0r, p1l, p1r, w0.x, w0.y);
        mma16816(acc[i][1], p0l, p0r, p1l, p1r, w1.x, w1.y);
        mma16816(acc[i][0], p2l, p2r, p3l, p3r, w0.z, w0.w);
        mma16816(acc[i][1], p2l, p2r, p3l, p3r, w1.z, w1.w);
    }

    // Sums of each group: group j * 4 + t is in this thread's tile j, over the eight lanes with the same t.
#pragma unroll
    for (int j = 0; j < 2; ++j) {
        float s1 = 0.0f, s2 = 0.0f;
        if (real) {
#pragma unroll
            for (int i = 0; i < 2; ++i)
#pragma unroll
                for (int r = 0; r < 4; ++r) {
                    const float v = acc[i][j][r];
                    s1 += v;
                    s2 += v * v;
                }
        }
#pragma unroll
        for (int d = 4; d < 32; d <<= 1) {
            s1 += __shfl_xor_sync(0xFFFFFFFFu, s1, d);
            s2 += __shfl_xor_sync(0xFFFFFFFFu, s2, d);
        }
        if (g == 0) {
            part_sum[j * 4 + t][warp] = s1;
            part_sq[j * 4 + t][warp] = s2;
        }
    }
    __syncthreads();
    if (warp < GROUPS) {
        float s1 = (lane < WARPS) ? part_sum[warp][lane] : 0.0f;
        float s2 = (lane < WARPS) ? part_sq[warp][lane] : 0.0f;
#pragma unroll
        for (int d = 16; d > 0; d >>= 1) {
            s1 += __shfl_xor_sync(0xFFFFFFFFu, s1, d);
            s2 += __shfl_xor_sync(0xFFFFFFFFu, s2, d);
        }
        if (lane < 2) {                          // the two channels of this group
            const float inv_n = 1.0f / (float)(2 * CONV * CONV);
            const float mean = s1 * inv_n;
            const float var = fmaxf(s2 * inv_n - mean * mean, 0.0f);
            const float inv = rsqrtf(var + eps);
            s_mul[2 * warp + lane] = inv * p_ga * p_sc;
            s_add[2 * warp + lane] = (p_be - mean * inv * p_ga) * p_sc;
        }
    }
    __syncthreads();

    if (real) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            const float2 mul = *reinterpret_cast<const float2*>(&s_mul[j * 8 + 2 * t]);
            const float2 add = *reinterpret_cast<const float2*>(&s_add[j * 8 + 2 * t]);
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const float m = e ? mul.y : mul.x;
                const float a = e ? add.y : add.x;
                float mx = -INFINITY;
#pragma unroll
                for (int i = 0; i < 2; ++i)
#pragma unroll
                    for (int r = 0; r < 2; ++r) mx = fmaxf(mx, fmaf(acc[i][j][2 * r + e], m, a));
                staged[(j * 8 + 2 * t + e) * WINDOWS + win] =
                    __half_as_ushort(__float2half_rn(fmaxf(fminf(mx, clamp_max), clamp_min)));
            }
        }
    }
    __syncthreads();
    // The output of one image is contiguous.
    if (tid < OUT_C * WINDOWS / 8)
        reinterpret_cast<uint4*>(output + (size_t)n * (OUT_C * WINDOWS))[tid] =
            reinterpret_cast<const uint4*>(staged)[tid];
}
}  // namespace fused

// [15 lines of init.cu stand here]
    if (in_channels == fused::IN_C && out_channels == fused::OUT_C && kernel_size == 3 &&
        num_groups == fused::GROUPS && maxpool_kernel_size == 2 &&
        (reinterpret_cast<uintptr_t>(input) & 15) == 0 && (reinterpret_cast<uintptr_t>(output) & 15) == 0 &&
        (reinterpret_cast<uintptr_t>(conv_bias) & 3) == 0) {
        fused::conv_gn_pool_kernel<<<batch_size, fused::THREADS>>>(
            static_cast<const half*>(input),
            static_cast<const half*>(conv_weight),
            static_cast<const half*>(conv_bias),
            static_cast<const half*>(group_norm_weight),
            static_cast<const half*>(group_norm_bias),
            static_cast<const half*>(scale),
            static_cast<half*>(output),
            1e-5f, clamp_min, clamp_max
        );
        return;
    }

    // Any other shape: step by step.
// [56 lines of init.cu stand here]
