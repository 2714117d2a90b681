#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

// ---------------------------------------------------------------------------
// Tensor-core path: groups 1, stride 1, C_in 32, C_out 16, kH 5, kW 7, W_out <= 72.
// ---------------------------------------------------------------------------
constexpr int T_CI = 32;
constexpr int T_CO = 16;
constexpr int T_KH = 5;
constexpr int T_KW = 7;
constexpr int T_R = 6;                          // output rows a warp
constexpr int T_NT = 3;                         // n8 tiles a warp along w (24 columns)
constexpr int T_HT = 12;                        // output rows a block (2 warps along h)
constexpr int T_WT = 72;                        // output columns a block (3 warps along w)
constexpr int T_THREADS = 192;
constexpr int T_ROWS = T_HT + T_KH - 1;         // 16 input rows in shared memory
constexpr int T_PX = 80;                        // pixels a row in shared memory (78 needed)
constexpr int T_PXB = T_CI * 2;                 // 64 bytes a pixel
constexpr int T_ROWB = T_PX * T_PXB;            // 5120 bytes a row
constexpr int T_SMEM = T_ROWS * T_ROWB;         // 81920 bytes

constexpr int T_MAX_KD = 8;
constexpr int T_MAX_PIX = 16 * 16 * 32 * 64;    // pixels that the channels-last copy holds

// Both are written anew in every call.
__device__ uint4 g_x[(size_t)T_MAX_PIX * 4];                       // [n][d][h][w][32 ci]
__device__ uint4 g_w[T_MAX_KD * T_KW * T_KH * 2 * 32];             // A fragments

__device__ __forceinline__ void cp_async16(uint32_t dst, const void* src, int bytes) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n"
                 :: "r"(dst), "l"(src), "r"(bytes) : "memory");
}
__device__ __forceinline__ void cp_async_wait_all() {
    asm volatile("cp.async.commit_group;\n" ::: "memory");
    asm volatile("cp.async.wait_group 0;\n" ::: "memory");
}
__device__ __forceinline__ void ldsm4(uint32_t (&r)[4], uint32_t addr) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr) : "memory");
}
__device__ __forceinline__ void mma16816(float (&c)[4], const uint4& a, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

// The first xBlocks blocks: input [n][32][S] -> g_x [n][S][32] (S % 4 == 0), four
// positions and eight channels a thread. The others: weights -> A fragments.
__global__ void __launch_bounds__(256)
prepare_kernel(const __half* __restrict__ input, const __half* __restrict__ weight,
               int N, int S, int kD, int xBlocks)
{
    if ((int)blockIdx.x < xBlocks) {
        const int id = blockIdx.x * 256 + threadIdx.x;
        // Eight position quads by four channel groups in a warp.
        const int lane = id & 31;
        const int quadIdx = (id >> 5) * 8 + (lane & 7);
        const int g = lane >> 3;
        const int quads = S >> 2;
        const int n = quadIdx / quads;
        if (n >= N) return;
        const int s = (quadIdx - n * quads) * 4;
        const __half* src = input + ((size_t)n * T_CI + g * 8) * S + s;
        uint2 v[8];
#pragma unroll
        for (int c = 0; c < 8; ++c)
            v[c] = __ldg(reinterpret_cast<const uint2*>(src + (size_t)c * S));
        uint4* dst = g_x + ((size_t)n * S + s) * 4 + g;
        uint4 o;
        // prmt 0x5410: low halves of both words; 0x7632: high halves.
        o.x = __byte_perm(v[0].x, v[1].x, 0x5410);
        o.y = __byte_perm(v[2].x, v[3].x, 0x5410);
        o.z = __byte_perm(v[4].x, v[5].x, 0x5410);
        o.w = __byte_perm(v[6].x, v[7].x, 0x5410);
        dst[0] = o;
        o.x = __byte_perm(v[0].x, v[1].x, 0x7632);
        o.y = __byte_perm(v[2].x, v[3].x, 0x7632);
        o.z = __byte_perm(v[4].x, v[5].x, 0x7632);
        o.w = __byte_perm(v[6].x, v[7].x, 0x7632);
        dst[4] = o;
        o.x = __byte_perm(v[0].y, v[1].y, 0x5410);
        o.y = __byte_perm(v[2].y, v[3].y, 0x5410);
        o.z = __byte_perm(v[4].y, v[5].y, 0x5410);
        o.w = __byte_perm(v[6].y, v[7].y, 0x5410);
        dst[8] = o;
        o.x = __byte_perm(v[0].y, v[1].y, 0x7632);
        o.y = __byte_perm(v[2].y, v[3].y, 0x7632);
        o.z = __byte_perm(v[4].y, v[5].y, 0x7632);
        o.w = __byte_perm(v[6].y, v[7].y, 0x7632);
        dst[12] = o;
        return;
    }

    const int id = ((int)blockIdx.x - xBlocks) * 256 + threadIdx.x;
    const int lane = id & 31;
    int f = id >> 5;                             // ((kd * KW + kw) * KH + kh) * 2 + half
    if (f >= kD * T_KW * T_KH * 2) return;
    const int half = f & 1;
    f >>= 1;
    const int kh = f % T_KH;
    f /= T_KH;
    const int kw = f % T_KW;
    const int kd = f / T_KW;
    const int taps = kD * T_KH * T_KW;
    const int tap = (kd * T_KH + kh) * T_KW + kw;
    uint32_t a[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        const int co = (lane >> 2) + (j & 1) * 8;
        const int ci = half * 16 + (lane & 3) * 2 + (j >> 1) * 8;
        const uint32_t lo = __half_as_ushort(weight[(size_t)(ci * T_CO + co) * taps + tap]);
        const uint32_t hi = __half_as_ushort(weight[(size_t)((ci + 1) * T_CO + co) * taps + tap]);
        a[j] = lo | (hi << 16);
    }
    g_w[id] = make_uint4(a[0], a[1], a[2], a[3]);
}

__global__ void __launch_bounds__(T_THREADS, 2)
convtranspose3d_mma_kernel(__half* __restrict__ output, const __half* __restrict__ bias,
                           int D_in, int H_in, int W_in, int kD,
                           int padD, int padH, int padW,
                           int D_out, int H_out, int W_out)
{
    extern __shared__ __align__(128) unsigned char smem[];

    const int t = threadIdx.x;
    const int lane = t & 31;
    const int warp = t >> 5;
    const int wt = warp % 3;                     // columns wt * 24 ..
    const int hw = warp / 3;                     // rows hw * 6 ..

    const int h0 = blockIdx.x * T_HT;
    const int n = blockIdx.y;
    // Planes that have all kD taps first, those at the two ends (fewer taps) last, longest first.
    const int order = blockIdx.z;
    const int whole = D_out - 2 * (kD - 1);
    int d_out = order;
    if (whole > 0) {
        if (order < whole) {
            d_out = order + kD - 1;
        } else {
            const int e = order - whole;
            d_out = (e & 1) ? kD - 2 - (e >> 1) : D_out - (kD - 1) + (e >> 1);
        }
    }

    const int kd0 = max(0, d_out + padD - D_in + 1);
    const int kd1 = min(kD - 1, d_out + padD);

    const uint32_t sbase = (uint32_t)__cvta_generic_to_shared(smem);
    const int hBase = h0 + padH - (T_KH - 1);    // input row of shared row 0
    const int wBase = padW - (T_KW - 1);         // input column of shared pixel 0

    // Shared rows of this warp that hold input at all; the others are padding and add nothing.
    uint32_t live = 0u;
#pragma unroll
    for (int rr = 0; rr < T_R + T_KH - 1; ++rr) {
        const int h_in = hBase + hw * T_R + rr;
        if (h_in >= 0 && h_in < H_in) live |= 1u << rr;
    }
    live = __shfl_sync(0xffffffffu, live, 0);    // the same in all lanes

    float acc[T_R][T_NT][4];
#pragma unroll
    for (int i = 0; i < T_R; ++i)
#pragma unroll
        for (int j = 0; j < T_NT; ++j)
#pragma unroll
            for (int k = 0; k < 4; ++k) acc[i][j][k] = 0.0f;

    for (int kd = kd0; kd <= kd1; ++kd) {
        const int d_in = d_out + padD - kd;
        const uint4* plane = g_x + ((size_t)n * D_in + d_in) * H_in * W_in * 4;

        __syncthreads();                         // the tile before has been read
        for (int i = t; i < T_ROWS * T_PX * 4; i += T_THREADS) {
            const int c = i & 3;
            const int pix = i >> 2;
            const int r = pix / T_PX;
            const int p = pix - r * T_PX;
            const int h_in = hBase + r;
            const int w_in = wBase + p;
            const bool ok = h_in >= 0 && h_in < H_in && w_in >= 0 && w_in < W_in;
            const uint4* src = ok ? plane + ((size_t)h_in * W_in + w_in) * 4 + c : g_x;
            const uint32_t dst = sbase + (uint32_t)(pix * T_PXB + ((c ^ ((p >> 1) & 3)) << 4));
            cp_async16(dst, src, ok ? 16 : 0);
        }
        cp_async_wait_all();
        __syncthreads();

#pragma unroll 1
        for (int kw = 0; kw < T_KW; ++kw) {
            uint4 a[T_KH][2];
            const uint4* wf = g_w + (size_t)(kd * T_KW + kw) * T_KH * 2 * 32 + lane;
#pragma unroll
            for (int kh = 0; kh < T_KH; ++kh) {
                a[kh][0] = __ldg(wf + (kh * 2 + 0) * 32);
                a[kh][1] = __ldg(wf + (kh * 2 + 1) * 32);
            }

            // Output column w reads shared pixel w + 6 - kw. Lane l addresses pixel l % 8 of
            // the n8 tile, channel chunk l / 8.
            const int q = wt * (T_NT * 8) + (lane & 7) + (T_KW - 1) - kw;
            const uint32_t addr = sbase + (uint32_t)(hw * T_R * T_ROWB + q * T_PXB
                                + (((lane >> 3) ^ ((q >> 1) & 3)) << 4));

            uint32_t bf[2][T_NT][4];
#pragma unroll
            for (int j = 0; j < T_NT; ++j) ldsm4(bf[0][j], addr + (uint32_t)(j * 8 * T_PXB));

            // Shared row rr (of this warp) serves output row i = rr - 4 + kh.
#pragma unroll
            for (int rr = 0; rr < T_R + T_KH - 1; ++rr) {
                if (rr + 1 < T_R + T_KH - 1) {
#pragma unroll
                    for (int j = 0; j < T_NT; ++j)
                        ldsm4(bf[(rr + 1) & 1][j],
                              addr + (uint32_t)((rr + 1) * T_ROWB + j * 8 * T_PXB));
                }
                if (((live >> rr) & 1u) == 0u) continue;
#pragma unroll
                for (int half = 0; half < 2; ++half) {
#pragma unroll
                    for (int kh = 0; kh < T_KH; ++kh) {
                        const int i = rr - (T_KH - 1) + kh;
                        if (i >= 0 && i < T_R) {
#pragma unroll
                            for (int j = 0; j < T_NT; ++j)
                                mma16816(acc[i][j], a[kh][half],
                                         bf[rr & 1][j][half * 2], bf[rr & 1][j][half * 2 + 1]);
                        }
                    }
                }
            }
        }
    }

    const int co = lane >> 2;
    const float b0 = (bias != nullptr) ? __half2float(bias[co]) : 0.0f;
    const float b1 = (bias != nullptr) ? __half2float(bias[co + 8]) : 0.0f;
    const size_t chan = (size_t)D_out * H_out * W_out;
    __half* outp = output + ((size_t)n * T_CO + co) * chan + (size_t)d_out * H_out * W_out;
    const bool even = (W_out & 1) == 0;
#pragma unroll
    for (int i = 0; i < T_R; ++i) {
        const int h = h0 + hw * T_R + i;
        if (h >= H_out) continue;
#pragma unroll
        for (int j = 0; j < T_NT; ++j) {
            const int w = wt * (T_NT * 8) + j * 8 + (lane & 3) * 2;
            __half* o0 = outp + (size_t)h * W_out + w;
            __half* o1 = o0 + 8 * chan;
            if (even) {
                if (w < W_out) {
                    *reinterpret_cast<__half2*>(o0) =
                        __floats2half2_rn(acc[i][j][0] + b0, acc[i][j][1] + b0);
                    *reinterpret_cast<__half2*>(o1) =
                        __floats2half2_rn(acc[i][j][2] + b1, acc[i][j][3] + b1);
                }
            } else {
                if (w < W_out) {
                    o0[0] = __float2half_rn(acc[i][j][0] + b0);
                    o1[0] = __float2half_rn(acc[i][j][2] + b1);
                }
                if (w + 1 < W_out) {
                    o0[1] = __float2half_rn(acc[i][j][1] + b0);
                    o1[1] = __float2half_rn(acc[i][j][3] + b1);
                }
            }
        }
    }
}

// ---------------------------------------------------------------------------
// General path: any stride, padding, group count and size.
// ---------------------------------------------------------------------------
// [5 lines of init.cu stand here]
    int64_t N, int64_t C_in, int64_t C_out,
    int64_t D_in, int64_t H_in, int64_t W_in,
    int64_t groups,
    int64_t kD, int64_t kH, int64_t kW,
    int64_t strideD, int64_t strideH, int64_t strideW,
    int64_t padD, int64_t padH, int64_t padW,
    int64_t outpadD, int64_t outpadH, int64_t outpadW)
{
    const int64_t D_out = (D_in - 1) * strideD - 2 * padD + kD + outpadD;
    const int64_t H_out = (H_in - 1) * strideH - 2 * padH + kH + outpadH;
    const int64_t W_out = (W_in - 1) * strideW - 2 * padW + kW + outpadW;

    int64_t tid = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t total = N * C_out * D_out * H_out * W_out;
    if (tid >= total) return;

// [6 lines of init.cu stand here]
    int64_t group = c_out / (C_out / groups);
    int64_t c_out_in_group = c_out % (C_out / groups);
    int64_t c_in_start = group * (C_in / groups);
    int64_t c_in_end = (group + 1) * (C_in / groups);

    float acc = 0.0f;
    for (int64_t kd = 0; kd < kD; ++kd) {
        int64_t d_nom = d_out + padD - kd;
        if (d_nom % strideD != 0) continue;
        int64_t d_in = d_nom / strideD;
        if (d_in < 0 || d_in >= D_in) continue;
        for (int64_t kh = 0; kh < kH; ++kh) {
            int64_t h_nom = h_out + padH - kh;
            if (h_nom % strideH != 0) continue;
            int64_t h_in = h_nom / strideH;
            if (h_in < 0 || h_in >= H_in) continue;
            for (int64_t kw = 0; kw < kW; ++kw) {
                int64_t w_nom = w_out + padW - kw;
                if (w_nom % strideW != 0) continue;
                int64_t w_in = w_nom / strideW;
                if (w_in < 0 || w_in >= W_in) continue;
                for (int64_t c_in = c_in_start; c_in < c_in_end; ++c_in) {
                    int64_t input_offset = (((n * C_in + c_in) * D_in + d_in) * H_in + h_in) * W_in + w_in;
                    int64_t weight_offset =
                        (((c_in * (C_out / groups) + c_out_in_group) * kD + kd) * kH + kh) * kW + kw;
                    acc += __half2float(input[input_offset]) * __half2float(weight[weight_offset]);
                }
            }
        }
    }
    if (bias != nullptr) acc += __half2float(bias[c_out]);
    output[tid] = __float2half_rn(acc);
}

void launch_gpu_implementation(
    void* output,
    void* input,
    void* weight,
    void* bias,
// [20 lines of init.cu stand here]
    const int64_t D_out = (depth_in - 1) * strideD - 2 * padD + kD + outpadD;
    const int64_t H_out = (height_in - 1) * strideH - 2 * padH + kH + outpadH;
    const int64_t W_out = (width_in - 1) * strideW - 2 * padW + kW + outpadW;
    const int64_t total = batch_size * out_channels * D_out * H_out * W_out;
    if (total <= 0) return;

    const int64_t S = depth_in * height_in * width_in;
    const bool aligned = ((reinterpret_cast<uintptr_t>(input) & 7) == 0) &&
                         ((reinterpret_cast<uintptr_t>(output) & 3) == 0);
    const bool fast = aligned && groups == 1 && in_channels == T_CI && out_channels == T_CO &&
                      kH == T_KH && kW == T_KW && kD >= 1 && kD <= T_MAX_KD &&
                      strideD == 1 && strideH == 1 && strideW == 1 &&
                      padD >= 0 && padH >= 0 && padW >= 0 &&
                      W_out <= T_WT && S % 4 == 0 && batch_size * S <= T_MAX_PIX &&
                      D_out <= 65535 && batch_size <= 65535 &&
                      padD < 65536 && padH < 65536 && padW < 65536;
    if (fast) {
        const int64_t threads = batch_size * (S / 4) * 4;
        const int xBlocks = (int)((threads + 255) / 256);
        const int wBlocks = (int)((kD * T_KW * T_KH * 2 * 32 + 255) / 256);
        prepare_kernel<<<xBlocks + wBlocks, 256>>>(
            static_cast<const __half*>(input), static_cast<const __half*>(weight),
            (int)batch_size, (int)S, (int)kD, xBlocks);
        cudaFuncSetAttribute(convtranspose3d_mma_kernel,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, T_SMEM);
        dim3 grid((unsigned)((H_out + T_HT - 1) / T_HT), (unsigned)batch_size, (unsigned)D_out);
        convtranspose3d_mma_kernel<<<grid, T_THREADS, T_SMEM>>>(
            static_cast<__half*>(output), static_cast<const __half*>(bias),
            (int)depth_in, (int)height_in, (int)width_in, (int)kD,
            (int)padD, (int)padH, (int)padW,
            (int)D_out, (int)H_out, (int)W_out);
        return;
    }

    const int threads_per_block = 256;
    const int64_t blocks = (total + threads_per_block - 1) / threads_per_block;
    convtranspose3d_fp16_kernel<<<(unsigned)blocks, threads_per_block>>>(
// [11 lines of init.cu stand here]
}
