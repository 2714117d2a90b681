#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <cstddef>

// Grouped, strided, padded, dilated transposed convolution, gather form:
//   out[n, oc, oh, ow] = bias[oc] + sum_{ic, kh, kw} in[n, ic, ih, iw] * w[ic, oc, kh, kw]
//   with ih*sh = oh + ph - kh*dh and iw*sw = ow + pw - kw*dw (both must divide).
// One thread owns one (oh, ow) and OCT output channels of one group; a block walks over
// ROWS output rows, so that the weights in shared memory are loaded once for all of them.

constexpr int THREADS = 256;
constexpr int OCT  = 16;       // output channels per thread
constexpr int WPAD = 20;       // floats per (ic, tap) in shared memory (16 + padding)
constexpr int ROWS = 16;       // output rows per block

struct Params {
    int C, OC, IH, IW, OH, OW, KH, KW, sh, sw, ph, pw, dh, dw;
    int groups, icg, ocg, octiles;
    int icc;        // input channels per shared-memory chunk
    int kwstep;     // distance between two kw that fit the same output column
};

__global__ void __launch_bounds__(THREADS)
convt2d_kernel(__half* __restrict__ out, const __half* __restrict__ in,
               const __half* __restrict__ w, const __half* __restrict__ bias, Params P)
{
    extern __shared__ __align__(16) float ws[];   // [icc][KH*KW][WPAD]

    const int t = threadIdx.x;
    const int ow = blockIdx.x * THREADS + t;
    const int row0 = blockIdx.y * ROWS;
    int z = blockIdx.z;
    const int octile = z % P.octiles;
    z /= P.octiles;
    const int g = z % P.groups;
    const int n = z / P.groups;

    const int oc0 = octile * OCT;                 // inside the group
    const int nOc = min(OCT, P.ocg - oc0);
    const int taps = P.KH * P.KW;
    const int rowEnd = min(P.OH, row0 + ROWS);
    const bool owOk = ow < P.OW;

    // First kernel column that meets this output column (KW if none does).
    int kw0 = P.KW;
    {
        const int lim = min(P.KW, P.kwstep);
        for (int k = 0; k < lim; ++k) {
            // C++ remainder is zero exactly for multiples, for negative values too.
            if ((ow + P.pw - k * P.dw) % P.sw == 0) { kw0 = k; break; }
        }
        if (!owOk) kw0 = P.KW;
    }

    const size_t inPlane = (size_t)P.IH * P.IW;
    const size_t outPlane = (size_t)P.OH * P.OW;
    const __half* inG = in + ((size_t)n * P.C + (size_t)g * P.icg) * inPlane;
    __half* outG = out + ((size_t)n * P.OC + (size_t)g * P.ocg + oc0) * outPlane;

    const bool single = (P.icc >= P.icg);

    auto load_weights = [&](int c0, int nc) {
        // Walk in the weights' own order: for each ic, (oc, tap) is contiguous.
        const int per = nOc * taps;
        for (int i = t; i < nc * per; i += THREADS) {
            const int ic = i / per;
            const int rem = i - ic * per;
            const int o = rem / taps;
            const int tap = rem - o * taps;
            const size_t src = ((size_t)(g * P.icg + c0 + ic) * P.ocg + oc0 + o) * taps + tap;
            ws[(ic * taps + tap) * WPAD + o] = __half2float(w[src]);
        }
        // Unused channels of a last, partial tile.
        if (nOc < OCT) {
            const int miss = OCT - nOc;
            for (int i = t; i < nc * taps * miss; i += THREADS) {
                const int e = i / miss;
                ws[e * WPAD + nOc + (i - e * miss)] = 0.f;
            }
        }
    };

    if (single) {
        load_weights(0, P.icg);
        __syncthreads();
    }

    for (int oh = row0; oh < rowEnd; ++oh) {
        float acc[OCT];
#pragma unroll
        for (int o = 0; o < OCT; ++o) acc[o] = 0.f;

        for (int c0 = 0; c0 < P.icg; c0 += P.icc) {
            const int nc = min(P.icc, P.icg - c0);
            if (!single) {
                __syncthreads();
                load_weights(c0, nc);
                __syncthreads();
            }
            for (int kh = 0; kh < P.KH; ++kh) {
                const int th = oh + P.ph - kh * P.dh;
                if (th < 0 || th % P.sh != 0) continue;
                const int ih = th / P.sh;
                if (ih >= P.IH) continue;
                for (int kw = kw0; kw < P.KW; kw += P.kwstep) {
                    const int tw = ow + P.pw - kw * P.dw;
                    if (tw < 0) continue;
                    const int iw = tw / P.sw;
                    if (iw >= P.IW) continue;
                    const __half* ip = inG + (size_t)c0 * inPlane + (size_t)ih * P.IW + iw;
                    const float* wp = ws + (kh * P.KW + kw) * WPAD;
#pragma unroll 4
                    for (int ic = 0; ic < nc; ++ic) {
                        const float x = __half2float(__ldg(ip));
                        ip += inPlane;
                        const float4* w4 = reinterpret_cast<const float4*>(wp);
                        wp += taps * WPAD;
#pragma unroll
                        for (int q = 0; q < OCT / 4; ++q) {
                            const float4 v = w4[q];
                            acc[q * 4 + 0] += x * v.x;
                            acc[q * 4 + 1] += x * v.y;
                            acc[q * 4 + 2] += x * v.z;
                            acc[q * 4 + 3] += x * v.w;
                        }
                    }
                }
            }
        }

        if (owOk) {
            __half* op = outG + (size_t)oh * P.OW + ow;
#pragma unroll
            for (int o = 0; o < OCT; ++o) {
                if (o < nOc) {
                    float v = acc[o];
                    if (bias != nullptr) v += __half2float(bias[g * P.ocg + oc0 + o]);
                    op[(size_t)o * outPlane] = __float2half(v);
                }
            }
        }
    }
}

static int gcd_int(int a, int b) {
    while (b != 0) { const int r = a % b; a = b; b = r; }
    return a;
}

void launch_gpu_implementation(void* output, void* input, void* weight, void* bias, int batch_size, int in_channels, int out_channels, int input_height, int input_width, int kernel_height, int kernel_width, int stride_height, int stride_width, int padding_height, int padding_width, int dilation_height, int dilation_width, int groups)
{
    Params P;
    P.C = in_channels;
    P.OC = out_channels;
    P.IH = input_height;
    P.IW = input_width;
    P.KH = kernel_height;
    P.KW = kernel_width;
    P.sh = stride_height;
    P.sw = stride_width;
    P.ph = padding_height;
    P.pw = padding_width;
    P.dh = dilation_height;
    P.dw = dilation_width;
    P.OH = (input_height - 1) * stride_height - 2 * padding_height + dilation_height * (kernel_height - 1) + 1;
    P.OW = (input_width - 1) * stride_width - 2 * padding_width + dilation_width * (kernel_width - 1) + 1;
    P.groups = groups;
    P.icg = in_channels / groups;
    P.ocg = out_channels / groups;
    P.octiles = (P.ocg + OCT - 1) / OCT;
    P.kwstep = stride_width / gcd_int(stride_width, dilation_width);

    const int perChannel = kernel_height * kernel_width * WPAD * (int)sizeof(float);
    int icc = (48 * 1024) / perChannel;
    if (icc < 1) icc = 1;
    if (icc > P.icg) icc = P.icg;
    P.icc = icc;
    const int smem = icc * perChannel;
    if (smem > 48 * 1024)
        cudaFuncSetAttribute(convt2d_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, smem);

    dim3 grid((P.OW + THREADS - 1) / THREADS, (P.OH + ROWS - 1) / ROWS,
              batch_size * groups * P.octiles);
    convt2d_kernel<<<grid, THREADS, smem>>>(
        static_cast<__half*>(output), static_cast<const __half*>(input),
        static_cast<const __half*>(weight), static_cast<const __half*>(bias), P);
}
