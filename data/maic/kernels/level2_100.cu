// [71 lines of init.cu stand here]
// ---------------------------------------------------------------------------
// Fast path: 32 -> 16 channels, kernel 3, stride 2, padding 1, input 16 x 32 x 32.
//
// Along each axis an even output 2i takes input i with kernel index 1; an odd output 2i+1 takes
// input i with kernel index 2 and input i+1 with kernel index 0. So the outputs fall into 8 parity
// classes, and each is a sum of plain products (16 output channels x positions x 32 input channels)
// over the input's 2x2x2 neighbours: no tap is computed that does not count.
// A block: one n, 8 rows h, four depths d in turn; a warp: one row h, 32 positions w, on tensor cores.
// Three input planes lie in a ring: d and d + 1 are in use while d + 2 is fetched.
constexpr int Q_DEPTHS = 4;
constexpr int QCHUNK = 9 * 32 * 16;            // bytes of a plane's chunk of 8 channels (9 rows, 32 columns)
constexpr int QPLANE = 4 * QCHUNK;             // 18432
constexpr int QITEMS = 4 * 9 * 16;             // a plane's items: 8 channels of two positions
constexpr int QSPAN = 1016;                    // halves a channel in the output stage
constexpr int Q_IN_BYTES = 3 * QPLANE;         // 55296
constexpr int Q_W_ITEMS = 27 * 2 * 32;         // A fragments of 16 bytes
constexpr int Q_W_BYTES = Q_W_ITEMS * 16;      // 27648
constexpr int Q_SMEM = Q_IN_BYTES + Q_W_BYTES + 16 * QSPAN * 2;   // 115456: two blocks an SM

__device__ __forceinline__ void ldsm4(unsigned (&r)[4], unsigned addr) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(addr) : "memory");
}
__device__ __forceinline__ void mma16816(float (&c)[4], const uint4& a, unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

// Item i of input plane id: 8 channels of two neighbouring positions; zeros beyond the input.
__device__ __forceinline__ void load_item(unsigned (&v)[8], const half* __restrict__ input,
                                          int i, int n, int id, int h0)
{
    const int wp = i & 15;
    const int r = i >> 4;
    const int chunk = r / 9;
    const int ih = h0 + (r - chunk * 9);
    if (id < 16 && ih < 32) {
        const half* src = input + (((n * 32 + chunk * 8) * 16 + id) * 32 + ih) * 32 + wp * 2;
#pragma unroll
        for (int j = 0; j < 8; ++j) v[j] = *reinterpret_cast<const unsigned*>(src + j * 16384);
    } else {
#pragma unroll
        for (int j = 0; j < 8; ++j) v[j] = 0u;
    }
}
__device__ __forceinline__ void store_item(const unsigned (&v)[8], unsigned char* plane, int i)
{
    const int wp = i & 15;
    const int r = i >> 4;                      // chunk * 9 + row
    const uint4 lo = make_uint4(__byte_perm(v[0], v[1], 0x5410), __byte_perm(v[2], v[3], 0x5410),
                                __byte_perm(v[4], v[5], 0x5410), __byte_perm(v[6], v[7], 0x5410));
    const uint4 hi = make_uint4(__byte_perm(v[0], v[1], 0x7632), __byte_perm(v[2], v[3], 0x7632),
                                __byte_perm(v[4], v[5], 0x7632), __byte_perm(v[6], v[7], 0x7632));
    uint4* dst = reinterpret_cast<uint4*>(plane) + r * 32 + wp * 2;
    const bool sw = (wp & 4) != 0;             // so that eight lanes meet eight different bank groups
    dst[sw ? 1 : 0] = sw ? hi : lo;
    dst[sw ? 0 : 1] = sw ? lo : hi;
}

// All products of depth parity PD; b0 and b1 address this lane's rows in planes d and d + 1.
template <int PD>
__device__ __forceinline__ void depth_mma(float (&acc)[4][4][4], unsigned b0, unsigned b1, const uint4* sW,
                                          float bias_lo, float bias_hi)
{
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            acc[i][j][0] = bias_lo;
            acc[i][j][1] = bias_lo;
            acc[i][j][2] = bias_hi;
            acc[i][j][3] = bias_hi;
        }

#pragma unroll
    for (int a = 0; a <= PD; ++a) {
        const int kd = (PD == 0) ? 1 : (a == 0 ? 2 : 0);
        const unsigned pb = a == 0 ? b0 : b1;
#pragma unroll
        for (int b = 0; b < 2; ++b) {
#pragma unroll
            for (int c = 0; c < 2; ++c) {
                // With c = 1 position 32 is whatever follows: it feeds only an output that does not exist.
                unsigned bf[2][2][4];
#pragma unroll
                for (int ks = 0; ks < 2; ++ks)
#pragma unroll
                    for (int jp = 0; jp < 2; ++jp)
                        ldsm4(bf[ks][jp], pb + (unsigned)(ks * 2 * QCHUNK + (b * 32 + c + jp * 16) * 16));
#pragma unroll
                for (int ph = b; ph < 2; ++ph) {
                    const int kh = (ph == 0) ? 1 : (b == 0 ? 2 : 0);
#pragma unroll
                    for (int pw = c; pw < 2; ++pw) {
                        const int kw = (pw == 0) ? 1 : (c == 0 ? 2 : 0);
                        const int tap = (kd * 3 + kh) * 3 + kw;
#pragma unroll
                        for (int ks = 0; ks < 2; ++ks) {
                            const uint4 af = sW[(tap * 2 + ks) * 32 + lane];
#pragma unroll
                            for (int j = 0; j < 4; ++j)
                                mma16816(acc[ph * 2 + pw][j], af,
                                         bf[ks][j >> 1][(j & 1) * 2], bf[ks][j >> 1][(j & 1) * 2 + 1]);
                        }
                    }
                }
            }
        }
    }
}

// The block's rows are one contiguous span for a channel; the stage keeps the span's alignment.
__device__ __forceinline__ void stage_outputs(const float (&acc)[4][4][4], half* sOut, int alignOff,
                                              float min_value, float inv, int n, int od, int h0)
{
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int q = lane & 3;
    const int next = (lane & 28) | ((q + 1) & 3);
#pragma unroll
    for (int hf = 0; hf < 2; ++hf) {
        const int oc = (lane >> 2) + hf * 8;
        const int G = ((n * 16 + oc) * 31 + od) * 3969 + h0 * 126;
        const int sh = (G + alignOff) & 7;
#pragma unroll
        for (int ph = 0; ph < 2; ++ph) {
            const int rr = 2 * warp + ph;
            if (2 * h0 + rr < 63) {            // the same for the whole warp
                // Four neighbouring outputs a lane and j, as two words.
                unsigned p01[4], p23[4];
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    const half2 x = __floats2half2_rn(fmaxf(acc[ph * 2][j][hf * 2], min_value) * inv,
                                                      fmaxf(acc[ph * 2 + 1][j][hf * 2], min_value) * inv);
                    const half2 y = __floats2half2_rn(fmaxf(acc[ph * 2][j][hf * 2 + 1], min_value) * inv,
                                                      fmaxf(acc[ph * 2 + 1][j][hf * 2 + 1], min_value) * inv);
                    p01[j] = *reinterpret_cast<const unsigned*>(&x);
                    p23[j] = *reinterpret_cast<const unsigned*>(&y);
                }
                const int o = sh + rr * 63;
                const bool odd = (o & 1) != 0;
                // Where the row starts at an odd element the words are shifted by one element.
                const unsigned sel = odd ? 0x5432u : 0x3210u;
                half* dst = sOut + oc * QSPAN + o;
                unsigned* word = reinterpret_cast<unsigned*>(dst + (odd ? 1 : 0)) + q * 2;
                if (odd && q == 0) *dst = __ushort_as_half((unsigned short)(p01[0] & 0xffffu));
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    // The first word after this lane's four: lane q + 1, or lane 0 of the next eight positions.
                    const unsigned give = (q == 0) ? p01[j < 3 ? j + 1 : 3] : p01[j];
                    const unsigned nx = __shfl_sync(0xffffffffu, give, next);
                    word[j * 8] = __byte_perm(p01[j], p23[j], sel);
                    if (j < 3 || q < 3) word[j * 8 + 1] = __byte_perm(p23[j], nx, sel);
                }
                if (!odd && q == 3)            // output 62; 63 does not exist
                    dst[62] = __ushort_as_half((unsigned short)(p23[3] & 0xffffu));
            }
        }
    }
}

__device__ __forceinline__ void copy_outputs(const half* sOut, half* __restrict__ output, int alignOff,
                                             int n, int od, int h0)
{
    const int lane = threadIdx.x & 31;
    const int warp = threadIdx.x >> 5;
    const int len = min(16, 63 - 2 * h0) * 63;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        const int oc = warp + i * 8;
        const int G = ((n * 16 + oc) * 31 + od) * 3969 + h0 * 126;
        const int sh = (G + alignOff) & 7;
        const half* src = sOut + oc * QSPAN;
        half* dst = output + ((long long)G - sh);
        const int end = sh + len;
        for (int v = lane * 8; v < end; v += 256) {
            if (v >= sh && v + 8 <= end) {
                *reinterpret_cast<uint4*>(dst + v) = *reinterpret_cast<const uint4*>(src + v);
            } else {
#pragma unroll
                for (int e = 0; e < 8; ++e)
                    if (v + e >= sh && v + e < end) dst[v + e] = src[v + e];
            }
        }
    }
}

__global__ void __launch_bounds__(256, 2)
conv_transpose_fast_kernel(const half* __restrict__ input, const half* __restrict__ weight,
                           const half* __restrict__ bias, half* __restrict__ output,
                           float min_value, float inv)
{
    extern __shared__ __align__(128) unsigned char qsm[];
    uint4* sW = reinterpret_cast<uint4*>(qsm + Q_IN_BYTES);
    half* sOut = reinterpret_cast<half*>(qsm + Q_IN_BYTES + Q_W_BYTES);

    const int t = threadIdx.x;
    const int lane = t & 31;
    const int warp = t >> 5;
    const int h0 = blockIdx.x * 8;
    const int d0 = blockIdx.y * Q_DEPTHS;
    const int n = blockIdx.z;
    const int alignOff = (int)((reinterpret_cast<size_t>(output) >> 1) & 7);

    // Raw weights to the stage, planes d0 and d0 + 1 to the ring.
    for (int i = t; i < Q_W_ITEMS; i += 256)
        reinterpret_cast<uint4*>(sOut)[i] = reinterpret_cast<const uint4*>(weight)[i];
    for (int i = t; i < 2 * QITEMS; i += 256) {
        const int pl = i >= QITEMS ? 1 : 0;
        unsigned v[8];
        load_item(v, input, i - pl * QITEMS, n, d0 + pl, h0);
        store_item(v, qsm + pl * QPLANE, i - pl * QITEMS);
    }
    const float bias_lo = (bias != nullptr) ? __half2float(bias[lane >> 2]) : 0.f;
    const float bias_hi = (bias != nullptr) ? __half2float(bias[(lane >> 2) + 8]) : 0.f;
    __syncthreads();

    // Weights in the order of the mma's A fragments: [tap][k step][lane][4 registers].
    {
        const unsigned short* raw = reinterpret_cast<const unsigned short*>(sOut);
        for (int i = t; i < Q_W_ITEMS; i += 256) {
            const int wl = i & 31;
            const int ks = (i >> 5) & 1;
            const int tap = i >> 6;
            unsigned r[4];
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                const int oc = (wl >> 2) + (q & 1) * 8;
                const int k = ks * 16 + (wl & 3) * 2 + (q >> 1) * 8;
                const unsigned lo = raw[(k * 16 + oc) * 27 + tap];
                const unsigned hi = raw[((k + 1) * 16 + oc) * 27 + tap];
                r[q] = lo | (hi << 16);
            }
            sW[i] = make_uint4(r[0], r[1], r[2], r[3]);
        }
    }

    // ldmatrix: lanes 0-7 positions w..w+7 of chunk 0, 8-15 chunk 1, 16-23 w+8.. chunk 0, 24-31 chunk 1.
    const unsigned laneB = (unsigned)__cvta_generic_to_shared(qsm) +
                           (unsigned)(((lane >> 3) & 1) * QCHUNK) +
                           (unsigned)((warp * 32 + (lane >> 4) * 8 + (lane & 7)) * 16);

#pragma unroll 1
    for (int s = 0; s < Q_DEPTHS; ++s) {
        const int d = d0 + s;
        const int cur = s % 3;
        const int nxt = (s + 1) % 3;
        unsigned char* fill = qsm + ((s + 2) % 3) * QPLANE;
        const bool more = s + 1 < Q_DEPTHS && d + 2 < 16;   // plane d + 2 is wanted
        float acc[4][4][4];
        unsigned v[8];

        __syncthreads();                       // plane d + 1 (and the weights) are there, the stage is free
        if (more) load_item(v, input, t, n, d + 2, h0);
        depth_mma<0>(acc, laneB + cur * QPLANE, laneB + nxt * QPLANE, sW, bias_lo, bias_hi);
        if (more) {
            store_item(v, fill, t);
            if (t < QITEMS - 512) load_item(v, input, t + 512, n, d + 2, h0);
        }
        stage_outputs(acc, sOut, alignOff, min_value, inv, n, 2 * d, h0);
        if (more && t < QITEMS - 512) store_item(v, fill, t + 512);
        __syncthreads();
        copy_outputs(sOut, output, alignOff, n, 2 * d, h0);

        if (d < 15) {
            if (more) load_item(v, input, t + 256, n, d + 2, h0);
            depth_mma<1>(acc, laneB + cur * QPLANE, laneB + nxt * QPLANE, sW, bias_lo, bias_hi);
            if (more) store_item(v, fill, t + 256);
            __syncthreads();                   // the copy above has left the stage
            stage_outputs(acc, sOut, alignOff, min_value, inv, n, 2 * d + 1, h0);
            __syncthreads();
            copy_outputs(sOut, output, alignOff, n, 2 * d + 1, h0);
        }
    }
}

// [5 lines of init.cu stand here]
    
    if (in_channels == 32 && out_channels == 16 && kernel_size == 3 && stride == 2 && padding == 1 &&
        (reinterpret_cast<size_t>(input) & 3) == 0 && (reinterpret_cast<size_t>(weight) & 15) == 0) {
        cudaFuncSetAttribute(conv_transpose_fast_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Q_SMEM);
        conv_transpose_fast_kernel<<<dim3(4, 16 / Q_DEPTHS, 16), 256, Q_SMEM>>>(
            static_cast<const half*>(input), static_cast<const half*>(weight), static_cast<const half*>(bias),
            static_cast<half*>(output), min_value, 1.0f / divisor);
        return;
    }
// [29 lines of init.cu stand here]
}
