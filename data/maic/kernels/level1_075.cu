#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cstdint>
#include <cstddef>

// Grouped, strided, padded, dilated transposed convolution, gather form:
//   out[n, oc, oh, ow] = bias[oc] + sum_{ic, kh, kw} in[n, ic, ih, iw] * w[ic, oc, kh, kw]
//   with ih*sh = oh + ph - kh*dh and iw*sw = ow + pw - kw*dw (both must divide).

// ---------------------------------------------------------------------------------------
// Vector kernel for icg = 8, ocg = 16, KH x KW = 3 x 5, stride 2 x 3, padding 1 x 2,
// dilation 2 x 1, IW a multiple of 4; any batch, groups, IH.
//   OH = 2*IH + 1, OW = 3*IW - 2 (even).
//   oh = 2j+1: ih = j + 1 - kh.   oh even: no tap fits.
//   ow = 3q + r - 2: kw = r with iw = q, and kw = r + 3 (r < 2) with iw = q - 1.
// A thread owns four q (one 8-byte load of inputs, 12 neighbouring output columns) and
// four channels (one float4 of weights for each tap).
// ---------------------------------------------------------------------------------------
constexpr int VT_THREADS = 256;
constexpr int VT_Q    = 256;            // q positions per block: 64 quads
constexpr int VT_R    = 8;              // odd output rows per block
constexpr int VT_STG  = 388;            // words per channel in the row buffer (3 + 384 + 1)

__device__ __forceinline__ unsigned vt_pack(float lo, float hi) {
    const unsigned l = __half_as_ushort(__float2half_rn(lo));
    const unsigned h = __half_as_ushort(__float2half_rn(hi));
    return l | (h << 16);
}
__device__ __forceinline__ float vt_lo(unsigned v) {
    return __half2float(__ushort_as_half((unsigned short)(v & 0xffffu)));
}
__device__ __forceinline__ float vt_hi(unsigned v) {
    return __half2float(__ushort_as_half((unsigned short)(v >> 16)));
}

// One warp writes the words [b, e) of a line whose word 0 is 16-byte aligned at dst.
// 0 <= b <= 4 and e > 4. FILL: every word is bv, else it comes from src.
template <bool FILL>
__device__ __forceinline__ void vt_write(unsigned* dst, const unsigned* src, unsigned bv,
                                         int b, int e, int lane) {
    const int vb = (b + 3) >> 2;
    const int ve = e >> 2;
    const int hi = b + lane;                    // head: up to three words
    if (hi < (vb << 2)) dst[hi] = FILL ? bv : src[hi];
    for (int i = vb + lane; i < ve; i += 32) {
        uint4 v;
        if (FILL) v = make_uint4(bv, bv, bv, bv);
        else      v = reinterpret_cast<const uint4*>(src)[i];
        reinterpret_cast<uint4*>(dst)[i] = v;
    }
    const int ti = (ve << 2) + lane;            // tail: up to three words
    if (ti < e) dst[ti] = FILL ? bv : src[ti];
}

__global__ void __launch_bounds__(VT_THREADS, 2)
convt2d_vec_kernel(__half* __restrict__ out, const __half* __restrict__ in,
                   const __half* __restrict__ w, const __half* __restrict__ bias,
                   int IH, int IW, int groups)
{
    __shared__ __align__(16) float wsv[8 * 15 * 16];             // [ic][tap][oc]
    __shared__ __align__(16) unsigned stg[16 * VT_STG];          // one output row, 16 channels
    __shared__ unsigned sbias[16];

    const int t = threadIdx.x;
    const int lane = t & 31;
    const int warp = t >> 5;
    const int q0 = blockIdx.x * VT_Q;
    const int j0 = blockIdx.y * VT_R;
    const int z = blockIdx.z;                   // n * groups + g
    const int g = z % groups;

    const int OH = 2 * IH + 1;
    const int OW = 3 * IW - 2;
    const size_t inPlane = (size_t)IH * IW;
    const __half* inG = in + (size_t)z * 8 * inPlane;

    for (int i = t; i < 8 * 16 * 15; i += VT_THREADS) {
        const int ic = i / 240;
        const int rem = i - ic * 240;
        const int oc = rem / 15;
        const int tap = rem - oc * 15;
        wsv[(ic * 15 + tap) * 16 + oc] = __half2float(w[(size_t)g * 1920 + i]);
    }
    if (t < 16) {
        unsigned b = 0u;
        if (bias != nullptr) b = __half_as_ushort(bias[g * 16 + t]);
        sbias[t] = b | (b << 16);
    }
    __syncthreads();

    const int quad = t & 63;                    // lanes run along the row
    const int ocb = (t >> 6) * 4;               // the same for a whole warp
    const int q = q0 + quad * 4;
    const bool qOk = q < IW;                    // IW is a multiple of 4: all four or none

    const long long rowW = OW >> 1;             // words per row
    const long long sW = (long long)(3 * (long long)q0) / 2 - 1;   // first word, -1 for q0 = 0
    const int kb = (q0 == 0) ? 1 : 0;           // word -1 does not exist
    const int ke = 6 * min(64, (IW - q0) >> 2);
    unsigned* outW = reinterpret_cast<unsigned*>(out);

    const int jEnd = min(IH, j0 + VT_R);
    for (int j = j0; j < jEnd; ++j) {
        float acc[4][12];
#pragma unroll
        for (int o = 0; o < 4; ++o) {
            const float bv = vt_lo(sbias[ocb + o]);
#pragma unroll
            for (int k = 0; k < 12; ++k) acc[o][k] = bv;
        }

        if (qOk) {
            for (int kh = 0; kh < 3; ++kh) {
                const int ih = j + 1 - kh;
                if (ih < 0 || ih >= IH) continue;
                const __half* ip = inG + (size_t)ih * IW + q;
                const float* wp = wsv + kh * 5 * 16 + ocb;
#pragma unroll 2
                for (int ic = 0; ic < 8; ++ic) {
                    const uint2 v = __ldg(reinterpret_cast<const uint2*>(ip));
                    float x[5];                 // x[d] is column q - 1 + d
                    x[0] = (q > 0) ? __half2float(__ldg(ip - 1)) : 0.f;
                    x[1] = vt_lo(v.x);
                    x[2] = vt_hi(v.x);
                    x[3] = vt_lo(v.y);
                    x[4] = vt_hi(v.y);
                    ip += inPlane;
#pragma unroll
                    for (int kw = 0; kw < 5; ++kw) {
                        const float4 f = *reinterpret_cast<const float4*>(wp + kw * 16);
                        const int r = kw % 3;
                        const int s = (kw < 3) ? 1 : 0;
#pragma unroll
                        for (int d = 0; d < 4; ++d) {
                            const float xv = x[d + s];
                            acc[0][3 * d + r] += xv * f.x;
                            acc[1][3 * d + r] += xv * f.y;
                            acc[2][3 * d + r] += xv * f.z;
                            acc[3][3 * d + r] += xv * f.w;
                        }
                    }
                    wp += 15 * 16;
                }
            }
        }

        // The row buffer is laid out with the phase that the row has in memory, so that
        // 16-byte words of both coincide.
        if (qOk) {
#pragma unroll
            for (int o = 0; o < 4; ++o) {
                const long long row = ((long long)z * 16 + ocb + o) * OH + (2 * j + 1);
                const int phase = (int)((row * rowW + sW) & 3);
                unsigned* p = stg + (ocb + o) * VT_STG + phase + quad * 6;
#pragma unroll
                for (int k = 0; k < 6; ++k) p[k] = vt_pack(acc[o][2 * k], acc[o][2 * k + 1]);
            }
        }
        __syncthreads();

#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int oc = warp * 2 + h;
            const unsigned bv = sbias[oc];
            const long long row = ((long long)z * 16 + oc) * OH + (2 * j + 1);
            {
                const long long s = row * rowW + sW;
                const int phase = (int)(s & 3);
                vt_write<false>(outW + (s - phase), stg + oc * VT_STG, 0u,
                                phase + kb, phase + ke, lane);
            }
            {                                               // row 2j
                const long long s = (row - 1) * rowW + sW;
                const int phase = (int)(s & 3);
                vt_write<true>(outW + (s - phase), nullptr, bv, phase + kb, phase + ke, lane);
            }
            if (j == IH - 1) {                              // row 2*IH
                const long long s = (row + 1) * rowW + sW;
                const int phase = (int)(s & 3);
                vt_write<true>(outW + (s - phase), nullptr, bv, phase + kb, phase + ke, lane);
            }
        }
        __syncthreads();
    }
}

// ---------------------------------------------------------------------------------------
// Every other shape.
// ---------------------------------------------------------------------------------------
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

// ---------------------------------------------------------------------------------------
// Tensor core kernel that writes whole rows: as above, but IW is even and at most 256, so that a
// block owns complete output rows. Rows 2j (bias) and 2j+1 of a channel are one contiguous run of
// memory: a warp writes it in aligned 16-byte words from end to end.
//   k of the product: ic at kw = r with iw = q (k 0..7), ic at kw = r + 3 with iw = q - 1 (k 8..15).
// ---------------------------------------------------------------------------------------
constexpr int RT_THREADS = 256;
constexpr int RT_Q    = 256;            // q positions of a row: 8 warps of 32
constexpr int RT_R    = 8;              // odd output rows per block
constexpr int RT_COLS = RT_Q + 1;       // with the column left of the row (zero)
constexpr int RT_STG  = 396;            // words per channel in the row buffer (7 + 383, padded)
constexpr int RT_WTAP = 136;            // halves per tap in the weights' buffer (16*8 + 8)
constexpr int RT_BUFS = 2;              // row buffers
constexpr int RT_XS_BYTES = (RT_R + 2) * RT_COLS * 16;
constexpr int RT_SMEM = RT_XS_BYTES + RT_BUFS * 16 * RT_STG * 4;

__device__ __forceinline__ void ldsm_x4(unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3,
                                        unsigned addr) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(addr) : "memory");
}
__device__ __forceinline__ void ldsm_x2(unsigned& r0, unsigned& r1, unsigned addr) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r0), "=r"(r1) : "r"(addr) : "memory");
}
__device__ __forceinline__ void mma_k16(float (&c)[4], const unsigned (&a)[4],
                                        unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void mma_k8(float (&c)[4], const unsigned (&a)[2], unsigned b0) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b0));
}
__global__ void __launch_bounds__(RT_THREADS, 2)
convt2d_rows_kernel(__half* __restrict__ out, const __half* __restrict__ in,
                    const __half* __restrict__ w, const __half* __restrict__ bias,
                    int IH, int IW, int groups)
{
    extern __shared__ __align__(16) unsigned char rt_smem[];
    uint4* xs = reinterpret_cast<uint4*>(rt_smem);                                  // [row][col][8 ic]
    unsigned* stgAll = reinterpret_cast<unsigned*>(rt_smem + RT_XS_BYTES);          // first: weights
    __shared__ unsigned sbias[16];

    const int t = threadIdx.x;
    const int lane = t & 31;
    const int warp = t >> 5;
    const int j0 = blockIdx.x * RT_R;
    const int z = blockIdx.y;                  // n * groups + g
    const int g = z % groups;

    const int OH = 2 * IH + 1;
    const int owW = (3 * IW - 2) >> 1;         // words (two halves) of an output row
    const size_t inPlane = (size_t)IH * IW;
    const __half* inG = in + (size_t)z * 8 * inPlane;

    // Weights of the group to [tap][oc][ic].
    __half* wsm = reinterpret_cast<__half*>(stgAll);
    {
        const __half* wg = w + (size_t)g * (8 * 16 * 15);
        for (int i = t; i < 8 * 16 * 15; i += RT_THREADS) {
            const int ic = i / 240;
            const int rem = i - ic * 240;
            const int oc = rem / 15;
            const int tap = rem - oc * 15;
            wsm[tap * RT_WTAP + oc * 8 + ic] = wg[i];
        }
        if (t < 16) {
            unsigned b = 0u;
            if (bias != nullptr) b = __half_as_ushort(bias[g * 16 + t]);
            sbias[t] = b | (b << 16);
        }
    }

    // Input tile: row rr is ih = j0 - 1 + rr, column c is iw = c - 1.
    for (int u = t; u < (RT_R + 2) * (RT_Q / 2); u += RT_THREADS) {
        const int rr = u / (RT_Q / 2);
        const int i = u - rr * (RT_Q / 2);
        const int ih = j0 - 1 + rr;
        const int iw = 2 * i;
        unsigned v[8];
        if (ih >= 0 && ih < IH && iw < IW) {               // IW is even: both or none
            const __half* ip = inG + (size_t)ih * IW + iw;
#pragma unroll
            for (int c = 0; c < 8; ++c)
                v[c] = __ldg(reinterpret_cast<const unsigned*>(ip + (size_t)c * inPlane));
        } else {
#pragma unroll
            for (int c = 0; c < 8; ++c) v[c] = 0u;
        }
        uint4 lo, hi;
        lo.x = __byte_perm(v[0], v[1], 0x5410);
        lo.y = __byte_perm(v[2], v[3], 0x5410);
        lo.z = __byte_perm(v[4], v[5], 0x5410);
        lo.w = __byte_perm(v[6], v[7], 0x5410);
        hi.x = __byte_perm(v[0], v[1], 0x7632);
        hi.y = __byte_perm(v[2], v[3], 0x7632);
        hi.z = __byte_perm(v[4], v[5], 0x7632);
        hi.w = __byte_perm(v[6], v[7], 0x7632);
        uint4* d = xs + rr * RT_COLS + 1 + 2 * i;
        const int first = (lane >> 2) & 1;                 // spreads the banks
        if (first) { const uint4 s = lo; lo = hi; hi = s; }
        d[first] = lo;
        d[first ^ 1] = hi;
    }
    if (t < RT_R + 2) xs[t * RT_COLS] = make_uint4(0u, 0u, 0u, 0u);    // iw = -1
    __syncthreads();

    // Weights' fragments: row = oc.
    unsigned a01[3][2][4];
    unsigned a2[3][2];
    {
        const unsigned wb = (unsigned)__cvta_generic_to_shared(wsm);
        const int rowOff = ((lane >> 3) & 1) * 64 + (lane & 7) * 8;
#pragma unroll
        for (int kh = 0; kh < 3; ++kh) {
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                const int tap = kh * 5 + r + (lane >> 4) * 3;
                ldsm_x4(a01[kh][r][0], a01[kh][r][1], a01[kh][r][2], a01[kh][r][3],
                        wb + (unsigned)(tap * RT_WTAP + rowOff) * 2u);
            }
            ldsm_x2(a2[kh][0], a2[kh][1],
                    wb + (unsigned)((kh * 5 + 2) * RT_WTAP + rowOff) * 2u);
        }
    }
    const float biasLo = __half2float(__ushort_as_half((unsigned short)(sbias[lane >> 2] & 0xffffu)));
    const float biasHi = __half2float(__ushort_as_half((unsigned short)(sbias[(lane >> 2) + 8] & 0xffffu)));
    __syncthreads();                           // the buffer changes its use

    const unsigned xb = (unsigned)__cvta_generic_to_shared(xs);
    unsigned* outW = reinterpret_cast<unsigned*>(out);
    const int cl = warp * 32 + (lane & 7) + 1 - ((lane >> 3) & 1);
    // First word of this lane's six columns in a row: -1 for the first (no such column).
    const int k0 = 48 * warp - 1 + (lane & 3) * 3;

    for (int jr = 0; jr < RT_R; ++jr) {
        const int j = j0 + jr;
        if (j >= IH) break;                    // the same for the whole block
        unsigned* stg = stgAll + (jr & 1) * (16 * RT_STG);

        // Word k of the row lies at 4 + ((phase + owW) & 3) + k, phase being where the run begins in its
        // 16 bytes: 16-byte words of the buffer and of memory coincide.
        const unsigned chLo = (unsigned)(z * 16 + (lane >> 2));
        const unsigned phLo = ((chLo * (unsigned)OH + 2u * (unsigned)j) * (unsigned)owW) & 3u;
        const unsigned phHi = (((chLo + 8u) * (unsigned)OH + 2u * (unsigned)j) * (unsigned)owW) & 3u;
        unsigned* stLo = stg + (lane >> 2) * RT_STG + 4 + (int)((phLo + (unsigned)owW) & 3u) + k0;
        unsigned* stHi = stg + ((lane >> 2) + 8) * RT_STG + 4 + (int)((phHi + (unsigned)owW) & 3u) + k0;

        const unsigned ad4 = xb + (unsigned)((jr + 2 - (lane >> 4)) * RT_COLS + cl) * 16u;
        const unsigned ad2 = xb + (unsigned)(jr * RT_COLS + cl) * 16u;
#pragma unroll
        for (int nt = 0; nt < 4; ++nt) {
            unsigned b[6];
            ldsm_x4(b[0], b[1], b[2], b[3], ad4 + nt * 128u);     // kh = 0, 1
            ldsm_x2(b[4], b[5], ad2 + nt * 128u);                 // kh = 2
            float acc[3][4];
#pragma unroll
            for (int r = 0; r < 3; ++r) {
                acc[r][0] = biasLo; acc[r][1] = biasLo;
                acc[r][2] = biasHi; acc[r][3] = biasHi;
            }
#pragma unroll
            for (int kh = 0; kh < 3; ++kh) {
                mma_k16(acc[0], a01[kh][0], b[2 * kh], b[2 * kh + 1]);
                mma_k16(acc[1], a01[kh][1], b[2 * kh], b[2 * kh + 1]);
                mma_k8(acc[2], a2[kh], b[2 * kh]);
            }
            // Two q times three r are six neighbouring columns of one channel.
            stLo[nt * 12 + 0] = vt_pack(acc[0][0], acc[1][0]);
            stLo[nt * 12 + 1] = vt_pack(acc[2][0], acc[0][1]);
            stLo[nt * 12 + 2] = vt_pack(acc[1][1], acc[2][1]);
            stHi[nt * 12 + 0] = vt_pack(acc[0][2], acc[1][2]);
            stHi[nt * 12 + 1] = vt_pack(acc[2][2], acc[0][3]);
            stHi[nt * 12 + 2] = vt_pack(acc[1][3], acc[2][3]);
        }
        __syncthreads();

        // Words [0, owW) are bias (row 2j), [owW, 2*owW) the row, and after the last row bias again.
        const int words = (j == IH - 1) ? 3 * owW : 2 * owW;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int oc = warp * 2 + h;
            const unsigned bv = sbias[oc];
            const long long start = ((long long)(z * 16 + oc) * OH + 2 * j) * owW;
            const int phase = (int)(start & 3);
            unsigned* dst = outW + (start - phase);           // 16-byte aligned
            const unsigned* src = stg + oc * RT_STG;
            const int nv = (phase + words + 3) >> 2;
            const int shift = 4 + ((phase + owW) & 3) - owW;                // word of the run -> word of the buffer
            for (int i = lane; i < nv; i += 32) {
                const int w0 = 4 * i - phase;
                if (w0 >= 0 && w0 + 3 < owW) {
                    reinterpret_cast<uint4*>(dst)[i] = make_uint4(bv, bv, bv, bv);
                } else if (w0 >= owW && w0 + 3 < 2 * owW) {
                    reinterpret_cast<uint4*>(dst)[i] = *reinterpret_cast<const uint4*>(src + w0 + shift);
                } else {
#pragma unroll
                    for (int e = 0; e < 4; ++e) {
                        const int ww = w0 + e;
                        if (ww >= 0 && ww < words) {
                            unsigned x = bv;
                            if (ww >= owW && ww < 2 * owW) x = src[ww + shift];
                            dst[4 * i + e] = x;
                        }
                    }
                }
            }
        }
        // No barrier here: the next row goes to the other buffer, and the barrier of that row
        // stands between these reads and the next use of this one.
    }
}

static int gcd_int(int a, int b) {
    while (b != 0) { const int r = a % b; a = b; b = r; }
    return a;
}

void launch_gpu_implementation(void* output, void* input, void* weight, void* bias, int batch_size, int in_channels, int out_channels, int input_height, int input_width, int kernel_height, int kernel_width, int stride_height, int stride_width, int padding_height, int padding_width, int dilation_height, int dilation_width, int groups)
{
    // Whole rows in a block: input rows of at most RT_Q columns.
    if ((reinterpret_cast<uintptr_t>(output) & 15) == 0 && (reinterpret_cast<uintptr_t>(input) & 3) == 0 &&
        in_channels == groups * 8 && out_channels == groups * 16 &&
        kernel_height == 3 && kernel_width == 5 && stride_height == 2 && stride_width == 3 &&
        padding_height == 1 && padding_width == 2 && dilation_height == 2 && dilation_width == 1 &&
        input_height >= 1 && input_width >= 4 && input_width <= RT_Q && (input_width & 1) == 0 &&
        (long long)batch_size * groups <= 65535) {
        cudaFuncSetAttribute(convt2d_rows_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, RT_SMEM);
        dim3 rgrid((input_height + RT_R - 1) / RT_R, batch_size * groups);
        convt2d_rows_kernel<<<rgrid, RT_THREADS, RT_SMEM>>>(
            static_cast<__half*>(output), static_cast<const __half*>(input),
            static_cast<const __half*>(weight), static_cast<const __half*>(bias),
            input_height, input_width, groups);
        return;
    }

    const bool aligned = (reinterpret_cast<uintptr_t>(output) & 15) == 0 &&
                         (reinterpret_cast<uintptr_t>(input) & 7) == 0;
    if (aligned && in_channels == groups * 8 && out_channels == groups * 16 &&
        kernel_height == 3 && kernel_width == 5 && stride_height == 2 && stride_width == 3 &&
        padding_height == 1 && padding_width == 2 && dilation_height == 2 && dilation_width == 1 &&
        input_height >= 1 && input_width >= 4 && (input_width & 3) == 0 &&
        (long long)batch_size * groups <= 65535 && (input_height + VT_R - 1) / VT_R <= 65535) {
        dim3 vgrid((input_width + VT_Q - 1) / VT_Q, (input_height + VT_R - 1) / VT_R,
                   batch_size * groups);
        convt2d_vec_kernel<<<vgrid, VT_THREADS>>>(
            static_cast<__half*>(output), static_cast<const __half*>(input),
            static_cast<const __half*>(weight), static_cast<const __half*>(bias),
            input_height, input_width, groups);
        return;
    }

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
