// conv2d 3x3 (16 -> 64 channels) + bias, min over channels, tanh, tanh.
// Implicit GEMM on wgmma, transposed: M = 64 output channels (weights stay in registers as the A
// operand), N = the 256 pixels of a row (B operand: channel-last row in a shared ring, a tap is a
// pixel offset of the descriptor), K = 16 input channels for each of the 9 taps.
// One block per image: one warpgroup transposes input rows into the ring, two warpgroups take
// the output rows in turn, so that one reduces while the other multiplies.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

namespace {

constexpr int BATCH = 128;
constexpr int CIN = 16;
constexpr int COUT = 64;
constexpr int H = 256;
constexpr int W = 256;
constexpr int OH = H - 2;
constexpr int OW = W - 2;

constexpr int THREADS = 384;
constexpr int SLOTS = 8;
constexpr int PLANE_BYTES = 264 * 16;              // 8 channels of every pixel of a row, padded
constexpr int SLOT_BYTES = 2 * PLANE_BYTES;
constexpr int OFF_RED = SLOTS * SLOT_BYTES;        // [2 warpgroups][2 buffers][4 warps][128] half2
constexpr int RED_WORDS = 4 * 128;
constexpr int OFF_BAR = OFF_RED + 4 * RED_WORDS * 4;
constexpr int SMEM_BYTES = OFF_BAR + 2 * SLOTS * 8;

static_assert(COUT == 64 && CIN == 16, "one m64 tile, one k16 step per tap");
static_assert(OH % 2 == 0 && H % 2 == 0 && OW % 2 == 0, "rows and pixels come in pairs");
static_assert((SLOTS & (SLOTS - 1)) == 0, "slots: a power of two");

__device__ __forceinline__ void bar_init(uint32_t bar, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(count) : "memory");
}
__device__ __forceinline__ void bar_arrive(uint32_t bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
}
__device__ __forceinline__ void bar_wait(uint32_t bar, uint32_t parity) {
    asm volatile(
        "{\n\t.reg .pred p;\n"
        "W_%=:\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t"
        "@!p bra W_%=;\n\t}"
        ::"r"(bar), "r"(parity) : "memory");
}
__device__ __forceinline__ void named_sync(int id, int count) {
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(count) : "memory");
}
__device__ __forceinline__ void named_arrive(int id, int count) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(count) : "memory");
}

// d = a * B and d += a * B, m64n256k16; a in registers, B by descriptor.
__device__ __forceinline__ void wgmma_first(float (&d)[128], const uint32_t (&a)[4],
                                            uint64_t db) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, {%128, %129, %130, %131}, %132, 0, 1, 1, 0;"
        :
          "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]),
          "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]), "=f"(d[14]), "=f"(d[15]),
          "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]), "=f"(d[20]), "=f"(d[21]), "=f"(d[22]), "=f"(d[23]),
          "=f"(d[24]), "=f"(d[25]), "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]), "=f"(d[30]), "=f"(d[31]),
          "=f"(d[32]), "=f"(d[33]), "=f"(d[34]), "=f"(d[35]), "=f"(d[36]), "=f"(d[37]), "=f"(d[38]), "=f"(d[39]),
          "=f"(d[40]), "=f"(d[41]), "=f"(d[42]), "=f"(d[43]), "=f"(d[44]), "=f"(d[45]), "=f"(d[46]), "=f"(d[47]),
          "=f"(d[48]), "=f"(d[49]), "=f"(d[50]), "=f"(d[51]), "=f"(d[52]), "=f"(d[53]), "=f"(d[54]), "=f"(d[55]),
          "=f"(d[56]), "=f"(d[57]), "=f"(d[58]), "=f"(d[59]), "=f"(d[60]), "=f"(d[61]), "=f"(d[62]), "=f"(d[63]),
          "=f"(d[64]), "=f"(d[65]), "=f"(d[66]), "=f"(d[67]), "=f"(d[68]), "=f"(d[69]), "=f"(d[70]), "=f"(d[71]),
          "=f"(d[72]), "=f"(d[73]), "=f"(d[74]), "=f"(d[75]), "=f"(d[76]), "=f"(d[77]), "=f"(d[78]), "=f"(d[79]),
          "=f"(d[80]), "=f"(d[81]), "=f"(d[82]), "=f"(d[83]), "=f"(d[84]), "=f"(d[85]), "=f"(d[86]), "=f"(d[87]),
          "=f"(d[88]), "=f"(d[89]), "=f"(d[90]), "=f"(d[91]), "=f"(d[92]), "=f"(d[93]), "=f"(d[94]), "=f"(d[95]),
          "=f"(d[96]), "=f"(d[97]), "=f"(d[98]), "=f"(d[99]), "=f"(d[100]), "=f"(d[101]), "=f"(d[102]), "=f"(d[103]),
          "=f"(d[104]), "=f"(d[105]), "=f"(d[106]), "=f"(d[107]), "=f"(d[108]), "=f"(d[109]), "=f"(d[110]), "=f"(d[111]),
          "=f"(d[112]), "=f"(d[113]), "=f"(d[114]), "=f"(d[115]), "=f"(d[116]), "=f"(d[117]), "=f"(d[118]), "=f"(d[119]),
          "=f"(d[120]), "=f"(d[121]), "=f"(d[122]), "=f"(d[123]), "=f"(d[124]), "=f"(d[125]), "=f"(d[126]), "=f"(d[127])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db));
}

__device__ __forceinline__ void wgmma_next(float (&d)[128], const uint32_t (&a)[4],
                                            uint64_t db) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, {%128, %129, %130, %131}, %132, 1, 1, 1, 0;"
        :
          "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
          "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
          "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
          "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
          "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
          "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
          "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
          "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
          "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(db));
}

// No swizzle, K-major: lbo steps 8 channels, sbo steps 8 pixels.
__device__ __forceinline__ uint64_t make_desc(uint32_t addr, uint32_t lbo, uint32_t sbo) {
    return (uint64_t)((addr >> 4) & 0x3FFF) | ((uint64_t)(lbo >> 4) << 16) |
           ((uint64_t)(sbo >> 4) << 32);
}

__device__ __forceinline__ float min_nan(float a, float b) {
    float r;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
}
__device__ __forceinline__ uint32_t min2_nan(uint32_t a, uint32_t b) {
    uint32_t r;
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}
__device__ __forceinline__ uint32_t pack2(float lo, float hi) {
    uint32_t r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
}
__device__ __forceinline__ float tanh_fast(float v) {
    return 1.0f - __fdividef(2.0f, 1.0f + __expf(2.0f * v));
}

// Two pixels, 16 channels: one 32-bit word per channel.
__device__ __forceinline__ void load_row(uint32_t (&v)[CIN], const uint32_t* __restrict__ src,
                                         int row) {
#pragma unroll
    for (int c = 0; c < CIN; ++c) v[c] = __ldg(src + c * (H * W / 2) + row * (W / 2));
}

__device__ __forceinline__ void put_row(const uint32_t (&v)[CIN], unsigned char* smem,
                                        uint32_t full, uint32_t empty, int row, int t) {
    const int slot = row & (SLOTS - 1);
    bar_wait(empty + slot * 8, ((row / SLOTS) & 1) ^ 1);
    const int flip = (t >> 2) & 1;                 // spreads the stores over all banks
    unsigned char* dst = smem + slot * SLOT_BYTES + t * 32;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int px = k ^ flip;
        const uint32_t sel = px ? 0x7632u : 0x5410u;
#pragma unroll
        for (int ch = 0; ch < 2; ++ch) {
            uint4 q;
            q.x = __byte_perm(v[ch * 8 + 0], v[ch * 8 + 1], sel);
            q.y = __byte_perm(v[ch * 8 + 2], v[ch * 8 + 3], sel);
            q.z = __byte_perm(v[ch * 8 + 4], v[ch * 8 + 5], sel);
            q.w = __byte_perm(v[ch * 8 + 6], v[ch * 8 + 7], sel);
            *reinterpret_cast<uint4*>(dst + ch * PLANE_BYTES + px * 16) = q;
        }
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if ((t & 31) == 0) bar_arrive(full + slot * 8);
}

__global__ void __launch_bounds__(THREADS, 1)
conv_min_tanh_kernel(__half* __restrict__ out, const __half* __restrict__ x,
                     const __half* __restrict__ weight, const __half* __restrict__ bias) {
    extern __shared__ __align__(128) unsigned char smem[];
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(smem);
    const uint32_t full = base + OFF_BAR;
    const uint32_t empty = full + SLOTS * 8;

    const int tid = threadIdx.x;
    const int n = blockIdx.x;
    const int wg = tid >> 7;
    const int t = tid & 127;
    const int lane = tid & 31;

    if (tid == 0) {
        for (int s = 0; s < SLOTS; ++s) {
            bar_init(full + s * 8, 4);             // four warps fill a row
            bar_init(empty + s * 8, 8);            // eight warps have read it
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    // Pixels past the row feed only outputs that are not stored.
    for (int k = tid; k < SLOTS * 2 * 8; k += THREADS)
        *reinterpret_cast<uint4*>(smem + (k >> 3) * PLANE_BYTES + (W + (k & 7)) * 16) =
            make_uint4(0u, 0u, 0u, 0u);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();

    if (wg == 2) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 72;");
        const uint32_t* src =
            reinterpret_cast<const uint32_t*>(x + (size_t)n * CIN * H * W) + t;
        uint32_t v0[CIN], v1[CIN];
        load_row(v0, src, 0);
        load_row(v1, src, 1);
#pragma unroll 1
        for (int r = 0; r < H; r += 2) {
            put_row(v0, smem, full, empty, r, t);
            if (r + 2 < H) load_row(v0, src, r + 2);
            put_row(v1, smem, full, empty, r + 1, t);
            if (r + 2 < H) load_row(v1, src, r + 3);
        }
        return;
    }

    asm volatile("setmaxnreg.inc.sync.aligned.u32 216;");
    const int warp = t >> 5;
    const int g = lane >> 2;
    const int q = lane & 3;

    // A fragments: rows (channels out) warp * 16 + g and + 8, columns (channels in) 2 q and + 8.
    // The nine taps of two neighbouring input channels are nine aligned words.
    uint32_t a[9][4];
#pragma unroll
    for (int f = 0; f < 4; ++f) {
        const int oc = warp * 16 + g + (f & 1) * 8;
        const int c = q * 2 + (f >> 1) * 8;
        const uint32_t* src = reinterpret_cast<const uint32_t*>(weight + (oc * CIN + c) * 9);
        uint32_t u[9];
#pragma unroll
        for (int k = 0; k < 9; ++k) u[k] = __ldg(src + k);
#pragma unroll
        for (int k = 0; k < 9; ++k) {
            const uint32_t lo = (k & 1) ? (u[k / 2] >> 16) : (u[k / 2] & 0xFFFFu);
            const int k2 = k + 9;
            const uint32_t hi = (k2 & 1) ? (u[k2 / 2] >> 16) : (u[k2 / 2] & 0xFFFFu);
            a[k][f] = lo | (hi << 16);
        }
    }
    const float b0 = __half2float(bias[warp * 16 + g]);
    const float b1 = __half2float(bias[warp * 16 + g + 8]);

    const uint64_t desc = make_desc(base, PLANE_BYTES, 128);
    uint32_t* red = reinterpret_cast<uint32_t*>(smem + OFF_RED) + wg * 2 * RED_WORDS;
    uint32_t* dst = reinterpret_cast<uint32_t*>(out + ((size_t)n * OH + wg) * OW) + t;

    if (wg == 1) {
        if (lane == 0) bar_arrive(empty);          // it never reads row 0
        named_arrive(1, 256);                      // the first turn is warpgroup 0's
    }

#pragma unroll 1
    for (int r = wg; r < OH; r += 2) {
        float d[128];
        const int s0 = r & (SLOTS - 1);
        const int s1 = (r + 1) & (SLOTS - 1);
        const int s2 = (r + 2) & (SLOTS - 1);
        bar_wait(full + s0 * 8, (r / SLOTS) & 1);
        bar_wait(full + s1 * 8, ((r + 1) / SLOTS) & 1);
        bar_wait(full + s2 * 8, ((r + 2) / SLOTS) & 1);
        const uint64_t db0 = desc + (uint64_t)(uint32_t)(s0 * (SLOT_BYTES >> 4));
        const uint64_t db1 = desc + (uint64_t)(uint32_t)(s1 * (SLOT_BYTES >> 4));
        const uint64_t db2 = desc + (uint64_t)(uint32_t)(s2 * (SLOT_BYTES >> 4));

        named_sync(1 + wg, 256);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        wgmma_first(d, a[0], db0);
        wgmma_next(d, a[1], db0 + 1);
        wgmma_next(d, a[2], db0 + 2);
        wgmma_next(d, a[3], db1);
        wgmma_next(d, a[4], db1 + 1);
        wgmma_next(d, a[5], db1 + 2);
        wgmma_next(d, a[6], db2);
        wgmma_next(d, a[7], db2 + 1);
        wgmma_next(d, a[8], db2 + 2);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        if (r + 1 < OH) named_arrive(2 - wg, 256); // the last row has no successor
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
        for (int k = 0; k < 128; ++k) asm volatile("" : "+f"(d[k])::"memory");

        // This warpgroup goes on with row r + 2.
        if (lane == 0) {
            bar_arrive(empty + s0 * 8);
            bar_arrive(empty + s1 * 8);
        }

        // Minimum over the channels. Rounding to half is monotone, so it may come first.
        uint32_t m[32];
#pragma unroll
        for (int j = 0; j < 32; ++j)
            m[j] = pack2(min_nan(d[j * 4 + 0] + b0, d[j * 4 + 2] + b1),
                         min_nan(d[j * 4 + 1] + b0, d[j * 4 + 3] + b1));
        // Over the eight lanes of a column; lane group g keeps the blocks j with j % 8 == g.
        uint32_t m1[16], m2[8];
#pragma unroll
        for (int j = 0; j < 16; ++j) {
            const int at = (j >> 2) * 8 + (j & 3);
            const uint32_t keep = (lane & 16) ? m[at + 4] : m[at];
            const uint32_t give = (lane & 16) ? m[at] : m[at + 4];
            m1[j] = min2_nan(keep, __shfl_xor_sync(0xffffffffu, give, 16));
        }
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            const int at = (j >> 1) * 4 + (j & 1);
            const uint32_t keep = (lane & 8) ? m1[at + 2] : m1[at];
            const uint32_t give = (lane & 8) ? m1[at] : m1[at + 2];
            m2[j] = min2_nan(keep, __shfl_xor_sync(0xffffffffu, give, 8));
        }
        uint32_t* buf = red + ((r >> 1) & 1) * RED_WORDS;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const uint32_t keep = (lane & 4) ? m2[j * 2 + 1] : m2[j * 2];
            const uint32_t give = (lane & 4) ? m2[j * 2] : m2[j * 2 + 1];
            buf[warp * 128 + j * 32 + lane] =
                min2_nan(keep, __shfl_xor_sync(0xffffffffu, give, 4));
        }
        named_sync(3 + wg, 128);
        const uint32_t v = min2_nan(min2_nan(buf[t], buf[128 + t]),
                                    min2_nan(buf[256 + t], buf[384 + t]));
        const float2 o = __half22float2(*reinterpret_cast<const __half2*>(&v));
        if (t < OW / 2) *dst = pack2(tanh_fast(tanh_fast(o.x)), tanh_fast(tanh_fast(o.y)));
        dst += OW;                                 // two rows of OW / 2 words
    }
}

}  // namespace

extern "C" void launch_gpu_implementation(void* output, const void* x, const void* conv_weight,
                                          const void* conv_bias) {
    cudaFuncSetAttribute(conv_min_tanh_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                         SMEM_BYTES);
    conv_min_tanh_kernel<<<BATCH, THREADS, SMEM_BYTES>>>(
        static_cast<__half*>(output), static_cast<const __half*>(x),
        static_cast<const __half*>(conv_weight), static_cast<const __half*>(conv_bias));
}
