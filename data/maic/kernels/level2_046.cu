#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace {

constexpr int kBatch = 128;
constexpr int kIC = 3;
constexpr int kOC = 16;
constexpr int kH = 32;
constexpr int kW = 32;
constexpr int kPW = 15;                       // pooled width and height
constexpr int kPooled = kPW * kPW;            // 225
constexpr int kTiles = (kPooled + 7) / 8;     // 29 groups of 8 pooled pixels
constexpr int kThreads = 512;                 // 16 warps, up to two groups each

__device__ __forceinline__ float fast_tanh(float x) {
    float y;
    asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ void mma16816(float (&d)[4], const uint4& a, unsigned int b0, unsigned int b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(kThreads, 1)
fused_pool2_kernel(const __half* __restrict__ input, const __half* __restrict__ weight,
                   const __half* __restrict__ bias, __half* __restrict__ output,
                   float subtract1, float subtract2) {
    __shared__ uint4 frag[12 * 32];                                   // [input channel][m-tile][lane]
    __shared__ __align__(16) unsigned short staged[kOC * kPooled];    // 3600 halves

    const int n = blockIdx.x;
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int g = lane >> 2;
    const int t = lane & 3;

    // B fragments: k = 4 * (row of the patch) + column of the patch, n = pooled pixel.
    unsigned int b[2][kIC][2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        int p = (warp + 16 * i) * 8 + g;
        if (p > kPooled - 1) p = kPooled - 1;
        const int ph = p / kPW;
        const int pw = p - ph * kPW;
        const __half* src = input + ((n * kIC) * kH + 2 * ph + (t >> 1)) * kW + 2 * pw + (t & 1) * 2;
#pragma unroll
        for (int ic = 0; ic < kIC; ++ic) {
            b[i][ic][0] = __ldg(reinterpret_cast<const unsigned int*>(src + ic * kH * kW));
            b[i][ic][1] = __ldg(reinterpret_cast<const unsigned int*>(src + ic * kH * kW + 2 * kW));
        }
    }
    const float bias_lo = __half2float(bias[g]) - subtract1;
    const float bias_hi = __half2float(bias[g + 8]) - subtract1;

    // A fragments: m-tile (dy, dx) is the 3x3 kernel placed at (dy, dx) of the 4x4 patch.
    unsigned int* frag_words = reinterpret_cast<unsigned int*>(frag);
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        const int q = threadIdx.x + i * kThreads;        // 0 .. 1535
        const int reg = q & 3;
        const int ql = (q >> 2) & 31;
        const int f = q >> 7;
        const int ic = f >> 2;
        const int dy = (f >> 1) & 1;
        const int dx = f & 1;
        const int oc = (ql >> 2) + (reg & 1) * 8;
        const int k = (ql & 3) * 2 + (reg >> 1) * 8;
        const int kh = (k >> 2) - dy;
        const int kw = (k & 3) - dx;
        const unsigned short* w = reinterpret_cast<const unsigned short*>(weight) + (oc * kIC + ic) * 9 + kh * 3;
        const bool row_ok = kh >= 0 && kh < 3;
        unsigned int lo = 0u, hi = 0u;
        if (row_ok && kw >= 0 && kw < 3) lo = w[kw];
        if (row_ok && kw + 1 >= 0 && kw + 1 < 3) hi = w[kw + 1];
        frag_words[q] = lo | (hi << 16);
    }
    __syncthreads();

#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int tile = warp + 16 * i;
        if (tile < kTiles) {
            float acc[4][4];
#pragma unroll
            for (int mt = 0; mt < 4; ++mt) {
                acc[mt][0] = bias_lo;
                acc[mt][1] = bias_lo;
                acc[mt][2] = bias_hi;
                acc[mt][3] = bias_hi;
            }
#pragma unroll
            for (int ic = 0; ic < kIC; ++ic) {
#pragma unroll
                for (int mt = 0; mt < 4; ++mt) {
                    const uint4 a = frag[(ic * 4 + mt) * 32 + lane];
                    mma16816(acc[mt], a, b[i][ic][0], b[i][ic][1]);
                }
            }
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                float sum = 0.0f;
#pragma unroll
                for (int mt = 0; mt < 4; ++mt) sum += fast_tanh(acc[mt][e]);
                const int p = tile * 8 + t * 2 + (e & 1);
                const int oc = g + (e >> 1) * 8;
                if (p < kPooled)
                    staged[oc * kPooled + p] = __half_as_ushort(__float2half_rn(fmaf(sum, 0.25f, -subtract2)));
            }
        }
    }
    __syncthreads();

    // One image of the output is contiguous: 3600 halves, 450 vectors.
    uint4* dst = reinterpret_cast<uint4*>(output + (size_t)n * (kOC * kPooled));
    if (threadIdx.x < kOC * kPooled / 8)
        dst[threadIdx.x] = reinterpret_cast<const uint4*>(staged)[threadIdx.x];
}

// Any pool size.
__global__ void fused_general_kernel(const __half* __restrict__ input, const __half* __restrict__ weight,
                                     const __half* __restrict__ bias, __half* __restrict__ output,
                                     float subtract1, float subtract2, int pool) {
    const int pooled_h = (kH - 2) / pool;
    const int pooled_w = (kW - 2) / pool;
    const int total = kBatch * kOC * pooled_h * pooled_w;
    const int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= total) return;
    int rest = tid;
    const int pw = rest % pooled_w; rest /= pooled_w;
    const int ph = rest % pooled_h; rest /= pooled_h;
    const int c = rest % kOC;
    const int n = rest / kOC;
    const float start = __half2float(bias[c]) - subtract1;
    float sum = 0.0f;
    for (int h = ph * pool; h < (ph + 1) * pool; ++h) {
        for (int w = pw * pool; w < (pw + 1) * pool; ++w) {
            float acc = start;
            for (int ic = 0; ic < kIC; ++ic)
                for (int kh = 0; kh < 3; ++kh)
                    for (int kw = 0; kw < 3; ++kw)
                        acc += __half2float(input[((n * kIC + ic) * kH + h + kh) * kW + w + kw])
                             * __half2float(weight[((c * kIC + ic) * 3 + kh) * 3 + kw]);
            sum += tanhf(acc) - subtract2;
        }
    }
    output[tid] = __float2half_rn(sum / (float)(pool * pool));
}

}  // namespace

void launch_gpu_implementation(void* output, void* input, void* conv_weight, void* conv_bias,
                              float subtract1_value, float subtract2_value, int kernel_size_pool) {
    const __half* in = static_cast<const __half*>(input);
    const __half* w = static_cast<const __half*>(conv_weight);
    const __half* b = static_cast<const __half*>(conv_bias);
    __half* out = static_cast<__half*>(output);

    const bool aligned = (reinterpret_cast<uintptr_t>(output) & 15) == 0 &&
                         (reinterpret_cast<uintptr_t>(input) & 3) == 0;
    if (kernel_size_pool == 2 && aligned) {
        fused_pool2_kernel<<<kBatch, kThreads>>>(in, w, b, out, subtract1_value, subtract2_value);
    } else {
        if (kernel_size_pool <= 0 || kernel_size_pool > kH - 2) return;
        const int side = (kH - 2) / kernel_size_pool;
        const int total = kBatch * kOC * side * side;
        fused_general_kernel<<<(total + 255) / 256, 256>>>(in, w, b, out, subtract1_value, subtract2_value,
                                                          kernel_size_pool);
    }
}
