// PTX of sm_90a that the wgmma family uses: one thin function an instruction, with its PTX-manual
// name (PTX ISA 8.0, chapters "mbarrier", "cp.async.bulk", "Asynchronous Warpgroup Level MMA").
// Shared-memory addresses are 32-bit addresses of the shared window (cvta_to_shared). No includes:
// NVRTC compiles this file as it stands.
#ifndef WARPSMITH_HGEMM_DEVICE_PTX_SM90_CUH_
#define WARPSMITH_HGEMM_DEVICE_PTX_SM90_CUH_

#define WS_DEVICE __device__ __forceinline__

namespace warpsmith::hgemm::wgmma {

using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

// A CUtensorMap, opaque here. Passed as a __grid_constant__ kernel parameter.
struct alignas(64) TensorMap {
  char bytes[128];
};

namespace ptx {

// ---- addresses, election, registers -------------------------------------------------------------

WS_DEVICE u32 cvta_to_shared(const void* pointer) {
  return static_cast<u32>(__cvta_generic_to_shared(pointer));
}

// The shared::cluster address of `address` in the CTA of the given rank.
WS_DEVICE u32 mapa(u32 address, u32 cta_rank) {
  u32 mapped;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(cta_rank));
  return mapped;
}

WS_DEVICE u32 cluster_ctarank() {
  u32 rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

WS_DEVICE u32 clusterid_x() {
  u32 id;
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(id));
  return id;
}

WS_DEVICE u32 nclusterid_x() {
  u32 count;
  asm("mov.u32 %0, %%nclusterid.x;" : "=r"(count));
  return count;
}

// True in exactly one lane of a converged warp.
WS_DEVICE bool elect_sync() {
  u32 elected;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}"
               : "=r"(elected));
  return elected != 0;
}

template <int kRegisters>
WS_DEVICE void setmaxnreg_inc() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

template <int kRegisters>
WS_DEVICE void setmaxnreg_dec() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// ---- barriers and fences ------------------------------------------------------------------------

// Named barrier `id` (1..15; 0 is __syncthreads) over `threads` threads.
WS_DEVICE void bar_sync(u32 id, u32 threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Counts this thread in without waiting.
WS_DEVICE void bar_arrive(u32 id, u32 threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// Relaxed: orders execution only. The release form costs a fence of the whole GPU.
WS_DEVICE void barrier_cluster_arrive_relaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

WS_DEVICE void barrier_cluster_wait() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

WS_DEVICE void mbarrier_init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

// Makes mbarrier.init visible to the cluster and to the async proxy.
WS_DEVICE void fence_mbarrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

WS_DEVICE void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}

WS_DEVICE void mbarrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrives on a barrier of any CTA in the cluster; the address comes from mapa. Says that reads by
// wgmma are over; it publishes no ordinary writes (a release at cluster scope costs a GPU fence).
WS_DEVICE void mbarrier_arrive_cluster(u32 mapped_barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(mapped_barrier) : "memory");
}

WS_DEVICE bool mbarrier_try_wait_parity(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}

// Returns once the phase of the given parity has completed.
WS_DEVICE void mbarrier_wait_parity(u32 barrier, u32 parity) {
  while (!mbarrier_try_wait_parity(barrier, parity)) {
  }
}

// The same where other CTAs of the cluster wrote what this thread reads next.
WS_DEVICE void mbarrier_wait_parity_cluster(u32 barrier, u32 parity) {
  u32 done;
  do {
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
  } while (done == 0);
}

// Orders ordinary shared-memory writes before later reads by the copy engine.
WS_DEVICE void fence_proxy_async_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- programmatic launches ----------------------------------------------------------------------

// Lets the operation behind this kernel, if it is a programmatic launch, begin once every CTA has
// said so. It must not count on anything that this kernel writes before griddepcontrol_wait.
WS_DEVICE void griddepcontrol_launch_dependents() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}

// Returns once the operation ahead has ended and all it wrote can be seen.
WS_DEVICE void griddepcontrol_wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }

// Has a value that is never -1 worked out here and not after a wait that follows. Nothing less than
// an effect that hangs on it keeps the assembler from that.
WS_DEVICE void work_out_here(int value) {
  asm volatile("{\n.reg .pred p;\nsetp.eq.s32 p, %0, -1;\n@p trap;\n}" ::"r"(value) : "memory");
}

// ---- TMA ----------------------------------------------------------------------------------------

WS_DEVICE void prefetch_tensormap(const TensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

WS_DEVICE void cp_async_bulk_tensor_2d_load(u32 destination, const TensorMap* map, int x, int y,
                                            u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      " [%0], [%1, {%2, %3}], [%4];" ::"r"(destination),
      "l"(map), "r"(x), "r"(y), "r"(barrier)
      : "memory");
}

// Writes the box at the same offset of every CTA named in the mask, and completes their barriers.
WS_DEVICE void cp_async_bulk_tensor_2d_load_multicast(u32 destination, const TensorMap* map, int x,
                                                      int y, u32 barrier, u16 cta_mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(destination),
      "l"(map), "r"(x), "r"(y), "r"(barrier), "h"(cta_mask)
      : "memory");
}

// ---- copies by threads --------------------------------------------------------------------------

// Copies 16 bytes, or fills them with zero where `bytes` is 0.
WS_DEVICE void cp_async_16(u32 destination, const u16* source, u32 bytes) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(destination),
               "l"(source), "r"(bytes)
               : "memory");
}

// Arrives once all copies that this thread has begun are done.
WS_DEVICE void cp_async_mbarrier_arrive(u32 barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// L2 policy "evict_first", as createpolicy.fractional makes it for all accesses.
inline constexpr u64 kEvictFirst = 0x12f0000000000000;

template <bool kEvictFirstHint>
WS_DEVICE void cp_async_bulk_tensor_2d_store(const TensorMap* map, int x, int y, u32 source) {
  if constexpr (kEvictFirstHint) {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group.L2::cache_hint"
        " [%0, {%1, %2}], [%3], %4;" ::"l"(map),
        "r"(x), "r"(y), "r"(source), "l"(kEvictFirst)
        : "memory");
  } else {
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
            map),
        "r"(x), "r"(y), "r"(source)
        : "memory");
  }
}

WS_DEVICE void cp_async_bulk_commit_group() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

// Waits until at most kPending of this thread's store groups still read shared memory.
template <int kPending>
WS_DEVICE void cp_async_bulk_wait_group_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

// ---- shared and global memory -------------------------------------------------------------------

WS_DEVICE void stmatrix_x4(u32 address, u32 a, u32 b, u32 c, u32 d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}

// Writes 16 bytes into any CTA of the cluster and then counts them on that CTA's barrier.
WS_DEVICE void st_async_v4(u32 mapped_address, const float* v, u32 mapped_barrier) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32"
      " [%0], {%1, %2, %3, %4}, [%5];" ::"r"(mapped_address),
      "f"(v[0]), "f"(v[1]), "f"(v[2]), "f"(v[3]), "r"(mapped_barrier)
      : "memory");
}

WS_DEVICE void st_shared_v4(u32 address, const float* v) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v[0]), "f"(v[1]),
               "f"(v[2]), "f"(v[3])
               : "memory");
}

WS_DEVICE void ld_shared_v4(float* v, u32 address) {
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
               : "r"(address)
               : "memory");
}

template <bool kEvictFirstHint>
WS_DEVICE void st_global_v4(void* address, const u32* v) {
  if constexpr (kEvictFirstHint) {
    asm volatile("st.global.L2::cache_hint.v4.b32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(address),
                 "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "l"(kEvictFirst)
                 : "memory");
  } else {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v[0]), "r"(v[1]),
                 "r"(v[2]), "r"(v[3])
                 : "memory");
  }
}

// Written by the kernel ahead, hence not the read-only path.
WS_DEVICE void ld_global_v4(float* v, const float* address) {
  asm volatile("ld.global.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3])
               : "l"(address)
               : "memory");
}

WS_DEVICE void st_global_v2(float* address, float x, float y) {
  asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(address), "f"(x), "f"(y) : "memory");
}

WS_DEVICE void st_global_v2(u16* address, u32 x, u32 y) {
  asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(address), "r"(x), "r"(y) : "memory");
}

// Two floats to two elements, `low` in the low half, round to nearest even.
template <bool kBf16>
WS_DEVICE u32 cvt_x2_f32(float low, float high) {
  u32 packed;
  if constexpr (kBf16) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
  }
  return packed;
}

// ---- wgmma --------------------------------------------------------------------------------------

WS_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

WS_DEVICE void wgmma_commit_group() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int kPending>
WS_DEVICE void wgmma_wait_group() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving uses of an accumulator across the point where it stands.
WS_DEVICE void pin_register(float& value) { asm volatile("" : "+f"(value)::"memory"); }

// wgmma_mma_async<N, kTransposeB, kBf16>(d, a, b, accumulate): D = A*B (+ D), m64 x N x k16, FP16
// or BF16 in, FP32 out, A and B by shared-memory descriptors, A K-major, B K-major or (kTransposeB)
// N-major.
template <int kN, int kTransposeB, bool kBf16>
struct Wgmma;

#define WS_D4(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define WS_D16(i) WS_D4(i), WS_D4(i + 4), WS_D4(i + 8), WS_D4(i + 12)
#define WS_D32(i) WS_D16(i), WS_D16(i + 16)
#define WS_R16 "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15"
#define WS_R32 WS_R16 ",%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31"
#define WS_R48 WS_R32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47"
#define WS_R64 WS_R48 ",%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define WS_R80 WS_R64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79"
#define WS_R96 WS_R80 ",%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95"
#define WS_R112 \
  WS_R96 ",%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111"
#define WS_R128 \
  WS_R112 ",%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

// The four trailing operands are numbered after the accumulators, hence passed in as text.
#define WS_WGMMA_OF(bf16, types, n, registers, a, b, accumulate, transpose, ...)                  \
  template <int kTransposeB>                                                                      \
  struct Wgmma<n, kTransposeB, bf16> {                                                            \
    static WS_DEVICE void mma_async(float* d, u64 a_descriptor, u64 b_descriptor, int acc) {      \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, " accumulate                                 \
                   ", 0;\n"                                                                       \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." types " {" registers "}, " a \
                   ", " b ", p, 1, 1, 0, " transpose ";\n}"                                       \
                   : __VA_ARGS__                                                                  \
                   : "l"(a_descriptor), "l"(b_descriptor), "r"(acc), "n"(kTransposeB));           \
    }                                                                                             \
  }
#define WS_WGMMA(...)                         \
  WS_WGMMA_OF(false, "f16.f16", __VA_ARGS__); \
  WS_WGMMA_OF(true, "bf16.bf16", __VA_ARGS__)

WS_WGMMA(32, WS_R16, "%16", "%17", "%18", "%19", WS_D16(0));
WS_WGMMA(64, WS_R32, "%32", "%33", "%34", "%35", WS_D32(0));
WS_WGMMA(96, WS_R48, "%48", "%49", "%50", "%51", WS_D32(0), WS_D16(32));
WS_WGMMA(128, WS_R64, "%64", "%65", "%66", "%67", WS_D32(0), WS_D32(32));
WS_WGMMA(160, WS_R80, "%80", "%81", "%82", "%83", WS_D32(0), WS_D32(32), WS_D16(64));
WS_WGMMA(192, WS_R96, "%96", "%97", "%98", "%99", WS_D32(0), WS_D32(32), WS_D32(64));
WS_WGMMA(256, WS_R128, "%128", "%129", "%130", "%131", WS_D32(0), WS_D32(32), WS_D32(64),
         WS_D32(96));

template <int kN, int kTransposeB, bool kBf16>
WS_DEVICE void wgmma_mma_async(float (&d)[kN / 2], u64 a_descriptor, u64 b_descriptor,
                               int accumulate) {
  Wgmma<kN, kTransposeB, kBf16>::mma_async(d, a_descriptor, b_descriptor, accumulate);
}

}  // namespace ptx
}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_DEVICE_PTX_SM90_CUH_
