#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cstdint>

// C[i,j] = sum_k A[k,i] * B[j,k];  A: (K, M), B: (N, K), C: (M, N), all row-major f16.

static constexpr int BM = 128;
static constexpr int BN = 128;
static constexpr int BK = 64;
static constexpr int STAGES = 4;
static constexpr int THREADS = 256;
static constexpr int A_BYTES = BK * BM * 2;              // [k][m], 256 bytes a row
static constexpr int B_BYTES = BN * BK * 2;              // [n][k], 128 bytes a row
static constexpr int STAGE_BYTES = A_BYTES + B_BYTES;    // 32768
static constexpr int SMEM_BYTES = STAGES * STAGE_BYTES;  // 131072

__device__ __forceinline__ void cp_async16(uint32_t dst, const void* src) {
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;\n" :: "r"(dst), "l"(src) : "memory");
}
__device__ __forceinline__ void cp_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }
template <int N> __device__ __forceinline__ void cp_wait() {
    asm volatile("cp.async.wait_group %0;\n" :: "n"(N) : "memory");
}
__device__ __forceinline__ void ldsm4(uint32_t (&r)[4], uint32_t addr) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr) : "memory");
}
__device__ __forceinline__ void ldsm4t(uint32_t (&r)[4], uint32_t addr) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr) : "memory");
}
__device__ __forceinline__ void mma16816(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__global__ void __launch_bounds__(THREADS, 1)
matmul_tt_mma_kernel(const half* __restrict__ A, const half* __restrict__ B,
                     half* __restrict__ C, int M, int N, int K) {
    extern __shared__ __align__(128) unsigned char smem[];
    const uint32_t sbase = (uint32_t)__cvta_generic_to_shared(smem);
    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const int wm = (warp & 1) * 64;     // warp tile 64 x 32
    const int wn = (warp >> 1) * 32;
    const int m0 = blockIdx.y * BM;
    const int n0 = blockIdx.x * BN;

    // Copies: A 64 rows of 16 chunks (4 a thread), B 128 rows of 8 chunks (4 a thread).
    const int a_k = tid >> 4, a_c = tid & 15;
    const half* gA = A + (size_t)a_k * M + m0 + a_c * 8;
    const uint32_t sA = (uint32_t)(a_k * 256 + ((a_c ^ (a_k & 7)) << 4));
    const int b_n = tid >> 3, b_c = tid & 7;
    const half* gB = B + (size_t)(n0 + b_n) * K + b_c * 8;
    // Swizzle key of row n: bits 4, 3 and 0 of n, so that the eight rows {0,1,8,9,16,17,24,25} + 2j, which
    // one 8x8 matrix of ldmatrix takes below, have eight different keys. Adding 32 keeps the key.
    const int b_key = (((b_n >> 3) & 3) << 1) | (b_n & 1);
    const uint32_t sB = (uint32_t)(A_BYTES + b_n * 128 + ((b_c ^ b_key) << 4));

    auto load_stage = [&](int kt, int slot) {
        const uint32_t s = sbase + slot * STAGE_BYTES;
        const half* pa = gA + (size_t)kt * BK * M;
        const half* pb = gB + (size_t)kt * BK;
#pragma unroll
        for (int i = 0; i < 4; ++i) cp_async16(s + sA + i * 16 * 256, pa + (size_t)(16 * i) * M);
#pragma unroll
        for (int i = 0; i < 4; ++i) cp_async16(s + sB + i * 32 * 128, pb + (size_t)(32 * i) * K);
    };

    float acc[4][4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
#pragma unroll
            for (int r = 0; r < 4; ++r) acc[i][j][r] = 0.0f;

    const int KT = K / BK;
#pragma unroll
    for (int s = 0; s < STAGES - 1; ++s) {
        if (s < KT) load_stage(s, s);
        cp_commit();
    }

    // ldmatrix addresses of this lane
    const int fa_k = ((lane >> 4) << 3) + (lane & 7);          // row (k) inside a k16 step
    const int fa_c = (wm >> 3) + ((lane >> 3) & 1);            // chunk of 8 m
    // Column r of mma tile j is column (r >> 1) * 8 + j * 2 + (r & 1) of the warp's 32: the columns that
    // a lane holds over j = 0..3 are then eight neighbours, (lane & 3) * 8 + 0..7.
    const int fb_n = wn + (((lane & 7) >> 1) << 3) + ((lane >> 4) << 1) + (lane & 1);   // row (n), tile lane >> 4
    const int fb_c = (lane >> 3) & 1;                          // chunk of 8 k
    const int sw = lane & 7;                                   // = k & 7 = key of n

    for (int kt = 0; kt < KT; ++kt) {
        cp_wait<STAGES - 2>();
        __syncthreads();
        {
            const int nx = kt + STAGES - 1;
            if (nx < KT) load_stage(nx, nx % STAGES);
            cp_commit();
        }
        const uint32_t st = sbase + (kt % STAGES) * STAGE_BYTES;
        const uint32_t stB = st + A_BYTES;
#pragma unroll
        for (int kk = 0; kk < BK / 16; ++kk) {
            uint32_t a[4][4], b[2][4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                ldsm4t(a[i], st + (kk * 16 + fa_k) * 256 + (((fa_c + 2 * i) ^ sw) << 4));
#pragma unroll
            for (int j = 0; j < 2; ++j)
                ldsm4(b[j], stB + (fb_n + j * 4) * 128 + (((kk * 2 + fb_c) ^ sw) << 4));
#pragma unroll
            for (int i = 0; i < 4; ++i)
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    mma16816(acc[i][j], a[i], b[j >> 1][(j & 1) * 2], b[j >> 1][(j & 1) * 2 + 1]);
        }
    }

    const int r0 = m0 + wm + (lane >> 2);
    const int c0 = n0 + wn + (lane & 3) * 8;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            uint32_t w[4];
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                const half2 v = __floats2half2_rn(acc[i][j][2 * h], acc[i][j][2 * h + 1]);
                w[j] = *reinterpret_cast<const uint32_t*>(&v);
            }
            *reinterpret_cast<uint4*>(C + (size_t)(r0 + i * 16 + h * 8) * N + c0) =
                make_uint4(w[0], w[1], w[2], w[3]);
        }
}

// ---- 128 x 256 tiles by wgmma. Four blocks a cluster (two where that does not fit): two halves of k for each tile,
// ---- two neighbouring tiles in m, which need the same rows of B.

static constexpr int TM = 128;
static constexpr int TN = 256;
static constexpr int TK = 64;
static constexpr int RING = 4;
static constexpr int PRODUCER = 8;                               // warps 0..7 multiply, warp 8 copies
static constexpr int BLOCK = 288;
static constexpr uint32_t A_PANEL = TK * 128;                    // 8192: 64 rows k of 64 m
static constexpr uint32_t B_PART = 128 * 128;                    // 16384: 128 rows n of 64 k
static constexpr uint32_t SLOT = 2 * A_PANEL + 2 * B_PART;       // 49152
static constexpr int DYN_SMEM = RING * (int)SLOT + 1024 + 2 * RING * 8;
static constexpr uint32_t HANDED = 128 * 128 * 4;                // 65536: f32 sums from the other half of k
static constexpr uint32_t ROW = TN * 2 + 16;                     // 528 bytes a row of the staged output
static_assert(HANDED + 64 * ROW <= RING * SLOT, "the end's buffers lie over the ring");

__device__ __forceinline__ uint32_t cta_in_cluster() {
    uint32_t r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;\n" : "=r"(r));
    return r;
}
// All threads of all blocks of the cluster; what was written before is seen after.
__device__ __forceinline__ void cluster_barrier() {
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;\n" ::: "memory");
}
__device__ __forceinline__ uint32_t in_block(uint32_t addr, uint32_t cta) {
    uint32_t r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;\n" : "=r"(r) : "r"(addr), "r"(cta));
    return r;
}
__device__ __forceinline__ void mb_init(uint32_t mb, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\n" :: "r"(mb), "r"(count) : "memory");
}
__device__ __forceinline__ void mb_expect(uint32_t mb, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;\n" :: "r"(mb), "r"(bytes) : "memory");
}
// Says only that reads are over, hands no data on: default scope, no fence in the loop.
__device__ __forceinline__ void mb_arrive_in_cluster(uint32_t mb) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];\n" :: "r"(mb) : "memory");
}
__device__ __forceinline__ void mb_wait(uint32_t mb, uint32_t parity) {
    uint32_t over = 0;
    while (over == 0)
        asm volatile(
            "{\n"
            ".reg .pred p;\n"
            "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
            "selp.u32 %0, 1, 0, p;\n"
            "}\n" : "=r"(over) : "r"(mb), "r"(parity) : "memory");
}
__device__ __forceinline__ void copy_box(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t mb) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];\n"
        :: "r"(dst), "l"(reinterpret_cast<uint64_t>(map)), "r"(x), "r"(y), "r"(mb) : "memory");
}
__device__ __forceinline__ void copy_box_to(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t mb,
                                            uint16_t blocks) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;\n"
        :: "r"(dst), "l"(reinterpret_cast<uint64_t>(map)), "r"(x), "r"(y), "r"(mb), "h"(blocks) : "memory");
}
// 128-byte swizzle; leading and stride offset in 16 bytes.
__device__ __forceinline__ uint64_t descriptor(uint32_t addr, uint32_t leading, uint32_t stride) {
    return (uint64_t)((addr & 0x3FFFFu) >> 4) | ((uint64_t)leading << 16) | ((uint64_t)stride << 32) | (1ull << 62);
}
// d += a b, 64 x 256 x 16: a with m contiguous (transposed), b with k contiguous.
__device__ __forceinline__ void wg_mma(float (&d)[128], uint64_t da, uint64_t db) {
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "setp.ne.b32 p, %130, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
        "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
        "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
        "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, "
        "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
        "}, %128, %129, p, 1, 1, 1, 0;\n"
        "}\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
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
        : "l"(da), "l"(db), "r"(1));
}
__device__ __forceinline__ uint32_t two_halves(float x, float y) {
    const half2 v = __floats2half2_rn(x, y);
    return *reinterpret_cast<const uint32_t*>(&v);
}

// M a multiple of 128 * PAIR, N of 256, K of 128; steps = K / 2 / 64.
template <int PAIR>
__global__ void __launch_bounds__(BLOCK, 1)
matmul_tt_split_kernel(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                       half* __restrict__ C, int N, int steps) {
    extern __shared__ __align__(128) unsigned char smem[];
    const uint32_t s0 = (uint32_t)__cvta_generic_to_shared(smem);
    const uint32_t ring = (s0 + 1023u) & ~1023u;
    unsigned char* ring_ptr = smem + (ring - s0);
    const uint32_t landed = ring + RING * SLOT;      // RING barriers
    const uint32_t freed = landed + RING * 8;        // RING barriers

    const int tid = threadIdx.x;
    const int lane = tid & 31;
    const int warp = tid >> 5;
    const uint32_t cta = cta_in_cluster();           // neighbour in m + PAIR * half of k
    const uint32_t nb = cta % (uint32_t)PAIR;
    const uint32_t kh = cta / (uint32_t)PAIR;
    const int m0 = blockIdx.x * TM;
    const int n0 = blockIdx.y * TN;

    if (tid == PRODUCER * 32) {
        asm volatile("prefetch.tensormap [%0];\n" :: "l"(reinterpret_cast<uint64_t>(&map_a)) : "memory");
        asm volatile("prefetch.tensormap [%0];\n" :: "l"(reinterpret_cast<uint64_t>(&map_b)) : "memory");
#pragma unroll
        for (int i = 0; i < RING; ++i) {
            mb_init(landed + i * 8, 1);
            mb_init(freed + i * 8, 8 * PAIR);        // a warp of each block that gets this block's copies
        }
        asm volatile("fence.mbarrier_init.release.cluster;\n" ::: "memory");
    }
    __syncthreads();
    cluster_barrier();

    if (warp == PRODUCER) {
        if (lane == 0) {
            const uint16_t both = (uint16_t)(3u << (2u * kh));
            int i = 0;
            uint32_t round = 1;                      // parity of the phase before the first
            int k = (int)kh * steps * TK;
#pragma unroll 1
            for (int t = 0; t < steps; ++t) {
                const uint32_t at = ring + (uint32_t)i * SLOT;
                const uint32_t mb = landed + i * 8;
                mb_wait(freed + i * 8, round);
                mb_expect(mb, SLOT);
                copy_box(at, &map_a, m0, k, mb);
                copy_box(at + A_PANEL, &map_a, m0 + 64, k, mb);
                const uint32_t at_b = at + 2 * A_PANEL;
                if (PAIR == 2) {
                    copy_box_to(at_b + nb * B_PART, &map_b, k, n0 + (int)nb * 128, mb, both);
                } else {
                    copy_box(at_b, &map_b, k, n0, mb);
                    copy_box(at_b + B_PART, &map_b, k, n0 + 128, mb);
                }
                k += TK;
                if (++i == RING) { i = 0; round ^= 1u; }
            }
        }
        __syncwarp();
        cluster_barrier();
        cluster_barrier();
        return;
    }

    const int group = warp >> 2;                     // rows 64 * group .. + 63 of the tile
    float acc[128];
#pragma unroll
    for (int i = 0; i < 128; ++i) acc[i] = 0.0f;

    // a: groups of 8 k are 1024 bytes apart, 16 k are 2048 bytes. b: groups of 8 n 1024 bytes apart, 16 k 32 bytes.
    const uint64_t da = descriptor(ring + (uint32_t)group * A_PANEL, A_PANEL >> 4, 64);
    const uint64_t db = descriptor(ring + 2 * A_PANEL, 1, 64);
    const uint32_t give_back = in_block(freed, kh * PAIR + (uint32_t)(lane & (PAIR - 1)));

    int i = 0, before = 0;
    uint32_t round = 0;
#pragma unroll 1
    for (int t = 0; t < steps; ++t) {
        mb_wait(landed + i * 8, round);
        const uint64_t off = (uint64_t)((uint32_t)i * (SLOT >> 4));
        asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#pragma unroll
        for (int q = 0; q < 4; ++q) wg_mma(acc, da + off + q * 128, db + off + q * 2);
        asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;\n" ::: "memory");    // step t - 1 is over
        if (t > 0 && lane < PAIR) mb_arrive_in_cluster(give_back + before * 8);
        before = i;
        if (++i == RING) { i = 0; round ^= 1u; }
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
#pragma unroll
    for (int j = 0; j < 128; ++j) asm volatile("" : "+f"(acc[j]) :: "memory");
    cluster_barrier();                               // no block of the cluster uses its ring any more

    // The block with half kh finishes rows 64 * kh .. + 63; the sums of the other rows go to the thread of the same
    // number in the block with the other half, as columns of 16 bytes over 128 threads.
    const uint32_t mine = (uint32_t)(tid & 127) * 16u;
    if (group != (int)kh) {
        const uint32_t to = in_block(ring + mine, cta ^ (uint32_t)PAIR);
#pragma unroll
        for (int j = 0; j < 32; ++j)
            asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};\n"
                         :: "r"(to + j * 2048), "f"(acc[4 * j]), "f"(acc[4 * j + 1]), "f"(acc[4 * j + 2]),
                            "f"(acc[4 * j + 3]) : "memory");
    }
    cluster_barrier();                               // the sums are there; no more access to other blocks
    if (group != (int)kh) return;

    const unsigned char* from = ring_ptr + mine;
#pragma unroll
    for (int j = 0; j < 32; ++j) {
        const float4 v = *reinterpret_cast<const float4*>(from + j * 2048);
        acc[4 * j] += v.x;
        acc[4 * j + 1] += v.y;
        acc[4 * j + 2] += v.z;
        acc[4 * j + 3] += v.w;
    }
    // 16 rows of 256 columns a warp: into padded rows of its own, out as whole rows of 512 bytes.
    const uint32_t rows = HANDED + (uint32_t)(warp & 3) * 16u * ROW;
    const uint32_t w = ring + rows + (uint32_t)(lane & 15) * ROW + (uint32_t)(lane >> 4) * 16u;
#pragma unroll
    for (int j = 0; j < 32; j += 2)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};\n"
                     :: "r"(w + j * 16), "r"(two_halves(acc[4 * j], acc[4 * j + 1])),
                        "r"(two_halves(acc[4 * j + 2], acc[4 * j + 3])),
                        "r"(two_halves(acc[4 * j + 4], acc[4 * j + 5])),
                        "r"(two_halves(acc[4 * j + 6], acc[4 * j + 7])) : "memory");
    __syncwarp();
    half* out = C + (size_t)(m0 + warp * 16) * (size_t)N + n0 + lane * 8;
    const unsigned char* r = ring_ptr + rows + lane * 16;
#pragma unroll
    for (int j = 0; j < 16; ++j)
        *reinterpret_cast<uint4*>(out + (size_t)j * (size_t)N) = *reinterpret_cast<const uint4*>(r + j * ROW);
}

typedef CUresult (*TensorMapEncoder)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                                     const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave,
                                     CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static TensorMapEncoder tensor_map_encoder() {
    void* f = nullptr;
    cudaDriverEntryPointQueryResult result;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &result) !=
        cudaSuccess)
        return nullptr;
    return result == cudaDriverEntryPointSuccess ? reinterpret_cast<TensorMapEncoder>(f) : nullptr;
}

// Boxes of 64 halves by box_rows of a row-major matrix, 128-byte swizzle.
static bool encode_map(TensorMapEncoder encoder, CUtensorMap* map, void* ptr, int64_t width, int64_t height,
                       uint32_t box_rows) {
    const cuuint64_t size[2] = {(cuuint64_t)width, (cuuint64_t)height};
    const cuuint64_t pitch[1] = {(cuuint64_t)width * 2};
    const cuuint32_t box[2] = {64, box_rows};
    const cuuint32_t one[2] = {1, 1};
    return encoder(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, ptr, size, pitch, box, one,
                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                   CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

static void fill_config(cudaLaunchConfig_t* config, cudaLaunchAttribute* cluster, dim3 grid, unsigned pair) {
    cluster->id = cudaLaunchAttributeClusterDimension;
    cluster->val.clusterDim.x = pair;
    cluster->val.clusterDim.y = 1;
    cluster->val.clusterDim.z = 2;
    config->gridDim = grid;
    config->blockDim = dim3(BLOCK);
    config->dynamicSmemBytes = DYN_SMEM;
    config->stream = 0;
    config->attrs = cluster;
    config->numAttrs = 1;
}

// How many clusters of four the device holds at once; the leave for shared memory is asked on the way. Both are
// properties of kernels and device.
static int clusters_of_four() {
    cudaFuncSetAttribute(matmul_tt_split_kernel<1>, cudaFuncAttributeMaxDynamicSharedMemorySize, DYN_SMEM);
    if (cudaFuncSetAttribute(matmul_tt_split_kernel<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, DYN_SMEM) !=
        cudaSuccess)
        return 0;
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster[1];
    fill_config(&config, cluster, dim3(8, 8, 2), 2);
    int n = 0;
    return cudaOccupancyMaxActiveClusters(&n, matmul_tt_split_kernel<2>, &config) == cudaSuccess ? n : 0;
}

// Any size: one output a thread.
__global__ void matmul_tt_any_kernel(const half* __restrict__ A, const half* __restrict__ B,
                                     half* __restrict__ C, int64_t M, int64_t N, int64_t K) {
    int64_t row = (int64_t)blockIdx.y * blockDim.y + threadIdx.y;
    int64_t col = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float acc = 0.0f;
        for (int64_t k = 0; k < K; ++k)
            acc += __half2float(A[k * M + row]) * __half2float(B[col * K + k]);
        C[row * N + col] = __float2half(acc);
    }
}

void launch_gpu_implementation(void* output, void* input_A, void* input_B, int64_t M, int64_t N, int64_t K) {
    if (M <= 0 || N <= 0) return;
    const half* A = static_cast<const half*>(input_A);
    const half* B = static_cast<const half*>(input_B);
    half* C = static_cast<half*>(output);
    const bool aligned = (((uintptr_t)input_A | (uintptr_t)input_B | (uintptr_t)output) & 15) == 0;
    const int64_t most = 0x7fffffff;
    if (aligned && K > 0 && M % TM == 0 && N % TN == 0 && K % (2 * TK) == 0 && M <= most && N <= most && K <= most &&
        N / TN < 65536) {
        static const TensorMapEncoder encoder = tensor_map_encoder();   // address of a driver function
        static const int fours = clusters_of_four();
        CUtensorMap map_a, map_b;
        if (encoder != nullptr && encode_map(encoder, &map_a, input_A, M, K, TK) &&
            encode_map(encoder, &map_b, input_B, K, N, 128)) {
            // Four where all of them run at once, else two, which leave fewer SMs without a block.
            const bool four = M % (2 * TM) == 0 && (M / TM) * (N / TN) * 2 <= (int64_t)fours * 4;
            cudaLaunchConfig_t config = {};
            cudaLaunchAttribute cluster[1];
            fill_config(&config, cluster, dim3((unsigned)(M / TM), (unsigned)(N / TN), 2), four ? 2u : 1u);
            const int steps = (int)(K / (2 * TK));
            if (four)
                cudaLaunchKernelEx(&config, matmul_tt_split_kernel<2>, map_a, map_b, C, (int)N, steps);
            else
                cudaLaunchKernelEx(&config, matmul_tt_split_kernel<1>, map_a, map_b, C, (int)N, steps);
            return;
        }
    }
    if (aligned && M % BM == 0 && N % BN == 0 && K % BK == 0 && K > 0 && M / BM < 65536) {
        cudaFuncSetAttribute(matmul_tt_mma_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, SMEM_BYTES);
        dim3 grid((unsigned)(N / BN), (unsigned)(M / BM));
        matmul_tt_mma_kernel<<<grid, THREADS, SMEM_BYTES>>>(A, B, C, (int)M, (int)N, (int)K);
    } else {
        dim3 block(16, 16);
        dim3 grid((unsigned)((N + 15) / 16), (unsigned)((M + 15) / 16));
        matmul_tt_any_kernel<<<grid, block>>>(A, B, C, M, N, K);
    }
}
