// Slots: poison and guards between them, copies of contents, comparisons.
#ifndef WARPSMITH_JUDGE_DEVICE_SLOTS_CUH_
#define WARPSMITH_JUDGE_DEVICE_SLOTS_CUH_

#include "judge/device/half.cuh"

// Slot s of a region begins at guard + s * (padded + guard). Must match judge::Region in
// src/judge/slot_plan.h.
struct Region {
  u8* base;
  i64 slots;
  i64 bytes;   // of the tensor: exact, of any parity
  i64 padded;  // to the slot alignment
  i64 guard;
  i64 end;  // where the last guard ends
};

__device__ __forceinline__ i64 SlotStart(const Region& region, i64 slot) {
  return region.guard + slot * (region.padded + region.guard);
}

// Every element of every slot. grid: (blocks, slots)
extern "C" __global__ void JudgePoison(Region region, u32 pattern) {
  u8* slot = region.base + SlotStart(region, blockIdx.y);
  const u32 word = (pattern & 0xffffu) * 0x10001u;
  const i64 vectors = region.bytes / 16, halves = region.bytes / 2;
  for (i64 i = GlobalThread(); i < vectors; i += GlobalThreads()) {
    reinterpret_cast<uint4*>(slot)[i] = make_uint4(word, word, word, word);
  }
  for (i64 i = vectors * 8 + GlobalThread(); i < halves; i += GlobalThreads()) {
    reinterpret_cast<u16*>(slot)[i] = (u16)pattern;
  }
  if (region.bytes % 2 != 0 && GlobalThread() == 0) slot[region.bytes - 1] = (u8)pattern;
}

__device__ __forceinline__ u16 GuardValue(u64 secret, i64 offset) {
  return (u16)Mix(secret ^ (u64)offset);
}

struct Gap {
  i64 begin, end;
};

// Gap g lies before slot g, gap `slots` after the last one; it begins at the tensor's exact end, up
// to the next even address.
__device__ __forceinline__ Gap GapOf(const Region& region, i64 gap) {
  const i64 begin = gap == 0 ? 0 : SlotStart(region, gap - 1) + (region.bytes + 1) / 2 * 2;
  return {begin, gap == region.slots ? region.end : SlotStart(region, gap)};
}

// grid: (1, slots + 1)
extern "C" __global__ void JudgeFillGuards(Region region, u64 secret) {
  const Gap gap = GapOf(region, blockIdx.y);
  for (i64 at = gap.begin + 2 * GlobalThread(); at < gap.end; at += 2 * GlobalThreads()) {
    *reinterpret_cast<u16*>(region.base + at) = GuardValue(secret, at);
  }
}

// `damage[0]`: how many 16-bit words differ.
extern "C" __global__ void JudgeCheckGuards(Region region, u64 secret, u32* damage) {
  const Gap gap = GapOf(region, blockIdx.y);
  u32 wrong = 0;
  for (i64 at = gap.begin + 2 * GlobalThread(); at < gap.end; at += 2 * GlobalThreads()) {
    wrong += *reinterpret_cast<const u16*>(region.base + at) != GuardValue(secret, at);
  }
  if (wrong > 0) atomicAdd(damage, wrong);
}

struct CopyEntry {
  u8* target;
  const u8* source;
};

// `bytes` of every entry. grid: (blocks, entries)
extern "C" __global__ void JudgeCopy(const CopyEntry* entries, i64 bytes) {
  const CopyEntry entry = entries[blockIdx.y];
  const i64 vectors = bytes / 16;
  for (i64 i = GlobalThread(); i < vectors; i += GlobalThreads()) {
    reinterpret_cast<uint4*>(entry.target)[i] = reinterpret_cast<const uint4*>(entry.source)[i];
  }
  for (i64 at = vectors * 16 + GlobalThread(); at < bytes; at += GlobalThreads()) {
    entry.target[at] = entry.source[at];
  }
}

struct CompareEntry {
  const u8* data;
  const u8* expected;  // null: every 16-bit word must be `pattern`
};

// `differences[e]`: how many words of entry e differ (of 4 bytes, and bytes at the end). grid:
// (blocks, entries)
extern "C" __global__ void JudgeCompare(const CompareEntry* entries, i64 bytes, u32 pattern,
                                        u32* differences) {
  const CompareEntry entry = entries[blockIdx.y];
  const uint4* data = reinterpret_cast<const uint4*>(entry.data);
  const uint4* expected = reinterpret_cast<const uint4*>(entry.expected);
  const u32 word = (pattern & 0xffffu) * 0x10001u;
  const i64 vectors = bytes / 16;
  u32 wrong = 0;
  for (i64 i = GlobalThread(); i < vectors; i += GlobalThreads()) {
    const uint4 have = data[i];
    const uint4 want = expected != nullptr ? expected[i] : make_uint4(word, word, word, word);
    wrong += (have.x != want.x) + (have.y != want.y) + (have.z != want.z) + (have.w != want.w);
  }
  for (i64 at = vectors * 16 + GlobalThread(); at < bytes; at += GlobalThreads()) {
    // The last byte of an odd size holds the pattern's low byte (JudgePoison).
    const u8 byte = (u8)(at % 2 == 0 ? pattern : pattern >> 8);
    wrong += entry.data[at] != (entry.expected != nullptr ? entry.expected[at] : byte);
  }
  if (wrong > 0) atomicAdd(&differences[blockIdx.y], wrong);
}

// Reads a buffer larger than the L2, so that what was there before is gone (and written back). The
// loads go past L1; `sink` is never written, the compiler just cannot know.
extern "C" __global__ void JudgeEvict(const uint4* buffer, i64 vectors, u32* sink) {
  u32 sum = 0;
  for (i64 i = GlobalThread(); i < vectors; i += GlobalThreads()) {
    u32 x, y, z, w;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
                 : "l"(buffer + i));
    sum += x ^ y ^ z ^ w;
  }
  if (sum == 0x5eed5eedu && vectors < 0) *sink = sum;
}

// Must match judge::FlipParameters in src/judge/kernels.h.
struct FlipParameters {
  u8* data[7];
  i64 bytes[7];
  int count;
  u32 delay_us;
};

// Turns every bit of the tensors around. With a delay it lets a kernel behind it that is launched
// programmatically begin at once, and turns them only after that time, as a slow producer would:
// who does not wait for it reads them before.
extern "C" __global__ void JudgeFlip(FlipParameters p) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (p.delay_us > 0) asm volatile("griddepcontrol.launch_dependents;");
#endif
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < (u64)p.delay_us * 1000);
  for (int tensor = 0; tensor < p.count; ++tensor) {
    volatile u32* words = reinterpret_cast<volatile u32*>(p.data[tensor]);
    const i64 count = p.bytes[tensor] / 4;
    for (i64 i = GlobalThread(); i < count; i += GlobalThreads()) words[i] = ~words[i];
    for (i64 at = count * 4 + GlobalThread(); at < p.bytes[tensor]; at += GlobalThreads()) {
      p.data[tensor][at] = (u8)~p.data[tensor][at];
    }
  }
}

// How long this kernel was off the device within `duration_us`: where another context's kernels are
// at work, the device is theirs by turns. One thread.
extern "C" __global__ void JudgeWatch(u32 duration_us, u64* away_ns) {
  u64 begin, now, last, away = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  last = begin;
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (now - last > 100000) away += now - last;
    last = now;
  } while (now - begin < (u64)duration_us * 1000);
  *away_ns = away;
}

// Must match judge::FloodParameters in src/judge/kernels.h.
struct FloodParameters {
  u32* arrived;  // zero before the launch
  u32 hold_us;   // blocks stay so long, and until all have begun (at most kMostWaitUs)
  u32 shared_bytes;
};
constexpr u32 kFloodThreads = 512, kMostWaitUs = 300;

// Takes its part of the device and writes over what it was given: shared memory, and `kWords` of
// local memory a thread. All blocks are there at once, so every place is somebody's.
template <int kWords>
__device__ __forceinline__ void Flood(const FloodParameters& p) {
  extern __shared__ u32 shared[];
  u32 frame[kWords > 0 ? kWords : 1];
#pragma unroll 1
  for (int i = 0; i < kWords; ++i) {  // as text, lest it be left out: nobody reads it
    asm volatile(
        "{.reg .u64 at; cvta.to.local.u64 at, %0; st.local.u32 [at], %1;}" ::"l"(&frame[i]), "r"(0)
        : "memory");
  }
#pragma unroll 1
  for (u32 i = threadIdx.x; i < p.shared_bytes / 4; i += kFloodThreads) shared[i] = 0;
  __syncthreads();  // whoever holds the block's place has written all of it
  if (threadIdx.x == 0) {
    u64 begin, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
    atomicAdd(p.arrived, 1u);
    bool all = false;
    do {
      all = all || *reinterpret_cast<volatile u32*>(p.arrived) >= gridDim.x;
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - begin < (u64)p.hold_us * 1000 ||
             (!all && now - begin < (u64)kMostWaitUs * 1000));
  }
  __syncthreads();  // nobody leaves before
}
extern "C" __global__ void __launch_bounds__(512, 4) JudgeFlood(FloodParameters p) { Flood<0>(p); }
extern "C" __global__ void __launch_bounds__(512, 4) JudgeFlood4096(FloodParameters p) {
  Flood<1024>(p);
}
extern "C" __global__ void __launch_bounds__(512, 4) JudgeFlood16384(FloodParameters p) {
  Flood<4096>(p);
}

// Ends when `count` blocks of a flood beside it have begun, or after kMostWaitUs. One thread.
extern "C" __global__ void JudgeAwaitFlood(const u32* arrived, u32 count) {
  u64 begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (*reinterpret_cast<const volatile u32*>(arrived) < count &&
           now - begin < (u64)kMostWaitUs * 1000);
}

// Cycles that each of `count` loads takes, `stride` bytes apart, past L1: what L2 has comes sooner.
// One thread a slot. grid: (slots)
extern "C" __global__ void JudgeProbeLatency(const u64* slots, i64 stride, u32 count, u32* cycles) {
  const u8* at = reinterpret_cast<const u8*>(slots[blockIdx.x]);
  u32 sum = 0;
#pragma unroll 1
  for (u32 i = 0; i < count; ++i) {
    u64 begin, end;
    u32 value;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(begin)::"memory");
    asm volatile("ld.global.cg.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(at + (i64)i * stride + (sum & 0u))
                 : "memory");
    sum += value;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(end) : "r"(sum) : "memory");
    cycles[blockIdx.x * count + i] = (u32)(end - begin);
  }
  if (sum == 0x5eed5eedu && count == 0) cycles[0] = sum;
}

// Is this context alive?
extern "C" __global__ void JudgeProbe(u32* target, u32 value) { *target = value; }

#endif  // WARPSMITH_JUDGE_DEVICE_SLOTS_CUH_
