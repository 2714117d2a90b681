#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace {

constexpr int OH_PER_BLOCK = 32;
constexpr int ROW_VECS = 8;   // 64 halves in a row

__device__ __forceinline__ void set8(float (&s)[8], const uint4& q) {
    const __half2* h = reinterpret_cast<const __half2*>(&q);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 f = __half22float2(h[i]);
        s[2 * i] = f.x;
        s[2 * i + 1] = f.y;
    }
}

__device__ __forceinline__ void add8(float (&s)[8], const uint4& q) {
    const __half2* h = reinterpret_cast<const __half2*>(&q);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const float2 f = __half22float2(h[i]);
        s[2 * i] += f.x;
        s[2 * i + 1] += f.y;
    }
}

// Window 3, stride 2, padding 1, W = 64, D = 2 OD, H = 2 OH, OH % 32 == 0.
// A block makes output planes od0 .. od0 + chunk - 1 (as far as there are any).
__global__ void __launch_bounds__(256, 4)
avgpool3d_k3s2p1_w64_kernel(const uint4* __restrict__ input, uint2* __restrict__ output,
                            int D, int H, int OD, int OH, int chunk)
{
    const int lw = threadIdx.x & 7;                                    // piece of the row
    const int oh = blockIdx.y * OH_PER_BLOCK + (threadIdx.x >> 3);
    const int od0 = blockIdx.x * chunk;
    const int steps = (OD - od0 < chunk) ? OD - od0 : chunk;
    const size_t nc = blockIdx.z;
    const size_t plane = (size_t)H * ROW_VECS;
    const bool has_top = oh > 0;

    // Row 2*oh of plane 2*od0.
    const uint4* p = input + (nc * (size_t)D + (size_t)(2 * od0)) * plane + (size_t)(2 * oh) * ROW_VECS + lw;
    uint2* o = output + ((nc * (size_t)OD + od0) * (size_t)OH + oh) * (size_t)ROW_VECS + lw;

    const uint4 zero = make_uint4(0u, 0u, 0u, 0u);

    float prev[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) prev[j] = 0.f;
    if (od0 > 0) {
        const uint4* q = p - plane;
        const uint4 a0 = has_top ? __ldg(q - ROW_VECS) : zero;
        const uint4 a1 = __ldg(q);
        const uint4 a2 = __ldg(q + ROW_VECS);
        set8(prev, a0);
        add8(prev, a1);
        add8(prev, a2);
    }

#pragma unroll 2
    for (int i = 0; i < steps; ++i) {
        const uint4* q = p + plane;
        const uint4 a0 = has_top ? __ldg(p - ROW_VECS) : zero;
        const uint4 a1 = __ldg(p);
        const uint4 a2 = __ldg(p + ROW_VECS);
        const uint4 b0 = has_top ? __ldg(q - ROW_VECS) : zero;
        const uint4 b1 = __ldg(q);
        const uint4 b2 = __ldg(q + ROW_VECS);

        float cur[8];
        set8(cur, b0);
        add8(cur, b1);
        add8(cur, b2);
        add8(prev, a0);
        add8(prev, a1);
        add8(prev, a2);
#pragma unroll
        for (int j = 0; j < 8; ++j) prev[j] += cur[j];

        float left = __shfl_up_sync(0xffffffffu, prev[7], 1, 8);
        if (lw == 0) left = 0.f;

        const float inv = 1.0f / 27.0f;
        const float r0 = (left + prev[0] + prev[1]) * inv;
        const float r1 = (prev[1] + prev[2] + prev[3]) * inv;
        const float r2 = (prev[3] + prev[4] + prev[5]) * inv;
        const float r3 = (prev[5] + prev[6] + prev[7]) * inv;

        uint2 v;
        __half2* vh = reinterpret_cast<__half2*>(&v);
        vh[0] = __floats2half2_rn(r0, r1);
        vh[1] = __floats2half2_rn(r2, r3);
        *o = v;

#pragma unroll
        for (int j = 0; j < 8; ++j) prev[j] = cur[j];
        p += 2 * plane;
        o += (size_t)OH * ROW_VECS;
    }
}

// Any shape, count_include_pad = true.
__global__ void __launch_bounds__(256)
avgpool3d_any_kernel(const half* __restrict__ input, half* __restrict__ output, long long total,
                     int D, int H, int W, int K, int S, int P, int OD, int OH, int OW)
{
    const long long tid = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (tid >= total) return;

    const int ow = (int)(tid % OW);
    long long t = tid / OW;
    const int oh = (int)(t % OH);
    t /= OH;
    const int od = (int)(t % OD);
    const long long nc = t / OD;

    const int ds = od * S - P, hs = oh * S - P, ws = ow * S - P;
    const int d0 = ds < 0 ? 0 : ds, h0 = hs < 0 ? 0 : hs, w0 = ws < 0 ? 0 : ws;
    const int d1 = ds + K > D ? D : ds + K;
    const int h1 = hs + K > H ? H : hs + K;
    const int w1 = ws + K > W ? W : ws + K;

    float acc = 0.0f;
    for (int d = d0; d < d1; ++d) {
        for (int h = h0; h < h1; ++h) {
            const half* row = input + ((nc * D + d) * (long long)H + h) * (long long)W;
            for (int w = w0; w < w1; ++w) acc += __half2float(row[w]);
        }
    }
    output[tid] = __float2half(acc / ((float)K * (float)K * (float)K));
}

}  // namespace

void launch_gpu_implementation(
    void* output,
    void* input,
    int batch_size,
    int channels,
    int depth,
    int height,
    int width,
    int kernel_size,
    int stride,
    int padding
) {
    const int OD = (depth  + 2 * padding - kernel_size) / stride + 1;
    const int OH = (height + 2 * padding - kernel_size) / stride + 1;
    const int OW = (width  + 2 * padding - kernel_size) / stride + 1;
    const long long nc = (long long)batch_size * channels;
    const long long total = nc * OD * OH * OW;
    if (total <= 0) return;

    const bool fast = kernel_size == 3 && stride == 2 && padding == 1 && width == 64 &&
                      depth % 2 == 0 && height % 2 == 0 &&
                      OH % OH_PER_BLOCK == 0 &&
                      nc <= 65535 && OH / OH_PER_BLOCK <= 65535 &&
                      (((uintptr_t)input) & 15) == 0 && (((uintptr_t)output) & 7) == 0;
    if (fast) {
        // The whole depth in one block where that gives enough blocks, else parts of it.
        const long long columns = nc * (OH / OH_PER_BLOCK);
        int chunk = OD;
        while (chunk > 4 && columns * ((OD + chunk - 1) / chunk) < 3 * 132) chunk = (chunk + 1) / 2;
        dim3 grid((unsigned)((OD + chunk - 1) / chunk), (unsigned)(OH / OH_PER_BLOCK), (unsigned)nc);
        avgpool3d_k3s2p1_w64_kernel<<<grid, 256>>>(
            static_cast<const uint4*>(input), static_cast<uint2*>(output), depth, height, OD, OH, chunk);
    } else {
        const int threads = 256;
        const long long blocks = (total + threads - 1) / threads;
        avgpool3d_any_kernel<<<(unsigned)blocks, threads>>>(
            static_cast<const half*>(input), static_cast<half*>(output), total,
            depth, height, width, kernel_size, stride, padding, OD, OH, OW);
    }
}
