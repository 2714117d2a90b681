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

// x * tanh(log(1 + exp(x)))
__device__ __forceinline__ float mish(float x) {
    const float e = __expf(fminf(x, 20.0f));
    const float n = e * (e + 2.0f);
    return x * __fdividef(n, n + 2.0f);
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

// mish of two values with one reciprocal. n / (n + 2) is 1 in f32 from x = 10 on, so the denominators lie in
// [2, 5e8] for every x (fminf keeps even NaN and infinities out of them) and their product is harmless.
__device__ __forceinline__ void mish_pair(float& x, float& y) {
    const float ex = ex2_ftz(fminf(x, 10.0f) * 1.4426950408889634f);
    const float ey = ex2_ftz(fminf(y, 10.0f) * 1.4426950408889634f);
    const float nx = ex * (ex + 2.0f);
    const float ny = ey * (ey + 2.0f);
    const float dx = nx + 2.0f;
    const float dy = ny + 2.0f;
    const float r = rcp_ftz(dx * dy);
    x = (x * nx) * (r * dy);
    y = (y * ny) * (r * dx);
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
conv3x3_mish2_kernel(const unsigned short* __restrict__ input, const unsigned short* __restrict__ weight,
                     const half* __restrict__ bias, half* __restrict__ output)
{
    __shared__ __align__(16) uint32_t img[IC * PLANE_W];
    __shared__ __align__(16) unsigned short sw[OC * KTOT];

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
    const float bias_lo = bias ? __half2float(bias[g]) : 0.0f;
    const float bias_hi = bias ? __half2float(bias[g + 8]) : 0.0f;

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

    half* out_img = output + (size_t)blockIdx.x * (OC * PIX);
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

#pragma unroll
    for (int it = 0; it < 2; ++it) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            mish_pair(c[it][0][e], c[it][1][e]);
            mish_pair(c[it][0][e], c[it][1][e]);
        }
        const int p0 = (warp + it * WARPS) * 16 + 4 * t;   // outputs p0 .. p0 + 3 of channels g and g + 8
        if (p0 < PIX) {
            uint2 lo, hi;
            __half2* l = reinterpret_cast<__half2*>(&lo);
            __half2* h = reinterpret_cast<__half2*>(&hi);
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                l[e] = __floats2half2_rn(c[it][0][e], c[it][1][e]);
                h[e] = __floats2half2_rn(c[it][0][2 + e], c[it][1][2 + e]);
            }
            *reinterpret_cast<uint2*>(out_img + g * PIX + p0) = lo;
            *reinterpret_cast<uint2*>(out_img + (g + 8) * PIX + p0) = hi;
        }
    }
}

// Any shape: one output a thread.
__global__ void __launch_bounds__(256)
conv_mish2_any_kernel(const half* __restrict__ input, const half* __restrict__ weight,
                      const half* __restrict__ bias, half* __restrict__ output, long long total,
                      int in_channels, int out_channels, int kernel_size, int height, int width, int OH, int OW)
{
    const long long tid = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= total) return;
    const int ow = (int)(tid % OW);
    long long u = tid / OW;
    const int oh = (int)(u % OH);
    u /= OH;
    const int oc = (int)(u % out_channels);
    const long long n = u / out_channels;

    float sum = 0.0f;
    const half* w = weight + (long long)oc * in_channels * kernel_size * kernel_size;
    for (int ic = 0; ic < in_channels; ++ic) {
        for (int kh = 0; kh < kernel_size; ++kh) {
            const half* row = input + ((n * in_channels + ic) * height + oh + kh) * (long long)width + ow;
            for (int kw = 0; kw < kernel_size; ++kw) {
                sum += __half2float(row[kw]) * __half2float(w[kw]);
            }
            w += kernel_size;
        }
    }
    if (bias) sum += __half2float(bias[oc]);
    output[tid] = __float2half_rn(mish(mish(sum)));
}

}  // namespace

void launch_gpu_implementation(void* output, void* input, void* weight, void* bias, int in_channels, int out_channels, int kernel_size, int batch_size, int height, int width) {
    const int OH = height - kernel_size + 1;
    const int OW = width - kernel_size + 1;
    if (OH <= 0 || OW <= 0 || batch_size <= 0) return;

    const bool fast = in_channels == IC && out_channels == OC && kernel_size == KS &&
                      height == IH && width == IW &&
                      (((uintptr_t)input) & 15) == 0 && (((uintptr_t)weight) & 15) == 0 && (((uintptr_t)output) & 7) == 0;
    if (fast) {
        conv3x3_mish2_kernel<<<batch_size, THREADS>>>(
            static_cast<const unsigned short*>(input), static_cast<const unsigned short*>(weight),
            static_cast<const half*>(bias), static_cast<half*>(output));
    } else {
        const long long total = (long long)batch_size * out_channels * OH * OW;
        const int block_size = 256;
        const long long grid_size = (total + block_size - 1) / block_size;
        if (grid_size <= 0) return;
        conv_mish2_any_kernel<<<(unsigned)grid_size, block_size>>>(
            static_cast<const half*>(input), static_cast<const half*>(weight),
            static_cast<const half*>(bias), static_cast<half*>(output), total,
            in_channels, out_channels, kernel_size, height, width, OH, OW);
    }
}
