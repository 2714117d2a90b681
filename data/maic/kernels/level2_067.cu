#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
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
constexpr int KTOT = IC * KS * KS;             // 27
constexpr int GROUPS = (PIX + 15) / 16;        // 57 groups of 16 pixels
constexpr int WARPS = 29;                      // two groups a warp
constexpr int THREADS = WARPS * 32;            // 928
constexpr int IMG_VECS = IC * IH * IW / 8;     // 384

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

__device__ __forceinline__ void mma_m16n8k16(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};\n"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ uint32_t pack2(unsigned short lo, unsigned short hi) {
    return (uint32_t)lo | ((uint32_t)hi << 16);
}

// Offset of patch element k (channel, row, column) in the image.
__device__ __forceinline__ int patch_offset(int k) {
    const int c = k / 9;
    const int r = k - c * 9;
    const int kh = r / 3;
    const int kw = r - kh * 3;
    return c * (IH * IW) + kh * IW + kw;
}

__global__ void __launch_bounds__(THREADS, 1)
conv3x3_gelu_mean_kernel(const unsigned short* __restrict__ input, const unsigned short* __restrict__ weight,
                         const half* __restrict__ bias, half* __restrict__ output)
{
    __shared__ __align__(16) unsigned short img[IC * IH * IW];
    __shared__ float red[WARPS][OC + 1];

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const int g = lane >> 2;
    const int t = lane & 3;

    if (tid < IMG_VECS) {
        reinterpret_cast<uint4*>(img)[tid] =
            __ldg(reinterpret_cast<const uint4*>(input + (size_t)blockIdx.x * (IC * IH * IW)) + tid);
    }

    // Weights: A[oc][k], rows g and g + 8; k = 16 s + 2 t + {0, 1} and + {8, 9}; zero from k = 27 on.
    uint32_t a[2][4];
#pragma unroll
    for (int s = 0; s < 2; ++s) {
#pragma unroll
        for (int r = 0; r < 4; ++r) {
            const int oc = g + (r & 1) * 8;
            const int k = s * 16 + 2 * t + (r >> 1) * 8;
            const unsigned short w0 = (k < KTOT) ? __ldg(weight + oc * KTOT + k) : (unsigned short)0;
            const unsigned short w1 = (k + 1 < KTOT) ? __ldg(weight + oc * KTOT + k + 1) : (unsigned short)0;
            a[s][r] = pack2(w0, w1);
        }
    }
    const float bias_lo = __half2float(bias[g]);
    const float bias_hi = __half2float(bias[g + 8]);

    // Patch offsets of this thread's k: [s][h] for k = 16 s + 8 h + 2 t + {0, 1}.
    int off[2][2][2];
#pragma unroll
    for (int s = 0; s < 2; ++s) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                const int k = s * 16 + h * 8 + 2 * t + e;
                off[s][h][e] = (k < KTOT) ? patch_offset(k) : 0;
            }
        }
    }
    // Only k = 24 + 2 t + {0, 1} can lie beyond the patch.
    const uint32_t last_mask = (t == 0) ? 0xffffffffu : ((t == 1) ? 0x0000ffffu : 0u);

    __syncthreads();

    float sum_lo = 0.0f;   // channel g
    float sum_hi = 0.0f;   // channel g + 8

#pragma unroll
    for (int it = 0; it < 2; ++it) {
        const int group = warp + it * WARPS;
        if (group < GROUPS) {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int base = group * 16 + j * 8;
                float c[4];
                c[0] = bias_lo;
                c[1] = bias_lo;
                c[2] = bias_hi;
                c[3] = bias_hi;

                int p = base + g;   // the pixel of column g
                p = p < PIX ? p : PIX - 1;
                const int oh = p / OWF;
                const unsigned short* q = img + oh * IW + (p - oh * OWF);
#pragma unroll
                for (int s = 0; s < 2; ++s) {
                    const uint32_t b0 = pack2(q[off[s][0][0]], q[off[s][0][1]]);
                    uint32_t b1 = pack2(q[off[s][1][0]], q[off[s][1][1]]);
                    if (s == 1) b1 &= last_mask;
                    mma_m16n8k16(c, a[s], b0, b1);
                }

                if (base + 2 * t < PIX) {   // columns 2t, 2t + 1: both inside or both outside
                    sum_lo += gelu(c[0]) + gelu(c[1]);
                    sum_hi += gelu(c[2]) + gelu(c[3]);
                }
            }
        }
    }

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
                      height == IH && width == IW && (((uintptr_t)input) & 15) == 0;
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
