// One thin function per PTX instruction, named as in the PTX ISA manual (dots and colons become
// underscores). Everything here assembles for sm_80, except the last section (sm_90 clusters).
// Compiled by NVRTC with no CUDA header: the few types the kernels need are declared here.
#ifndef WARPSMITH_HGEMM_DEVICE_PTX_CUH_
#define WARPSMITH_HGEMM_DEVICE_PTX_CUH_

namespace warpsmith::hgemm {

using uint16_t = unsigned short;
using uint32_t = unsigned int;
using half_t = uint16_t;  // the 16 bits of an FP16 or BF16; never computed with directly

struct uint2_t {
  uint32_t x, y;
};
struct uint4_t {
  uint32_t x, y, z, w;
};
struct alignas(8) float2_t {
  float x, y;
};
struct alignas(16) float4_t {
  float x, y, z, w;
};

}  // namespace warpsmith::hgemm

namespace warpsmith::hgemm::ptx {

#define WARPSMITH_PTX __device__ __forceinline__

// ---- addresses -------------------------------------------------------------------------------

WARPSMITH_PTX uint32_t cvta_to_shared(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- global loads of read-only data (the kernels never write what they read) ------------------

WARPSMITH_PTX uint4_t ld_global_nc_v4_b32(const void* p) {
  uint4_t r;
  asm volatile("ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
               : "l"(p));
  return r;
}
WARPSMITH_PTX uint2_t ld_global_nc_v2_b32(const void* p) {
  uint2_t r;
  asm volatile("ld.global.nc.v2.b32 {%0, %1}, [%2];" : "=r"(r.x), "=r"(r.y) : "l"(p));
  return r;
}
WARPSMITH_PTX uint32_t ld_global_nc_b32(const void* p) {
  uint32_t r;
  asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(r) : "l"(p));
  return r;
}
WARPSMITH_PTX uint16_t ld_global_nc_b16(const void* p) {
  uint16_t r;
  asm volatile("ld.global.nc.b16 %0, [%1];" : "=h"(r) : "l"(p));
  return r;
}

// ---- global stores and loads of data written in this launch sequence --------------------------

WARPSMITH_PTX void st_global_v4_b32(void* p, uint32_t x, uint32_t y, uint32_t z, uint32_t w) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}
WARPSMITH_PTX void st_global_v2_b32(void* p, uint32_t x, uint32_t y) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(p), "r"(x), "r"(y) : "memory");
}
WARPSMITH_PTX void st_global_b32(void* p, uint32_t x) {
  asm volatile("st.global.b32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
}
WARPSMITH_PTX void st_global_b16(void* p, uint16_t x) {
  asm volatile("st.global.b16 [%0], %1;" ::"l"(p), "h"(x) : "memory");
}

// Not the read-only path: the kernel ahead, which may still run when this one begins, wrote them.
WARPSMITH_PTX void ld_global_f32(float (&v)[4], const float* p) {
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
               : "l"(p)
               : "memory");
}
WARPSMITH_PTX void ld_global_f32(float (&v)[1], const float* p) {
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(v[0]) : "l"(p) : "memory");
}

// ---- shared memory ---------------------------------------------------------------------------

WARPSMITH_PTX void st_shared_v4_b32(uint32_t address, uint4_t v) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}
WARPSMITH_PTX void st_shared_b32(uint32_t address, uint32_t v) {
  asm volatile("st.shared.b32 [%0], %1;" ::"r"(address), "r"(v) : "memory");
}
WARPSMITH_PTX uint4_t ld_shared_v4_b32(uint32_t address) {
  uint4_t r;
  asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w)
               : "r"(address)
               : "memory");
  return r;
}
WARPSMITH_PTX void st_shared_v4_f32(uint32_t address, float4_t v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v.x), "f"(v.y),
               "f"(v.z), "f"(v.w)
               : "memory");
}
WARPSMITH_PTX float4_t ld_shared_v4_f32(uint32_t address) {
  float4_t r;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w)
               : "r"(address)
               : "memory");
  return r;
}

// ---- barriers among some warps of a CTA ---------------------------------------------------------

template <int kBarrier, int kThreads>
WARPSMITH_PTX void bar_sync() {
  asm volatile("bar.sync %0, %1;" ::"n"(kBarrier), "n"(kThreads) : "memory");
}

// ---- asynchronous copies (sm_80) ---------------------------------------------------------------

// Copies `source_bytes` (0 or 16) from global memory and fills the rest of the 16 bytes with zero.
WARPSMITH_PTX void cp_async_cg_shared_global_16(uint32_t address, const void* source,
                                                uint32_t source_bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(address), "l"(source),
               "r"(source_bytes)
               : "memory");
}
WARPSMITH_PTX void cp_async_cg_shared_global_16(uint32_t address, const void* source) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(address), "l"(source)
               : "memory");
}
WARPSMITH_PTX void cp_async_commit_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int kPending>
WARPSMITH_PTX void cp_async_wait_group() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// ---- warp-wide matrix instructions (sm_80) -----------------------------------------------------

WARPSMITH_PTX void ldmatrix_x4_m8n8_b16(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
WARPSMITH_PTX void ldmatrix_x4_trans_m8n8_b16(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
// Transposes an 8x8 matrix of 16-bit elements held one row per four lanes.
WARPSMITH_PTX uint32_t movmatrix_m8n8_trans_b16(uint32_t row) {
  uint32_t column;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(column) : "r"(row));
  return column;
}
// d += a * b; a is 16x16 row-major, b is 16x8 column-major, both f16 or both bf16; d is f32.
template <bool kBf16>
WARPSMITH_PTX void mma_m16n8k16_f32(float (&d)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                                    uint32_t a3, uint32_t b0, uint32_t b1) {
  if constexpr (kBf16) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  }
}

// ---- conversions and bytes ---------------------------------------------------------------------

// Round to nearest even; `low` goes to bits 0-15 (the manual's first source is the UPPER half).
template <bool kBf16>
WARPSMITH_PTX uint32_t cvt_rn_x2_f32(float low, float high) {
  uint32_t r;
  if constexpr (kBf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  }
  return r;
}
template <bool kBf16>
WARPSMITH_PTX uint16_t cvt_rn_f32(float v) {
  uint16_t r;
  if constexpr (kBf16) {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(v));
  } else {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(v));
  }
  return r;
}
template <uint32_t kSelector>
WARPSMITH_PTX uint32_t prmt_b32(uint32_t a, uint32_t b) {
  uint32_t r;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "n"(kSelector));
  return r;
}

// ---- programmatic launches (sm_90) -------------------------------------------------------------

// Lets the operation behind this kernel begin, if it is a programmatic launch, once every CTA has
// said so; it must not count on what this kernel writes before griddepcontrol_wait.
WARPSMITH_PTX void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
// Returns once the operation ahead has ended and all it wrote can be seen.
WARPSMITH_PTX void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Has a pointer that is not null worked out here and not after a wait that follows. Nothing less
// than an effect that hangs on it keeps the assembler from that.
template <class T>
WARPSMITH_PTX void work_out_here(const T* pointer) {
  asm volatile("{\n.reg .pred p;\nsetp.eq.u64 p, %0, 0;\n@p trap;\n}" ::"l"(pointer) : "memory");
}

// ---- thread block clusters (sm_90) -------------------------------------------------------------

WARPSMITH_PTX uint32_t mov_cluster_ctarank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
WARPSMITH_PTX void barrier_cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
WARPSMITH_PTX void barrier_cluster_arrive_release() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
WARPSMITH_PTX void barrier_cluster_wait_acquire() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// The shared::cluster address of `address` (a shared::cta address) in the CTA of rank `rank`.
WARPSMITH_PTX uint32_t mapa_shared_cluster(uint32_t address, uint32_t rank) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
  return r;
}
WARPSMITH_PTX void st_shared_cluster_v2_f32(uint32_t address, float2_t v) {
  asm volatile("st.shared::cluster.v2.f32 [%0], {%1, %2};" ::"r"(address), "f"(v.x), "f"(v.y)
               : "memory");
}
WARPSMITH_PTX void st_shared_cluster_v4_f32(uint32_t address, float4_t v) {
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v.x),
               "f"(v.y), "f"(v.z), "f"(v.w)
               : "memory");
}

}  // namespace warpsmith::hgemm::ptx

#endif  // WARPSMITH_HGEMM_DEVICE_PTX_CUH_
