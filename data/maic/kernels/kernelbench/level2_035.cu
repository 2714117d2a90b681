// conv3x3 (fp16, fp32 accumulation) - 0.5 -> hardswish -> maxpool 2x2 -> mish, one fused kernel.
// Implicit GEMM on wgmma: M = 128 output channels, N = 2 conv rows x 128 columns, K = 9 taps x 64 channels.
// Persistent blocks; all weights stay in shared memory, and the input rows form a ring of 4 rows. The products
// go conv row by conv row: while the tensor cores work on row c (input rows c..c+2), the same warps store input
// row c+3, prefetch row c+4 and do the epilogue of row c-1 from the other accumulator, piece by piece between
// the wgmma groups, so that the tensor cores idle only for one short barrier a row.
// Shared tiles are [channel/8][pixel or oc][8 channels]: the no-swizzle K-major wgmma layout, in which a
// shift by one pixel is a 16-byte shift of the start address.
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace {
constexpr int BATCH = 128, CI = 64, CO = 128, H = 128, W = 128;
constexpr int PH = 63, PW = 63;              // pooled size
constexpr float SUBTRACT = 0.5f;
constexpr int THREADS = 256;                 // two warpgroups, 64 output channels each
constexpr int CHUNKS = CI / 8;               // 16-byte channel groups
constexpr int STRIPS = BATCH * PH;           // one strip = one pooled row of one image

constexpr int W_BYTES = 9 * CHUNKS * CO * 16;        // 147456
constexpr int ROW_BYTES = CHUNKS * W * 16;           // 16384 per input row
constexpr int X_BYTES = 4 * ROW_BYTES + 128;         // the last shifted tile runs 2 pixels over
constexpr int STAGE_PITCH = 68;                      // halves per output channel
constexpr int STAGE_BYTES = CO * STAGE_PITCH * 2;
constexpr int SMEM_BYTES = W_BYTES + X_BYTES + STAGE_BYTES;
static_assert(SMEM_BYTES <= 232448, "shared memory");
static_assert(W == 128 && CO == 128, "tile shape");

// K-major, no swizzle: 8x16-byte core matrices; LBO steps along K, SBO along M/N.
__device__ __forceinline__ uint64_t make_desc(uint32_t smem_addr) {
    constexpr uint64_t LBO = 128 * 16, SBO = 8 * 16;
    return (uint64_t)((smem_addr & 0x3FFFF) >> 4) | ((LBO >> 4) << 16) | ((SBO >> 4) << 32);
}

__device__ __forceinline__ void wgmma_m64n128k16(float (&d)[64], uint64_t desc_a, uint64_t desc_b, int scale_d) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, "
        "%8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, "
        "%24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, "
        "%40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, "
        "%56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p, 1, 1, 0, 0;\n}\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]),
          "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
          "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
          "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
          "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]),
          "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
          "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "l"(desc_a), "l"(desc_b), "r"(scale_d));
}

// Keeps the compiler from moving uses of the accumulators across the wgmma fences and waits.
__device__ __forceinline__ void pin(float (&d)[64]) {
#pragma unroll
    for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(d[i]) :: "memory");
}

__device__ __forceinline__ uint32_t load_u32(const __half* p) {
    uint32_t v;
    asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}

// One input row of image n, all channels: each thread holds 2 units of 2 pixels x 8 channels.
__device__ __forceinline__ void load_row(uint32_t (&v)[2][8], const __half* __restrict__ x, int n, int row, int tid) {
#pragma unroll
    for (int q = 0; q < 2; ++q) {
        const int u = tid + q * THREADS;
        const int pp = u & 63, chunk = u >> 6;
        const __half* p = x + (((size_t)n * CI + chunk * 8) * H + row) * W + pp * 2;
#pragma unroll
        for (int j = 0; j < 8; ++j) v[q][j] = load_u32(p + (size_t)j * H * W);
    }
}

__device__ __forceinline__ void store_row(const uint32_t (&v)[2][8], char* xs, int row, int tid) {
    const int slot = row & 3;
#pragma unroll
    for (int q = 0; q < 2; ++q) {
        const int u = tid + q * THREADS;
        const int pp = u & 63, chunk = u >> 6;
        uint4* dst = reinterpret_cast<uint4*>(xs + slot * ROW_BYTES + (chunk * W + pp * 2) * 16);
        uint4 a, b;
        a.x = __byte_perm(v[q][0], v[q][1], 0x5410); b.x = __byte_perm(v[q][0], v[q][1], 0x7632);
        a.y = __byte_perm(v[q][2], v[q][3], 0x5410); b.y = __byte_perm(v[q][2], v[q][3], 0x7632);
        a.z = __byte_perm(v[q][4], v[q][5], 0x5410); b.z = __byte_perm(v[q][4], v[q][5], 0x7632);
        a.w = __byte_perm(v[q][6], v[q][7], 0x5410); b.w = __byte_perm(v[q][6], v[q][7], 0x7632);
        dst[0] = a;
        dst[1] = b;
    }
}

__device__ __forceinline__ float hardswish(float v) {
    return v * __saturatef(fmaf(v, 1.0f / 6.0f, 0.5f));
}

// hardswish(d + add), with add6 = add / 6 + 1 / 2: the saturated factor does not wait for the addition.
__device__ __forceinline__ float hardswish_bias(float d, float add, float add6) {
    return (d + add) * __saturatef(fmaf(d, 1.0f / 6.0f, add6));
}

// x * tanh(log(1 + e^x)) = x * t / (t + 2) = x - x / (t / 2 + 1), t = e^x (e^x + 2).
// Where e^x or its square overflows, the reciprocal is 0 and the result x. The argument is a maximum of
// hardswish values, at least -0.375, so that nothing cancels.
__device__ __forceinline__ float mish(float v) {
    float e, r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(v * 1.4426950408889634f));
    const float q = fmaf(e, fmaf(e, 0.5f, 1.0f), 1.0f);
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(q));
    return fmaf(-v, r, v);
}

// What stays the same for a thread.
struct Ctx {
    uint64_t desc_w, desc_x;
    const __half* x;
    __half* out;
    char* xs;
    __half* stage_w;       // stage at this thread's fragment position
    const __half* stage_r; // stage at this warp's first channel, this lane
    float add0, add1;
    float add60, add61;    // add / 6 + 1 / 2
    int tid, lane, warp;
};

// Upper conv row: hardswish and the maximum over column pairs, kept in registers.
__device__ __forceinline__ void upper_piece(const float (&d)[64], float (&m)[32], int i, const Ctx& k) {
    m[2 * i] = fmaxf(hardswish_bias(d[4 * i], k.add0, k.add60), hardswish_bias(d[4 * i + 1], k.add0, k.add60));
    m[2 * i + 1] = fmaxf(hardswish_bias(d[4 * i + 2], k.add1, k.add61), hardswish_bias(d[4 * i + 3], k.add1, k.add61));
}

// Lower conv row, bias already added: hardswish, the maximum with the upper row, mish, into the stage.
__device__ __forceinline__ void lower_piece(const float (&d)[64], const float (&m)[32], int i, const Ctx& k) {
    const float a = fmaxf(m[2 * i], fmaxf(hardswish(d[4 * i]), hardswish(d[4 * i + 1])));
    const float b = fmaxf(m[2 * i + 1], fmaxf(hardswish(d[4 * i + 2]), hardswish(d[4 * i + 3])));
    k.stage_w[4 * i] = __float2half_rn(mish(a));
    k.stage_w[8 * STAGE_PITCH + 4 * i] = __float2half_rn(mish(b));
}

// One channel's pooled row from the stage to memory; a warp writes only its own 16 channels.
__device__ __forceinline__ void write_piece(__half* dst, int c, bool ok, const Ctx& k) {
    const __half lo = k.stage_r[c * STAGE_PITCH], hi = k.stage_r[c * STAGE_PITCH + 32];
    __half* p = dst + (size_t)c * (PH * PW);
    if (ok) p[0] = lo;
    if (ok && k.lane + 32 < PW) p[32] = hi;
}

__device__ __forceinline__ __half* out_ptr(const Ctx& k, int n, int ph) {
    return k.out + (((size_t)n * CO + k.warp * 16) * PH + ph) * PW + k.lane;
}

// Issues the products of conv row c into cur; between their groups, row c+3 goes into the ring, row `next` is
// loaded into registers, and prev (conv row c-1) passes through its part of the epilogue.
template <bool LOWER>
__device__ __forceinline__ void conv_row(float (&cur)[64], float (&prev)[64], float (&low)[64], float (&m)[32], uint32_t (&pre)[2][8],
                                         int n, int c, int next, __half* dst, bool dst_ok, const Ctx& k) {
    uint64_t dx[3];
#pragma unroll
    for (int r = 0; r < 3; ++r) dx[r] = k.desc_x + (uint64_t)(((c + r) & 3) * (ROW_BYTES / 16));

    pin(cur);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
    for (int t = 0; t < 9; ++t) {
#pragma unroll
        for (int kk = 0; kk < CI / 16; ++kk)
            wgmma_m64n128k16(cur, k.desc_w + (uint64_t)((t * CHUNKS + kk * 2) * CO),
                             dx[t / 3] + (uint64_t)(kk * 2 * W + t % 3), (t | kk) != 0);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (t == 0) {
            // Both warpgroups were done with row c-1 at the last barrier: its input row is free.
            store_row(pre, k.xs, c + 3, k.tid);
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            load_row(pre, k.x, n, next, k.tid);
        } else {
#pragma unroll
            for (int j = 2 * t - 2; j < 2 * t; ++j) {
                if (LOWER) {
                    upper_piece(prev, m, j, k);
                    write_piece(dst, j, dst_ok, k);    // the strip before
                } else {
                    lower_piece(prev, m, j, k);
                }
            }
        }
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    pin(cur);
    if (LOWER) {
        // Out of the accumulators, so that what the next row's epilogue reads is no wgmma register.
#pragma unroll
        for (int i = 0; i < 16; ++i) {
            low[4 * i] = cur[4 * i] + k.add0;
            low[4 * i + 1] = cur[4 * i + 1] + k.add0;
            low[4 * i + 2] = cur[4 * i + 2] + k.add1;
            low[4 * i + 3] = cur[4 * i + 3] + k.add1;
        }
        pin(low);
    }
    __syncthreads();                       // row c is done, input row c+3 and the stage are visible
}

__global__ void __launch_bounds__(THREADS, 1)
conv_pool_kernel(__half* __restrict__ out, const __half* __restrict__ x,
                 const __half* __restrict__ weight, const __half* __restrict__ bias) {
    extern __shared__ __align__(128) char smem[];
    char* ws = smem;                       // [9][CHUNKS][CO][8]
    char* xs = smem + W_BYTES;             // [4 slots][CHUNKS][W][8]
    __half* stage = reinterpret_cast<__half*>(smem + W_BYTES + X_BYTES);   // [CO][STAGE_PITCH]

    const int tid = threadIdx.x;
    const int wg = tid >> 7, warp = tid >> 5, lane = tid & 31;
    const int g = lane >> 2, tig = lane & 3;

    const int s_begin = (int)((long long)STRIPS * blockIdx.x / gridDim.x);
    const int s_end = (int)((long long)STRIPS * (blockIdx.x + 1) / gridDim.x);
    if (s_begin >= s_end) return;

    // Weights [oc][c][tap] -> [tap][c/8][oc][c%8].
    {
        const uint4* w4 = reinterpret_cast<const uint4*>(weight);
        __half* wh = reinterpret_cast<__half*>(ws);
#pragma unroll 4
        for (int i = tid; i < CO * CI * 9 / 8; i += THREADS) {
            const uint4 q = __ldg(w4 + i);
            const uint32_t r[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const int e = i * 8 + j;
                const int tap = e % 9, cc = e / 9;
                const int c = cc % CI, oc = cc / CI;
                const unsigned short h = (unsigned short)(r[j >> 1] >> ((j & 1) * 16));
                wh[((tap * CHUNKS + (c >> 3)) * CO + oc) * 8 + (c & 7)] = __ushort_as_half(h);
            }
        }
        if (tid < 32) reinterpret_cast<uint32_t*>(xs + 4 * ROW_BYTES)[tid] = 0;
    }

    const int oc0 = warp * 16 + g;         // rows of this thread's fragment: oc0 and oc0 + 8
    const float add0 = __half2float(bias[oc0]) - SUBTRACT;
    const float add1 = __half2float(bias[oc0 + 8]) - SUBTRACT;

    Ctx k;
    k.desc_w = make_desc((uint32_t)__cvta_generic_to_shared(ws) + wg * 64 * 16);
    k.desc_x = make_desc((uint32_t)__cvta_generic_to_shared(xs));
    k.x = x;
    k.out = out;
    k.xs = xs;
    k.stage_w = stage + oc0 * STAGE_PITCH + tig;
    k.stage_r = stage + warp * 16 * STAGE_PITCH + lane;
    k.add0 = add0;
    k.add1 = add1;
    k.add60 = fmaf(add0, 1.0f / 6.0f, 0.5f);
    k.add61 = fmaf(add1, 1.0f / 6.0f, 0.5f);
    k.tid = tid;
    k.lane = lane;
    k.warp = warp;

    uint32_t pre[2][8];
    float acc0[64], acc1[64];              // conv rows 2*ph and 2*ph + 1
    float low[64];                         // row 2*ph + 1 of the strip before, with bias
    float m[32];
#pragma unroll
    for (int i = 0; i < 64; ++i) { acc0[i] = 0.0f; acc1[i] = 0.0f; low[i] = 0.0f; }
#pragma unroll
    for (int i = 0; i < 32; ++i) m[i] = 0.0f;

    for (int s = s_begin; s < s_end;) {    // one turn: the block's strips of one image
        const int n = s / PH, ph0 = s % PH;
        const int left = s_end - s;
        const int ph1 = ph0 + left < PH ? ph0 + left : PH;
        s += ph1 - ph0;

        __syncthreads();                   // the products of the image before are done
#pragma unroll 1
        for (int r = 0; r < 3; ++r) {
            load_row(pre, x, n, 2 * ph0 + r, tid);
            store_row(pre, xs, 2 * ph0 + r, tid);
        }
        load_row(pre, x, n, 2 * ph0 + 3, tid);
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();

#pragma unroll 1
        for (int ph = ph0; ph < ph1; ++ph) {
            // Rows beyond the last one needed are clamped; what is stored of them is not read.
            const int next0 = 2 * ph + 4 < H ? 2 * ph + 4 : H - 1;
            const int next1 = 2 * ph + 5 < H ? 2 * ph + 5 : H - 1;
            // In the first strip the epilogue runs on old values, which are not written.
            __half* dst = out_ptr(k, n, ph > ph0 ? ph - 1 : ph);
            conv_row<false>(acc0, low, low, m, pre, n, 2 * ph, next0, dst, false, k);
            conv_row<true>(acc1, acc0, low, m, pre, n, 2 * ph + 1, next1, dst, ph > ph0, k);
        }

        // Columns 126 and 127 of a conv row are not real; they only reach pooled column 63, which is not written.
#pragma unroll
        for (int i = 0; i < 16; ++i) lower_piece(low, m, i, k);
        __syncwarp();
        __half* dst = out_ptr(k, n, ph1 - 1);
#pragma unroll 4
        for (int c = 0; c < 16; ++c) write_piece(dst, c, true, k);
    }
}
}  // namespace

extern "C" void launch_gpu_implementation(void* output, const void* x, const void* conv_weight, const void* conv_bias) {
    int device = 0, sms = 132;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaFuncSetAttribute(conv_pool_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES);
    const int grid = sms < STRIPS ? sms : STRIPS;
    conv_pool_kernel<<<grid, THREADS, SMEM_BYTES>>>(
        static_cast<__half*>(output), static_cast<const __half*>(x),
        static_cast<const __half*>(conv_weight), static_cast<const __half*>(conv_bias));
}
