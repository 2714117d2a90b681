#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace {

constexpr int IC = 3;
constexpr int OC = 16;
constexpr int KS = 3;
constexpr int IH = 32;
constexpr int IW = 32;
constexpr int OHF = 30;
constexpr int OWF = 30;
constexpr int PIX = OHF * OWF;                 // 900
constexpr int PAIRS = PIX / 2;                 // 450 pairs of neighbouring pixels, 15 a row
constexpr int KTOT = IC * KS * KS;             // 27
constexpr int WARPS = 29;                      // two groups of 16 pixels a warp: 58 >= 57
constexpr int THREADS = WARPS * 32;            // 928
constexpr int IMG_VECS = IC * IH * IW / 8;     // 384
constexpr int W_VECS = OC * KTOT / 8;          // 54
constexpr int ROW_W = 24;                      // 32-bit words a shared row (16 used)
constexpr int PLANE_W = IH * ROW_W + 8;        // 776

// 0.5 x (1 + erf(x / sqrt 2)) = max(x, 0) - |x| erfc(|x| / sqrt 2) / 2
__device__ __forceinline__ float gelu(float x) {
    const float y = fabsf(x);
    const float t = __fdividef(1.0f, fmaf(0.3275911f * 0.70710678118654752f, y, 1.0f));
    float p = fmaf(1.061405429f, t, -1.453152027f);
    p = fmaf(p, t, 1.421413741f);
    p = fmaf(p, t, -0.284496736f);
    p = fmaf(p, t, 0.254829592f);
    const float q = p * t * __expf(-0.5f * y * y);   // erfc
    return fmaf(-0.5f * y, q, fmaxf(x, 0.0f));
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

// Two values x add max(x, 0) to pos and |x| erfc(|x| / sqrt 2) to neg (the sum of the activation is
// pos - neg / 2); the two share one reciprocal. The denominators are at least 1.
__device__ __forceinline__ float gelu_poly(float t) {
    float p = fmaf(1.061405429f, t, -1.453152027f);
    p = fmaf(p, t, 1.421413741f);
    p = fmaf(p, t, -0.284496736f);
    p = fmaf(p, t, 0.254829592f);
    return p * t;
}

__device__ __forceinline__ void gelu_pair(float x0, float x1, float& pos, float& neg) {
    const float y0 = fabsf(x0);
    const float y1 = fabsf(x1);
    const float d0 = fmaf(0.3275911f * 0.70710678118654752f, y0, 1.0f);
    const float d1 = fmaf(0.3275911f * 0.70710678118654752f, y1, 1.0f);
    const float r = rcp_ftz(d0 * d1);
    const float e0 = ex2_ftz(-0.72134752044448170f * y0 * y0);
    const float e1 = ex2_ftz(-0.72134752044448170f * y1 * y1);
    neg = fmaf(y0 * e0, gelu_poly(r * d1), neg);
    neg = fmaf(y1 * e1, gelu_poly(r * d0), neg);
    pos += fmaxf(x0, 0.0f) + fmaxf(x1, 0.0f);
}

__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t pack2(unsigned short lo, unsigned short hi) {
    return (uint32_t)lo | ((uint32_t)hi << 16);
}

// The reduction's 27 elements are put into 32 slots by patch row r = channel * 3 + kh:
//   mma s, thread t: first pair = (kw 0, kw 1) of row 4 s + t, second pair = (kw 2 of that row, extra),
//   extra = element kw = t of row 8 where s = 0 and t < 3, else zero.
__global__ void __launch_bounds__(THREADS, 1)
conv3x3_gelu_mean_kernel(const unsigned short* __restrict__ input, const unsigned short* __restrict__ weight,
                     const half* __restrict__ bias, half* __restrict__ output)
{
    __shared__ __align__(16) uint32_t img[IC * PLANE_W];
    __shared__ __align__(16) unsigned short sw[OC * KTOT];
    __shared__ float red[WARPS][OC + 1];

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const int g = lane >> 2;
    const int t = lane & 3;

    if (tid < IMG_VECS) {
        const uint4 v = __ldg(reinterpret_cast<const uint4*>(input + (size_t)blockIdx.x * (IC * IH * IW)) + tid);
        const int row = tid >> 2;              // channel * 32 + line
        *reinterpret_cast<uint4*>(img + (row >> 5) * PLANE_W + (row & 31) * ROW_W + (tid & 3) * 4) = v;
    } else if (tid < IMG_VECS + W_VECS) {
        reinterpret_cast<uint4*>(sw)[tid - IMG_VECS] =
            __ldg(reinterpret_cast<const uint4*>(weight) + (tid - IMG_VECS));
    }
    const float bias_lo = __half2float(bias[g]);
    const float bias_hi = __half2float(bias[g + 8]);

    // Word offsets of patch rows t and 4 + t; in each set the four lie 8 banks apart.
    const int ro0 = t < 3 ? t * ROW_W : PLANE_W;
    const int ro1 = t < 2 ? PLANE_W + (t + 1) * ROW_W : 2 * PLANE_W + (t - 2) * ROW_W;
    const int tx = t < 3 ? t : 2;
    const uint32_t xmask = t < 3 ? 0xffffu : 0u;

    __syncthreads();

    uint32_t a[2][4];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        const unsigned short* w = sw + (g + 8 * h) * KTOT;
        const unsigned short x = (unsigned short)(w[24 + tx] & xmask);
        a[0][h] = pack2(w[3 * t], w[3 * t + 1]);
        a[0][2 + h] = pack2(w[3 * t + 2], x);
        a[1][h] = pack2(w[12 + 3 * t], w[12 + 3 * t + 1]);
        a[1][2 + h] = pack2(w[12 + 3 * t + 2], (unsigned short)0);
    }

    const unsigned short* img16 = reinterpret_cast<const unsigned short*>(img);

    // Column g of tile j is pixel base + 2 g + j: two neighbours of one row, so that both tiles use the same words.
    uint32_t wa[2][2], wb[2][2], x0[2], x1[2];
#pragma unroll
    for (int it = 0; it < 2; ++it) {
        int q = (warp + it * WARPS) * 8 + g;
        q = q < PAIRS ? q : PAIRS - 1;
        const int pos = q + 9 * (q / 15);      // (q / 15) * 24 + q % 15
        wa[it][0] = img[pos + ro0];
        wa[it][1] = img[pos + ro0 + 1];
        wb[it][0] = img[pos + ro1];
        wb[it][1] = img[pos + ro1 + 1];
        const unsigned short* xp = img16 + 2 * (pos + 2 * PLANE_W + 2 * ROW_W) + tx;
        x0[it] = xp[0] & xmask;
        x1[it] = xp[1] & xmask;
    }

    float c[2][2][4];
#pragma unroll
    for (int it = 0; it < 2; ++it) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
            c[it][j][0] = bias_lo;
            c[it][j][1] = bias_lo;
            c[it][j][2] = bias_hi;
            c[it][j][3] = bias_hi;
        }
        // Tile 0 starts at the words' low halves, tile 1 one element later.
        mma_m16n8k16(c[it][0], a[0], wa[it][0], __byte_perm(wa[it][1], x0[it], 0x5410));
        mma_m16n8k16(c[it][1], a[0], __byte_perm(wa[it][0], wa[it][1], 0x5432),
                     __byte_perm(wa[it][1], x1[it], 0x5432));
        mma_m16n8k16(c[it][0], a[1], wb[it][0], wb[it][1] & 0xffffu);
        mma_m16n8k16(c[it][1], a[1], __byte_perm(wb[it][0], wb[it][1], 0x5432), wb[it][1] >> 16);
    }

    float pos_lo = 0.0f, neg_lo = 0.0f;    // channel g
    float pos_hi = 0.0f, neg_hi = 0.0f;    // channel g + 8
#pragma unroll
    for (int it = 0; it < 2; ++it) {
        const int p0 = (warp + it * WARPS) * 16 + 4 * t;   // this thread's pixels p0 .. p0 + 3: all inside or all outside
        if (p0 < PIX) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                gelu_pair(c[it][0][e], c[it][1][e], pos_lo, neg_lo);
                gelu_pair(c[it][0][2 + e], c[it][1][2 + e], pos_hi, neg_hi);
            }
        }
    }
    float sum_lo = fmaf(-0.5f, neg_lo, pos_lo);
    float sum_hi = fmaf(-0.5f, neg_hi, pos_hi);

    sum_lo += __shfl_xor_sync(0xffffffffu, sum_lo, 1);
    sum_lo += __shfl_xor_sync(0xffffffffu, sum_lo, 2);
    sum_hi += __shfl_xor_sync(0xffffffffu, sum_hi, 1);
    sum_hi += __shfl_xor_sync(0xffffffffu, sum_hi, 2);
    if (t == 0) {
        red[warp][g] = sum_lo;
        red[warp][g + 8] = sum_hi;
    }
    __syncthreads();

    if (warp < OC) {
        float v = lane < WARPS ? red[lane][warp] : 0.0f;
#pragma unroll
        for (int m = 16; m > 0; m >>= 1) v += __shfl_xor_sync(0xffffffffu, v, m);
        if (lane == 0) output[(size_t)blockIdx.x * OC + warp] = __float2half_rn(v * (1.0f / (float)PIX));
    }
}

// Any shape: a block an output value.
__global__ void __launch_bounds__(256)
conv_gelu_mean_any_kernel(const half* __restrict__ input, const half* __restrict__ weight,
                          const half* __restrict__ bias, half* __restrict__ output,
                          int in_channels, int out_channels, int kernel_size, int height, int width, int OH, int OW)
{
    __shared__ float red[8];
    const long long n = blockIdx.x / out_channels;
    const int oc = blockIdx.x % out_channels;
    const int spatial = OH * OW;
    const float b = __half2float(bias[oc]);

    float total = 0.0f;
    for (int idx = threadIdx.x; idx < spatial; idx += 256) {
        const int oh = idx / OW;
        const int ow = idx - oh * OW;
        float acc = b;
        const half* w = weight + (long long)oc * in_channels * kernel_size * kernel_size;
        for (int ic = 0; ic < in_channels; ++ic) {
            for (int kh = 0; kh < kernel_size; ++kh) {
                const half* row = input + ((n * in_channels + ic) * height + oh + kh) * (long long)width + ow;
                for (int kw = 0; kw < kernel_size; ++kw) acc += __half2float(row[kw]) * __half2float(w[kw]);
                w += kernel_size;
            }
        }
        total += gelu(acc);
    }
#pragma unroll
    for (int m = 16; m > 0; m >>= 1) total += __shfl_xor_sync(0xffffffffu, total, m);
    if ((threadIdx.x & 31) == 0) red[threadIdx.x >> 5] = total;
    __syncthreads();
    if (threadIdx.x == 0) {
        float v = 0.0f;
        for (int i = 0; i < 8; ++i) v += red[i];
        output[blockIdx.x] = __float2half_rn(v / (float)spatial);
    }
}

}  // namespace

void launch_gpu_implementation(void* output, void* input, const void* weight, const void* bias,
                               int in_channels, int out_channels, int kernel_size,
                               int batch_size, int height, int width) {
    const int OH = height - kernel_size + 1;
    const int OW = width - kernel_size + 1;
    if (OH <= 0 || OW <= 0 || batch_size <= 0 || out_channels <= 0) return;

    const bool fast = in_channels == IC && out_channels == OC && kernel_size == KS &&
                      height == IH && width == IW && (((uintptr_t)input) & 15) == 0 && (((uintptr_t)weight) & 15) == 0;
    if (fast) {
        conv3x3_gelu_mean_kernel<<<batch_size, THREADS>>>(
            static_cast<const unsigned short*>(input), static_cast<const unsigned short*>(weight),
            static_cast<const half*>(bias), static_cast<half*>(output));
    } else {
        conv_gelu_mean_any_kernel<<<batch_size * out_channels, 256>>>(
            static_cast<const half*>(input), static_cast<const half*>(weight),
            static_cast<const half*>(bias), static_cast<half*>(output),
            in_channels, out_channels, kernel_size, height, width, OH, OW);
    }
}
