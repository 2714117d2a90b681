#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <stdint.h>

__device__ __forceinline__ float hardswish_f(float x) {
    return x * fminf(fmaxf(x + 3.0f, 0.0f), 6.0f) * (1.0f / 6.0f);
}

// x * tanh(log(1 + e^x)) = x * w / (w + 2) with w = e^x (e^x + 2)
__device__ __forceinline__ float mish_f(float x) {
    if (x > 20.0f) return x;
    const float e = __expf(x);
    const float w = e * (e + 2.0f);
    return x * __fdividef(w, w + 2.0f);
}

constexpr int CO = 8;          // output channels a thread
constexpr int WPAD = 28;       // 27 weights a channel, padded to 7 float4

// 3 input channels, kernel 3x3, pooling 2x2, even width, out_channels a multiple of CO.
// grid: (out_channels / CO, batch); a thread takes pooled positions.
__global__ void __launch_bounds__(256, 2)
fused_conv3_kernel(const half* __restrict__ input, const half* __restrict__ weight,
                   const half* __restrict__ bias, half* __restrict__ output,
                   float subtract_value, int out_channels, int height, int width,
                   int HP, int WP)
{
    __shared__ __align__(16) float ws[CO * WPAD];
    __shared__ float bs[CO];

    const int t = threadIdx.x;
    const int c0 = blockIdx.x * CO;
    const int n = blockIdx.y;

    if (t < CO * 27) {
        const int co = t / 27;
        const int k = t - co * 27;
        ws[co * WPAD + k] = __half2float(weight[(size_t)c0 * 27 + t]);
    } else if (t < CO * 27 + CO) {
        const int co = t - CO * 27;
        ws[co * WPAD + 27] = 0.0f;
        bs[co] = __half2float(bias[c0 + co]) - subtract_value;
    }

    const half* in = input + (size_t)n * 3 * height * width;
    half* out = output + ((size_t)n * out_channels + c0) * HP * WP;
    const int positions = HP * WP;
    bool first = true;

    for (int p0 = 0; p0 < positions; p0 += 256) {
        const int p = p0 + t;
        const bool ok = p < positions;
        const int py = ok ? p / WP : 0;
        const int px = ok ? p - py * WP : 0;

        float x[3][4][4];
#pragma unroll
        for (int c = 0; c < 3; ++c) {
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                const half2* row = reinterpret_cast<const half2*>(
                    in + ((size_t)c * height + 2 * py + r) * width + 2 * px);
                const float2 a = __half22float2(row[0]);
                const float2 b = __half22float2(row[1]);
                x[c][r][0] = a.x;
                x[c][r][1] = a.y;
                x[c][r][2] = b.x;
                x[c][r][3] = b.y;
            }
        }
        if (first) {
            __syncthreads();
            first = false;
        }

#pragma unroll 2
        for (int co = 0; co < CO; ++co) {
            float w[WPAD];
#pragma unroll
            for (int i = 0; i < 7; ++i) {
                const float4 v = reinterpret_cast<const float4*>(ws + co * WPAD)[i];
                w[i * 4 + 0] = v.x;
                w[i * 4 + 1] = v.y;
                w[i * 4 + 2] = v.z;
                w[i * 4 + 3] = v.w;
            }
            const float b = bs[co];
            float a00 = b, a01 = b, a10 = b, a11 = b;
#pragma unroll
            for (int c = 0; c < 3; ++c)
#pragma unroll
                for (int kh = 0; kh < 3; ++kh)
#pragma unroll
                    for (int kw = 0; kw < 3; ++kw) {
                        const float wv = w[(c * 3 + kh) * 3 + kw];
                        a00 = fmaf(x[c][kh][kw], wv, a00);
                        a01 = fmaf(x[c][kh][kw + 1], wv, a01);
                        a10 = fmaf(x[c][kh + 1][kw], wv, a10);
                        a11 = fmaf(x[c][kh + 1][kw + 1], wv, a11);
                    }
            const float m = fmaxf(fmaxf(hardswish_f(a00), hardswish_f(a01)),
                                  fmaxf(hardswish_f(a10), hardswish_f(a11)));
            if (ok) out[(size_t)co * positions + p] = __float2half_rn(mish_f(m));
        }
    }
}

// Any sizes: one thread a pooled output.
__global__ void __launch_bounds__(256)
fused_generic_kernel(const half* __restrict__ input, const half* __restrict__ weight,
                     const half* __restrict__ bias, half* __restrict__ output,
                     float subtract_value, int in_channels, int out_channels,
                     int height, int width, int kernel_size, int pool,
                     int HP, int WP, long long total)
{
    const long long tid = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= total) return;
    long long r = tid;
    const int px = (int)(r % WP); r /= WP;
    const int py = (int)(r % HP); r /= HP;
    const int co = (int)(r % out_channels); r /= out_channels;
    const size_t n = (size_t)r;

    const float b = __half2float(bias[co]) - subtract_value;
    float m = -INFINITY;
    for (int i = 0; i < pool; ++i) {
        for (int j = 0; j < pool; ++j) {
            const int y = py * pool + i;
            const int x = px * pool + j;
            float acc = b;
            for (int c = 0; c < in_channels; ++c)
                for (int kh = 0; kh < kernel_size; ++kh)
                    for (int kw = 0; kw < kernel_size; ++kw)
                        acc += __half2float(input[((n * in_channels + c) * height + y + kh) * width + x + kw]) *
                               __half2float(weight[(((size_t)co * in_channels + c) * kernel_size + kh) * kernel_size + kw]);
            m = fmaxf(m, hardswish_f(acc));
        }
    }
    output[tid] = __float2half_rn(mish_f(m));
}

void launch_gpu_implementation(void* output, void* input,
                              void* conv_weight, void* conv_bias,
                              int64_t in_channels, int64_t out_channels,
                              int64_t kernel_size, float subtract_value,
                              int64_t pool_kernel_size,
                              int64_t batch_size, int64_t height, int64_t width) {
    const int HP = (int)((height - kernel_size + 1) / pool_kernel_size);
    const int WP = (int)((width - kernel_size + 1) / pool_kernel_size);
    const half* x = static_cast<const half*>(input);
    const half* w = static_cast<const half*>(conv_weight);
    const half* b = static_cast<const half*>(conv_bias);
    half* o = static_cast<half*>(output);

    if (in_channels == 3 && kernel_size == 3 && pool_kernel_size == 2 &&
        out_channels % CO == 0 && width % 2 == 0 && batch_size <= 65535) {
        dim3 grid((unsigned)(out_channels / CO), (unsigned)batch_size);
        fused_conv3_kernel<<<grid, 256>>>(x, w, b, o, subtract_value, (int)out_channels,
                                          (int)height, (int)width, HP, WP);
    } else {
        const long long total = (long long)batch_size * out_channels * HP * WP;
        const long long blocks = (total + 255) / 256;
        fused_generic_kernel<<<(unsigned)blocks, 256>>>(x, w, b, o, subtract_value,
                                                        (int)in_channels, (int)out_channels,
                                                        (int)height, (int)width, (int)kernel_size,
                                                        (int)pool_kernel_size, HP, WP, total);
    }
}
