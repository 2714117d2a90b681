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
constexpr int RP = 20;                // 32-bit words a row (16 used)
constexpr int PP = SH * RP;           // words a plane: 600
constexpr int CP = SD * PP + 2;       // words a channel: 3602, 2 more than a multiple of 4
constexpr int WARPS = 7;              // a warp does one row of pooled windows
constexpr int THREADS = WARPS * 32;
constexpr int VECS = 3 * SD * SH * (IW / 8);           // 2160 pieces of 16 bytes
constexpr int ITERS = (VECS + THREADS - 1) / THREADS;  // 10
constexpr int WCOUNT = 16 * 81;

__device__ __forceinline__ void mma16816(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float ex2_ftz(float x) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

__device__ __forceinline__ float rcp_ftz(float x) {
    float r;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
    return r;
}

// Softmax over 16 channels, four in this lane and the rest in the other lanes of the quad;
// best[] keeps the maximum over positions.
__device__ __forceinline__ void softmax_max(float v0, float v1, float v2, float v3, float (&best)[4]) {
    float m = fmaxf(fmaxf(v0, v1), fmaxf(v2, v3));
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 1));
    m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, 2));
    const float L2E = 1.4426950408889634f;
    const float ml = m * L2E;
    const float e0 = ex2_ftz(fmaf(v0, L2E, -ml));
    const float e1 = ex2_ftz(fmaf(v1, L2E, -ml));
    const float e2 = ex2_ftz(fmaf(v2, L2E, -ml));
    const float e3 = ex2_ftz(fmaf(v3, L2E, -ml));
    float s = (e0 + e1) + (e2 + e3);
    s += __shfl_xor_sync(0xffffffffu, s, 1);
    s += __shfl_xor_sync(0xffffffffu, s, 2);
    const float inv = rcp_ftz(s);             // s is about 1 to 16
    best[0] = fmaxf(best[0], e0 * inv);
    best[1] = fmaxf(best[1], e1 * inv);
    best[2] = fmaxf(best[2], e2 * inv);
    best[3] = fmaxf(best[3], e3 * inv);
}

// The 27 elements (channel, kh, kw) of one depth tap are put into 32 slots by patch row r = channel * 3 + kh:
//   step s, lane t of a quad: first pair = (kw 0, kw 1) of row 4 s + t, second pair = (kw 2 of that row, extra),
//   extra = element kw = t of row 8 where s = 0 and t < 3, else zero.
// A plane's fragments serve up to three output depths.
__global__ void __launch_bounds__(THREADS, 3)
conv_softmax_pool_kernel(__half* __restrict__ output, const __half* __restrict__ input,
                         const __half* __restrict__ weight, const __half* __restrict__ bias)
{
    __shared__ __align__(16) uint32_t img[3 * CP];
    __shared__ __align__(16) unsigned short sw[WCOUNT];
    __shared__ __half sOut[16 * PH * PW];

    const int t = threadIdx.x;
    const int lane = t & 31;
    const int ph = t >> 5;                 // warp = row of windows
    const int pd = blockIdx.x % PD;
    const int b = blockIdx.x / PD;

    // Slab: planes 4 pd .. 4 pd + 5, rows 0 .. 29, columns 0 .. 31 of the three channels.
    const __half* in = input + (size_t)b * 3 * ID * IH * IW + (size_t)pd * 4 * IH * IW;
    {
        uint4 v[ITERS];
#pragma unroll
        for (int it = 0; it < ITERS; ++it) {
            const int i = t + it * THREADS;
            if (i < VECS) {
                const int q = i & 3;
                const int row = i >> 2;            // (channel * 6 + plane) * 30 + line
                const int cz = row / SH;
                const int h = row - cz * SH;
                const int c = cz / SD;
                const int z = cz - c * SD;
                v[it] = __ldg(reinterpret_cast<const uint4*>(in + ((c * ID + z) * IH + h) * IW + q * 8));
            }
        }
        if (t < WCOUNT / 8)
            reinterpret_cast<uint4*>(sw)[t] = __ldg(reinterpret_cast<const uint4*>(weight) + t);
#pragma unroll
        for (int it = 0; it < ITERS; ++it) {
            const int i = t + it * THREADS;
            if (i < VECS) {
                const int row = i >> 2;
                const int c = row / (SD * SH);
                uint32_t* dst = img + c * CP + (row - c * (SD * SH)) * RP + (i & 3) * 4;   // 8-byte aligned
                *reinterpret_cast<uint2*>(dst) = make_uint2(v[it].x, v[it].y);
                *reinterpret_cast<uint2*>(dst + 2) = make_uint2(v[it].z, v[it].w);
            }
        }
    }

    const int quad = lane & 3;
    const int g = lane >> 2;
    float bs[2][2];
#pragma unroll
    for (int nt = 0; nt < 2; ++nt)
#pragma unroll
        for (int k = 0; k < 2; ++k)
            bs[nt][k] = __half2float(bias[nt * 8 + quad * 2 + k]);

    const int tx = quad < 3 ? quad : 2;
    const uint32_t xmask = quad < 3 ? 0xffffu : 0u;
    __syncthreads();

    uint32_t wf[3][2][2][2];               // [kd][step][channel half][register]
#pragma unroll
    for (int nt = 0; nt < 2; ++nt) {
        const unsigned short* wc = sw + (nt * 8 + g) * 81;
#pragma unroll
        for (int s = 0; s < 2; ++s) {
            const int r = s * 4 + quad;
            const int c = r / 3;
            const unsigned short* wr = wc + c * 27 + (r - c * 3) * 3;
#pragma unroll
            for (int kd = 0; kd < 3; ++kd) {
                const uint32_t w0 = wr[kd * 9];
                const uint32_t w1 = wr[kd * 9 + 1];
                const uint32_t w2 = wr[kd * 9 + 2];
                uint32_t x = 0u;
                if (s == 0) x = wc[2 * 27 + kd * 9 + 2 * 3 + tx] & xmask;
                wf[kd][s][nt][0] = w0 | (w1 << 16);
                wf[kd][s][nt][1] = w2 | (x << 16);
            }
        }
    }

    // Tile row i < 8: window pixel (i >> 1, 2 (i & 1)); tile row i + 8: its right neighbour.
    const uint32_t* base = img + (ph * 4 + (g >> 1)) * RP + (g & 1);
    const uint32_t* base0 = base + (quad < 3 ? quad * RP : CP);
    const uint32_t* base1 = base + (quad < 2 ? CP + (quad + 1) * RP : 2 * CP + (quad - 2) * RP);
    const unsigned short* basex = reinterpret_cast<const unsigned short*>(base + 2 * CP + 2 * RP) + tx;

#pragma unroll 1
    for (int pw = 0; pw < PW; ++pw) {
        const uint32_t* p0 = base0 + pw * 2;
        const uint32_t* p1 = base1 + pw * 2;
        const unsigned short* px = basex + pw * 4;
        float best[4] = {0.0f, 0.0f, 0.0f, 0.0f};      // softmax is not negative
        float acc[3][2][4];                            // output depth d in acc[d % 3]
#pragma unroll
        for (int z = 0; z < SD; ++z) {
            const uint32_t w00 = p0[z * PP];
            const uint32_t w01 = p0[z * PP + 1];
            const uint32_t w10 = p1[z * PP];
            const uint32_t w11 = p1[z * PP + 1];
            const uint32_t x0 = px[2 * z * PP] & xmask;
            const uint32_t x1 = px[2 * z * PP + 1] & xmask;
            const uint32_t a0[4] = {w00, __byte_perm(w00, w01, 0x5432),
                                    __byte_perm(w01, x0, 0x5410), __byte_perm(w01, x1, 0x5432)};
            const uint32_t a1[4] = {w10, __byte_perm(w10, w11, 0x5432), w11 & 0xffffu, w11 >> 16};
            if (z < 4) {
#pragma unroll
                for (int nt = 0; nt < 2; ++nt) {
                    acc[z % 3][nt][0] = bs[nt][0];
                    acc[z % 3][nt][1] = bs[nt][1];
                    acc[z % 3][nt][2] = bs[nt][0];
                    acc[z % 3][nt][3] = bs[nt][1];
                }
            }
#pragma unroll
            for (int kd = 2; kd >= 0; --kd) {
                const int d = z - kd;
                if (d >= 0 && d < 4) {
#pragma unroll
                    for (int nt = 0; nt < 2; ++nt) {
                        mma16816(acc[d % 3][nt], a0, wf[kd][0][nt][0], wf[kd][0][nt][1]);
                        mma16816(acc[d % 3][nt], a1, wf[kd][1][nt][0], wf[kd][1][nt][1]);
                    }
                }
            }
            if (z >= 2) {
                float (&c)[2][4] = acc[(z - 2) % 3];
                softmax_max(c[0][0], c[0][1], c[1][0], c[1][1], best);
                softmax_max(c[0][2], c[0][3], c[1][2], c[1][3], best);
            }
        }
        // Maximum over the eight lanes of each quad position, channels dealt out on the way:
        // bit 2 of the lane picks best[0..1] or best[2..3], bit 3 the channel's parity.
        const bool up = (lane & 4) != 0;
        const bool odd = (lane & 8) != 0;
        float k0 = up ? best[2] : best[0];
        float k1 = up ? best[3] : best[1];
        k0 = fmaxf(k0, __shfl_xor_sync(0xffffffffu, up ? best[0] : best[2], 4));
        k1 = fmaxf(k1, __shfl_xor_sync(0xffffffffu, up ? best[1] : best[3], 4));
        float k = odd ? k1 : k0;
        k = fmaxf(k, __shfl_xor_sync(0xffffffffu, odd ? k0 : k1, 8));
        k = fmaxf(k, __shfl_xor_sync(0xffffffffu, k, 16));
        if (lane < 16)
            sOut[(quad * 2 + (odd ? 1 : 0) + (up ? 8 : 0)) * (PH * PW) + ph * PW + pw] = __float2half_rn(k);
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
        (reinterpret_cast<uintptr_t>(input) & 15) == 0 && (reinterpret_cast<uintptr_t>(conv_weight) & 15) == 0) {
        conv_softmax_pool_kernel<<<BATCH * PD, THREADS>>>(out, in, w, bias);
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
