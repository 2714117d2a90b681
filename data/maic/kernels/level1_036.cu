#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

__device__ __forceinline__ float half_low(unsigned int w) {
    return __half2float(__ushort_as_half((unsigned short)(w & 0xffffu)));
}
__device__ __forceinline__ float half_high(unsigned int w) {
    return __half2float(__ushort_as_half((unsigned short)(w >> 16)));
}

// 64 features, 256 neighbouring positions a block. Lane i touches bytes 16*i .. 16*i + 15 of a
// feature's row: each access of a warp is 512 contiguous bytes. Warp w has features 8*w .. 8*w + 7.
__global__ void __launch_bounds__(256, 4)
rmsnorm_forward_fp16_rows64(
    half* __restrict__ output,            // [B, 64, S]
    const half* __restrict__ input,       // [B, 64, S]
    long long spatial,
    int tiles_per_sample,                 // spatial / 256
    float eps,
    unsigned int zero                     // 0, which no compiler pass can know
) {
    __shared__ float4 part[8][2][32];     // [warp][half of 8 positions][lane]
    __shared__ float4 inv4[2][32];
    __shared__ unsigned int hide_word;

    if (threadIdx.x == 0) hide_word = zero;   // read behind the barriers

    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int b = blockIdx.x / tiles_per_sample;
    const int tile = blockIdx.x - b * tiles_per_sample;

    const long long base = ((long long)b * 64 + warp * 8) * spatial
                         + (long long)tile * 256 + lane * 8;

    uint4 v[8];
    {
        const half* p = input + base;
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v[i].x), "=r"(v[i].y), "=r"(v[i].z), "=r"(v[i].w) : "l"(p));
            p += spatial;
        }
    }

    float s[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) s[j] = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const unsigned int w[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float lo = half_low(w[j]);
            const float hi = half_high(w[j]);
            s[2 * j]     = fmaf(lo, lo, s[2 * j]);
            s[2 * j + 1] = fmaf(hi, hi, s[2 * j + 1]);
        }
    }

    // The features of a position now lie in the eight warps: their sums meet in shared memory.
    // Slot of position p = 8*lane + j: part[warp][j >> 2][lane], component j & 3. Thread t adds
    // up one slot of every warp, whichever position it is, and puts the factor into the same
    // slot of inv4.
    part[warp][0][lane] = make_float4(s[0], s[1], s[2], s[3]);
    part[warp][1][lane] = make_float4(s[4], s[5], s[6], s[7]);
    __syncthreads();
    {
        const float* p = reinterpret_cast<const float*>(part);
        float sum = 0.0f;
#pragma unroll
        for (int w = 0; w < 8; ++w) sum += p[w * 256 + threadIdx.x];
        reinterpret_cast<float*>(inv4)[threadIdx.x] = rsqrtf(sum * (1.0f / 64.0f) + eps);
    }
    __syncthreads();
    const float4 ia = inv4[0][lane];
    const float4 ib = inv4[1][lane];
    const float inv[8] = {ia.x, ia.y, ia.z, ia.w, ib.x, ib.y, ib.z, ib.w};

    const unsigned int hide = *reinterpret_cast<volatile unsigned int*>(&hide_word);

    half* q = output + base;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        // Convert again instead of keeping 64 floats alive from the first pass (spills): hide is
        // zero, but not even the assembler can tell, so these words count as new ones.
        asm volatile("xor.b32 %0, %0, %4;\n\t"
                     "xor.b32 %1, %1, %4;\n\t"
                     "xor.b32 %2, %2, %4;\n\t"
                     "xor.b32 %3, %3, %4;"
                     : "+r"(v[i].x), "+r"(v[i].y), "+r"(v[i].z), "+r"(v[i].w) : "r"(hide));
        const unsigned int w[4] = {v[i].x, v[i].y, v[i].z, v[i].w};
        unsigned int r[4];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float lo = half_low(w[j]) * inv[2 * j];
            const float hi = half_high(w[j]) * inv[2 * j + 1];
            r[j] = (unsigned int)__half_as_ushort(__float2half_rn(lo))
                 | ((unsigned int)__half_as_ushort(__float2half_rn(hi)) << 16);
        }
        // One 16-byte store a lane, which the compiler cannot split.
        asm volatile("st.global.cs.v4.u32 [%0], {%1,%2,%3,%4};"
                     :: "l"(q), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
        q += spatial;
    }
}

// Any sizes: one warp a position.
__global__ void rmsnorm_forward_fp16_shuffle(
    half* __restrict__ output,
    const half* __restrict__ input,
    long long samples, long long features, long long spatial,
    float eps
) {
    const int lane = threadIdx.x & 31;
    const long long pos = (long long)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (pos >= samples * spatial) return;   // the whole warp leaves
    const long long b = pos / spatial;
    const long long base = b * features * spatial + (pos - b * spatial);

    float sum = 0.0f;
    for (long long f = lane; f < features; f += 32) {
        const float x = __half2float(input[base + f * spatial]);
        sum = fmaf(x, x, sum);
    }
#pragma unroll
    for (int m = 16; m > 0; m >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, m);
    const float rms = sqrtf(sum / (float)features + eps);
    for (long long f = lane; f < features; f += 32)
        output[base + f * spatial] = __float2half_rn(__half2float(input[base + f * spatial]) / rms);
}

// Host launch function for RMSNorm (fp16 I/O, fp32 accum)
void launch_gpu_implementation(
    void* output,                   // Output tensor pointer (float16 on CUDA)
    void* input,                    // Input tensor pointer (float16 on CUDA)
    int64_t batch_size,             // Number of batches
    int64_t num_features,           // Number of features (channels)
    int64_t dim1,                   // First spatial dimension
    int64_t dim2,                   // Second spatial dimension
    float eps                       // Epsilon for numerical stability
) {
    const long long spatial = (long long)dim1 * (long long)dim2;
    if (batch_size <= 0 || num_features <= 0 || spatial <= 0) return;

    const bool aligned = ((reinterpret_cast<uintptr_t>(output) | reinterpret_cast<uintptr_t>(input)) & 15) == 0;
    const long long tiles = spatial / 256;
    if (aligned && num_features == 64 && spatial % 256 == 0 && tiles * batch_size < 2147483647LL) {
        rmsnorm_forward_fp16_rows64<<<(unsigned int)(tiles * batch_size), 256>>>(
            static_cast<half*>(output), static_cast<const half*>(input),
            spatial, (int)tiles, eps, 0u);
    } else {
        const long long total = spatial * batch_size;
        rmsnorm_forward_fp16_shuffle<<<(unsigned int)((total + 7) / 8), 256>>>(
            static_cast<half*>(output), static_cast<const half*>(input),
            batch_size, num_features, spatial, eps);
    }
}
