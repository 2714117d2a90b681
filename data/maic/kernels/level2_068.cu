#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdint>

// 10 features in, 5 out; one output a thread. input and weight are aligned to 4 bytes.
__global__ void __launch_bounds__(128)
linear_min_sub_10x5_kernel(const __half2* __restrict__ input,   // [batch, 5] pairs
                           const __half2* __restrict__ weight,  // [5, 5] pairs
                           const half* __restrict__ bias,       // [5]
                           const half* __restrict__ constant,   // [1]
                           half* __restrict__ output,           // [batch, 5]
                           unsigned total) {
    const unsigned t = blockIdx.x * 128u + threadIdx.x;
    if (t >= total) return;
    const unsigned row = t / 5u;
    const unsigned col = t - row * 5u;
    const __half2* x = input + (size_t)row * 5u;
    const __half2* w = weight + col * 5u;

    __half2 xv[5], wv[5];
#pragma unroll
    for (int k = 0; k < 5; ++k) {
        xv[k] = x[k];
        wv[k] = w[k];
    }
    const half b = bias[col];
    const half c = constant[0];

    float s0 = __half2float(b);
    float s1 = 0.0f;
#pragma unroll
    for (int k = 0; k < 5; ++k) {
        const float2 p = __half22float2(xv[k]);
        const float2 q = __half22float2(wv[k]);
        s0 = fmaf(p.x, q.x, s0);
        s1 = fmaf(p.y, q.y, s1);
    }
    const half val = __float2half_rn(s0 + s1);
    output[t] = __hsub(__hmin_nan(val, c), c);
}

// Any size: weights and constants are read where they are needed.
__global__ void __launch_bounds__(256)
linear_min_sub_any_kernel(const half* __restrict__ input, const half* __restrict__ weight,
                          const half* __restrict__ bias, const half* __restrict__ constant,
                          half* __restrict__ output, int batch_size, int in_features, int out_features) {
    const long long total = (long long)batch_size * out_features;
    const half c = *constant;
    for (long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x; t < total;
         t += (long long)gridDim.x * blockDim.x) {
        const long long row = t / out_features;
        const int col = (int)(t - row * out_features);
        const half* x = input + row * in_features;
        const half* w = weight + (long long)col * in_features;
        float sum = 0.0f;
        for (int k = 0; k < in_features; ++k) sum += __half2float(x[k]) * __half2float(w[k]);
        sum += __half2float(bias[col]);
        const half val = __float2half_rn(sum);
        output[t] = __hsub(__hmin_nan(val, c), c);
    }
}

void launch_gpu_implementation(
    void* output,
    void* input,
    void* weight,
    void* bias,
    void* constant,
    int batch_size,
    int in_features,
    int out_features
) {
    if (batch_size <= 0 || out_features <= 0) return;
    const half* x = static_cast<const half*>(input);
    const half* w = static_cast<const half*>(weight);
    const half* b = static_cast<const half*>(bias);
    const half* c = static_cast<const half*>(constant);
    half* out = static_cast<half*>(output);
    const long long total = (long long)batch_size * out_features;
    const bool pairs = (((uintptr_t)input | (uintptr_t)weight) & 3) == 0;
    if (pairs && in_features == 10 && out_features == 5 && total <= 2000000000LL) {
        linear_min_sub_10x5_kernel<<<(unsigned)((total + 127) / 128), 128>>>(
            reinterpret_cast<const __half2*>(x), reinterpret_cast<const __half2*>(w), b, c, out, (unsigned)total);
    } else {
        const long long blocks = (total + 255) / 256;
        linear_min_sub_any_kernel<<<(unsigned)(blocks < 4096 ? blocks : 4096), 256>>>(
            x, w, b, c, out, batch_size, in_features, out_features);
    }
}
