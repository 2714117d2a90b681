#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <stdint.h>

// AvgPool3d, kernel 3, stride 2, padding 1, padding counted in the divisor
// (always 27), floor mode. Input [NC, D, H, W], output [NC, OD, OH, OW].
namespace {

constexpr int NC = 16 * 32;
constexpr int D = 128, H = 128, W = 256;
constexpr int OD = (D + 2 - 3) / 2 + 1;
constexpr int OH = (H + 2 - 3) / 2 + 1;
constexpr int OW = (W + 2 - 3) / 2 + 1;

constexpr int VEC = 8;             // halves of one 16-byte load
constexpr int CHUNK = 32 * VEC;    // columns that one warp covers at a time
constexpr int WARPS = 8;           // neighbouring output planes of one block
constexpr int SEG = 16;            // output rows that one warp walks down
constexpr int RUN = 4;             // output rows written as one contiguous run
constexpr int OUT_VECS = OW / VEC; // 16-byte words of an output row
constexpr int OD_BLOCKS = (OD + WARPS - 1) / WARPS;
constexpr int OH_BLOCKS = (OH + SEG - 1) / SEG;

static_assert(W % VEC == 0 && OW * 2 == W, "16-byte loads need whole vectors in a row");
static_assert(W <= CHUNK, "a warp owns complete rows");
static_assert(OW % VEC == 0, "every output row begins at a 16-byte boundary");
static_assert((RUN & (RUN - 1)) == 0 && SEG % RUN == 0, "runs divide a segment");

// Adds row ih of the input planes 2*od-1 .. 2*od+1 to the column sums s, and
// (only where a chunk does not begin at column 0) its left neighbour to edge.
__device__ __forceinline__ void add_row(float (&s)[VEC], float& edge,
                                        const __half* __restrict__ x_nc,
                                        int od, int ih, int col, bool active,
                                        bool has_edge)
{
    if (ih < 0 || ih >= H) return;
#pragma unroll
    for (int kd = 0; kd < 3; ++kd) {
        const int id = 2 * od - 1 + kd;
        if (id < 0 || id >= D) continue;
        const __half* row = x_nc + ((size_t)id * H + ih) * W;
        if (active) {
            const uint4 v = __ldg(reinterpret_cast<const uint4*>(row + col));
            const unsigned u[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                __half2_raw r;
                r.x = (unsigned short)(u[i] & 0xffffu);
                r.y = (unsigned short)(u[i] >> 16);
                const float2 f = __half22float2(__half2(r));
                s[2 * i] += f.x;
                s[2 * i + 1] += f.y;
            }
            if (has_edge) edge += __half2float(row[col - 1]);
        }
    }
}

__global__ void __launch_bounds__(32 * WARPS)
avg_pool3d_kernel(__half* __restrict__ out, const __half* __restrict__ x)
{
    __shared__ uint4 run_smem[WARPS][RUN * OUT_VECS];
    uint4* run = run_smem[threadIdx.y];
    const int lane = threadIdx.x;
    int b = blockIdx.x;
    const int od = (b % OD_BLOCKS) * WARPS + threadIdx.y;
    b /= OD_BLOCKS;
    const int oh_begin = (b % OH_BLOCKS) * SEG;
    const int nc = b / OH_BLOCKS;
    if (od >= OD) return;                       // whole warps only
    const int oh_end = min(oh_begin + SEG, OH);

    const __half* x_nc = x + (size_t)nc * D * H * W;
    __half* out_plane = out + ((size_t)nc * OD + od) * OH * OW;
    const float scale = 1.0f / 27.0f;

    for (int w0 = 0; w0 < W; w0 += CHUNK) {
        const int col = w0 + lane * VEC;
        const bool active = col < W;
        const bool has_edge = w0 > 0 && lane == 0;

        // Row 2*oh-1 of the first output row; later it is carried over.
        float top[VEC] = {};
        float top_edge = 0.0f;
        add_row(top, top_edge, x_nc, od, 2 * oh_begin - 1, col, active, has_edge);

        for (int oh = oh_begin; oh < oh_end; ++oh) {
            float mid[VEC] = {}, bot[VEC] = {};
            float mid_edge = 0.0f, bot_edge = 0.0f;
            add_row(mid, mid_edge, x_nc, od, 2 * oh, col, active, has_edge);
            add_row(bot, bot_edge, x_nc, od, 2 * oh + 1, col, active, has_edge);

            float c[VEC];
#pragma unroll
            for (int i = 0; i < VEC; ++i) c[i] = top[i] + mid[i] + bot[i];

            // Column col-1 is the last one of the lane to the left.
            float left = __shfl_up_sync(0xffffffffu, c[VEC - 1], 1);
            if (lane == 0) left = top_edge + mid_edge + bot_edge;   // 0 at column 0

            if (active) {
                const float o0 = (left + c[0] + c[1]) * scale;
                const float o1 = (c[1] + c[2] + c[3]) * scale;
                const float o2 = (c[3] + c[4] + c[5]) * scale;
                const float o3 = (c[5] + c[6] + c[7]) * scale;
                union { __half2 h[2]; uint2 u; } pack = {};
                pack.h[0] = __floats2half2_rn(o0, o1);
                pack.h[1] = __floats2half2_rn(o2, o3);
                reinterpret_cast<uint2*>(run)[((oh - oh_begin) & (RUN - 1)) * (OW / 4) +
                                              col / VEC] = pack.u;
            }

            // A full run (or the segment's rest) leaves as contiguous 16-byte words.
            const int in_run = (oh - oh_begin) & (RUN - 1);
            if (in_run == RUN - 1 || oh + 1 == oh_end) {
                __syncwarp();
                uint4* dst = reinterpret_cast<uint4*>(out_plane + (size_t)(oh - in_run) * OW);
                const int words = (in_run + 1) * OUT_VECS;
#pragma unroll
                for (int k = 0; k < RUN * OUT_VECS; k += 32)
                    if (k + lane < words) dst[k + lane] = run[k + lane];
                __syncwarp();
            }

#pragma unroll
            for (int i = 0; i < VEC; ++i) top[i] = bot[i];
            top_edge = bot_edge;
        }
    }
}

}  // namespace

extern "C" void launch_gpu_implementation(void* output, const void* x)
{
    const dim3 block(32, WARPS);
    const dim3 grid(NC * OH_BLOCKS * OD_BLOCKS);
    avg_pool3d_kernel<<<grid, block>>>(static_cast<__half*>(output),
                                       static_cast<const __half*>(x));
}
