#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cmath>
#include <stdint.h>

// The task's fixed sizes (the driver does not pass them).
constexpr int BATCH = 128;
constexpr int ID = 16;
constexpr int IH = 32;
constexpr int IW = 32;

// Fast path: 3 -> 16 channels, 3x3x3 kernel, pooling by 2 twice.
constexpr int PD = 3;                 // pooled depth, height, width
constexpr int PH = 7;
constexpr int PW = 7;
constexpr int SD = 6;                 // planes of the slab: 4 + 2
constexpr int SH = 30;                // rows: 28 + 2
constexpr int SW = 40;                // pixels a row (32 used): rows start 16 banks apart
constexpr int ROWB = SW * 8;          // 320 bytes
constexpr int PLANEB = SH * ROWB;     // 9600 bytes
constexpr int SLABB = SD * PLANEB;    // 57600 bytes
constexpr int WARPS = 7;              // a warp does one row of pooled windows
constexpr int THREADS = WARPS * 32;
constexpr int SMEM = SLABB + 16 * PH * PW * 2;
constexpr int QUADS = SD * SH * (IW / 4);              // 1440
constexpr int ITERS = (QUADS + THREADS - 1) / THREADS; // 7

__device__ __forceinline__ void mma16816(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                         uint32_t a3, uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

// Softmax over 16 channels, four in this lane and the rest in the other lanes of the quad;
// best[] keeps the maximum over positions.
__device__ __forceinline__ void softmax_max(float v0, float v1, float v2, float v3, float (&best)[4]) {
    float m = fmaxf(fmaxf(v0, v1), fmaxf(v2, v3));
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
    const float e0 = __expf(v0 - m);
    const float e1 = __expf(v1 - m);
    const float e2 = __expf(v2 - m);
    const float e3 = __expf(v3 - m);
    float s = (e0 + e1) + (e2 + e3);
    s += __shfl_xor_sync(0xffffffffu, s, 1);
    s += __shfl_xor_sync(0xffffffffu, s, 2);
    const float inv = __fdividef(1.0f, s);
    best[0] = fmaxf(best[0], e0 * inv);
    best[1] = fmaxf(best[1], e1 * inv);
    best[2] = fmaxf(best[2], e2 * inv);
    best[3] = fmaxf(best[3], e3 * inv);
}

__global__ void __launch_bounds__(THREADS, 3)
conv_softmax_pool_kernel(__half* __restrict__ output, const __half* __restrict__ input,
                         const __half* __restrict__ weight, const __half* __restrict__ bias)
{
    extern __shared__ __align__(16) unsigned char smem[];
    __half* sOut = reinterpret_cast<__half*>(smem + SLABB);

    const int t = threadIdx.x;
    const int lane = t & 31;
    const int ph = t >> 5;                 // warp = row of windows
    const int pd = blockIdx.x % PD;
    const int b = blockIdx.x / PD;

    // Slab: planes 4 pd .. 4 pd + 5, rows 0 .. 29, columns 0 .. 31.
    const __half* in = input + (size_t)b * 3 * ID * IH * IW + (size_t)pd * 4 * IH * IW;
    {
        uint2 v[ITERS][3];
#pragma unroll
        for (int it = 0; it < ITERS; ++it) {
            const int i = t + it * THREADS;
            if (i < QUADS) {
                const int q = i & 7;
                const int row = i >> 3;
                const int d = row / SH;
                const int h = row - d * SH;
                const __half* src = in + (d * IH + h) * IW + q * 4;
#pragma unroll
                for (int c = 0; c < 3; ++c)
                    v[it][c] = __ldg(reinterpret_cast<const uint2*>(src + c * (ID * IH * IW)));
            }
        }
#pragma unroll
        for (int it = 0; it < ITERS; ++it) {
            const int i = t + it * THREADS;
            if (i < QUADS) {
                const int q = i & 7;
                const int row = i >> 3;        // = d * SH + h
                uint4* dst = reinterpret_cast<uint4*>(smem + row * ROWB + q * 32);
                uint4 o;
                o.x = __byte_perm(v[it][0].x, v[it][1].x, 0x5410);
                o.y = v[it][2].x & 0xffffu;
                o.z = __byte_perm(v[it][0].x, v[it][1].x, 0x7632);
                o.w = v[it][2].x >> 16;
                dst[0] = o;
                o.x = __byte_perm(v[it][0].y, v[it][1].y, 0x5410);
                o.y = v[it][2].y & 0xffffu;
                o.z = __byte_perm(v[it][0].y, v[it][1].y, 0x7632);
                o.w = v[it][2].y >> 16;
                dst[1] = o;
            }
        }
    }

    // K order: in step g lane q of a quad holds tap 4 g + q; its slots 2q, 2q+1 are channels
    // 0, 1 and its slots 2q+8, 2q+9 are channel 2 and zero. The same for A and B.
    const int quad = lane & 3;
    uint32_t wf[7][2][2];
    int off[7];
#pragma unroll
    for (int g = 0; g < 7; ++g) {
        const int tap = g * 4 + quad;
        const bool real = tap < 27;
        const int tp = real ? tap : 0;         // tap 27 has zero weights
        const int kd = tp / 9;
        const int kh = (tp / 3) % 3;
        const int kw = tp % 3;
        off[g] = kd * PLANEB + kh * ROWB + kw * 8;
#pragma unroll
        for (int nt = 0; nt < 2; ++nt) {
            const __half* w = weight + (nt * 8 + (lane >> 2)) * 81 + tp;
            const uint32_t w0 = __half_as_ushort(w[0]);
            const uint32_t w1 = __half_as_ushort(w[27]);
            const uint32_t w2 = __half_as_ushort(w[54]);
            wf[g][nt][0] = real ? (w0 | (w1 << 16)) : 0u;
            wf[g][nt][1] = real ? w2 : 0u;
        }
    }
    float bs[2][2];
#pragma unroll
    for (int nt = 0; nt < 2; ++nt)
#pragma unroll
        for (int k = 0; k < 2; ++k)
            bs[nt][k] = __half2float(bias[nt * 8 + quad * 2 + k]);

    __syncthreads();

    // Tile row r (0 .. 15): window pixel (r >> 2, r & 3); this lane has rows lane >> 2 and + 8.
    const int r0 = lane >> 2;
    const unsigned char* base = smem + (ph * 4 + (r0 >> 2)) * ROWB + (r0 & 3) * 8;

#pragma unroll 1
    for (int pw = 0; pw < PW; ++pw) {
        const unsigned char* win = base + pw * 32;
        float best[4] = {0.0f, 0.0f, 0.0f, 0.0f};      // softmax is not negative
#pragma unroll
        for (int dd = 0; dd < 4; ++dd) {
            float c[2][4];
#pragma unroll
            for (int nt = 0; nt < 2; ++nt) {
                c[nt][0] = bs[nt][0];
                c[nt][1] = bs[nt][1];
                c[nt][2] = bs[nt][0];
                c[nt][3] = bs[nt][1];
            }
#pragma unroll
            for (int g = 0; g < 7; ++g) {
                const unsigned char* p = win + off[g] + dd * PLANEB;
                const uint2 lo = *reinterpret_cast<const uint2*>(p);
                const uint2 hi = *reinterpret_cast<const uint2*>(p + 2 * ROWB);
#pragma unroll
                for (int nt = 0; nt < 2; ++nt)
                    mma16816(c[nt], lo.x, hi.x, lo.y, hi.y, wf[g][nt][0], wf[g][nt][1]);
            }
            softmax_max(c[0][0], c[0][1], c[1][0], c[1][1], best);
            softmax_max(c[0][2], c[0][3], c[1][2], c[1][3], best);
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            best[k] = fmaxf(best[k], __shfl_xor_sync(0xffffffffu, best[k], 4));
            best[k] = fmaxf(best[k], __shfl_xor_sync(0xffffffffu, best[k], 8));
            best[k] = fmaxf(best[k], __shfl_xor_sync(0xffffffffu, best[k], 16));
        }
        if (lane < 4) {
            // best[0], [1]: channels 2 quad, + 1; best[2], [3]: the same + 8.
            __half* o = sOut + (quad * 2) * (PH * PW) + ph * PW + pw;
            o[0] = __float2half_rn(best[0]);
            o[PH * PW] = __float2half_rn(best[1]);
            o[8 * PH * PW] = __float2half_rn(best[2]);
            o[9 * PH * PW] = __float2half_rn(best[3]);
        }
    }
    __syncthreads();

    for (int i = t; i < 16 * PH * PW; i += THREADS) {
        const int co = i / (PH * PW);
        const int r = i - co * (PH * PW);
        output[((size_t)(b * 16 + co) * PD + pd) * (PH * PW) + r] = sOut[i];
    }
}

// Any channel counts, kernel and pooling sizes: one thread an output.
__global__ void conv_softmax_pool_plain(
    __half* __restrict__ output, const __half* __restrict__ input,
    const __half* __restrict__ weight, const __half* __restrict__ bias,
    int C_in, int C_out, int K, int pool, int od, int oh, int ow)
{
    const long long idx = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= (long long)BATCH * C_out * od * oh * ow) return;
    long long r = idx;
    const int w = (int)(r % ow); r /= ow;
    const int h = (int)(r % oh); r /= oh;
    const int d = (int)(r % od); r /= od;
    const int co = (int)(r % C_out);
    const int b = (int)(r / C_out);
    const int win = pool * pool;
    float best = 0.0f;
    for (int z = d * win; z < d * win + win; ++z)
        for (int y = h * win; y < h * win + win; ++y)
            for (int x = w * win; x < w * win + win; ++x) {
                float m = -INFINITY, s = 0.0f, own = 0.0f;
                for (int c = 0; c < C_out; ++c) {
                    float a = __half2float(bias[c]);
                    for (int ci = 0; ci < C_in; ++ci)
                        for (int kd = 0; kd < K; ++kd)
                            for (int kh = 0; kh < K; ++kh)
                                for (int kw = 0; kw < K; ++kw)
                                    a += __half2float(input[((((size_t)b * C_in + ci) * ID + z + kd) * IH + y + kh) * IW + x + kw]) *
                                         __half2float(weight[((((size_t)c * C_in + ci) * K + kd) * K + kh) * K + kw]);
                    if (c == co) own = a;
                    const float mn = fmaxf(m, a);
                    s = s * expf(m - mn) + expf(a - mn);
                    m = mn;
                }
                best = fmaxf(best, expf(own - m) / s);
            }
    output[idx] = __float2half_rn(best);
}

void launch_gpu_implementation(void* output, void* input, int in_channels, int out_channels,
                               int kernel_size, int pool_kernel_size, void* conv_weight, void* conv_bias) {
    __half* out = static_cast<__half*>(output);
    const __half* in = static_cast<const __half*>(input);
    const __half* w = static_cast<const __half*>(conv_weight);
    const __half* bias = static_cast<const __half*>(conv_bias);

    if (in_channels == 3 && out_channels == 16 && kernel_size == 3 && pool_kernel_size == 2 &&
        (reinterpret_cast<uintptr_t>(input) & 7) == 0) {
        cudaFuncSetAttribute(conv_softmax_pool_kernel,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM);
        conv_softmax_pool_kernel<<<BATCH * PD, THREADS, SMEM>>>(out, in, w, bias);
        return;
    }
    const int od = (ID - kernel_size + 1) / pool_kernel_size / pool_kernel_size;
    const int oh = (IH - kernel_size + 1) / pool_kernel_size / pool_kernel_size;
    const int ow = (IW - kernel_size + 1) / pool_kernel_size / pool_kernel_size;
    const long long total = (long long)BATCH * out_channels * od * oh * ow;
    if (total <= 0) return;
    conv_softmax_pool_plain<<<(unsigned)((total + 127) / 128), 128>>>(
        out, in, w, bias, in_channels, out_channels, kernel_size, pool_kernel_size, od, oh, ow);
}
