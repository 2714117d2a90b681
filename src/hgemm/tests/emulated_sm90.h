// A GPU for the wgmma family's device headers, made of threads of the host: it stands in for
// ptx_sm90.cuh, so that tests run the kernels themselves, unchanged, on a machine without a GPU.
// Include it before any device header.
//
// What it keeps of the machine: barriers of all kinds with their phases and parities (a wait by
// parity is fooled as the real one is), swizzles, descriptors, boxes and what TMA does at edges,
// multicast, distributed shared memory, fragments across lanes, and that wgmma reads its operands
// no earlier than somebody waits for it. What it does not: proxies and their fences, registers,
// time, and everything about ordering that threads of the host order anyway.
#ifndef WARPSMITH_HGEMM_DEVICE_PTX_SM90_CUH_  // in its place
#define WARPSMITH_HGEMM_DEVICE_PTX_SM90_CUH_

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#define WS_DEVICE inline
#define __shared__
#define __align__(bytes)

namespace warpsmith::hgemm::wgmma {

using std::min;  // NOLINT(misc-unused-using-decls): CUDA's
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = unsigned long long;

struct Index {
  int x = 0;
};
inline thread_local Index threadIdx, blockIdx, gridDim;

// A row-major matrix of 16-bit elements that boxes are cut from.
struct TensorMap {
  u16* data = nullptr;
  int rows = 0, columns = 0, box_rows = 0, box_columns = 0;
};

namespace emulated {

inline constexpr u32 kSharedBase = 1024, kSharedBytes = 256 * 1024;
inline constexpr auto kPatience = std::chrono::seconds(60);  // then it is a deadlock

// Threads that wait for each other again and again.
class Meeting {
 public:
  explicit Meeting(int threads) : threads_(threads) {}
  void Arrive() {
    const std::lock_guard lock(mutex_);
    Count();
  }
  void ArriveAndWait() {
    std::unique_lock lock(mutex_);
    const u32 mine = round_;
    Count();
    Await(lock, [&] { return round_ != mine; });
  }
  // For those who arrived by Arrive, with what Round said before.
  u32 Round() {
    const std::lock_guard lock(mutex_);
    return round_;
  }
  void WaitAfter(u32 round) {
    std::unique_lock lock(mutex_);
    Await(lock, [&] { return round_ != round; });
  }

 private:
  void Count() {
    if (++arrived_ < threads_) return;
    arrived_ = 0;
    ++round_;
    changed_.notify_all();
  }
  template <class Done>
  void Await(std::unique_lock<std::mutex>& lock, Done done) {
    if (changed_.wait_for(lock, kPatience, done)) return;
    std::fprintf(stderr, "emulated barrier: %d of %d threads came\n", arrived_, threads_);
    std::abort();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const int threads_;
  int arrived_ = 0;
  u32 round_ = 0;
};

struct Barrier {  // an mbarrier
  int count = 0, pending = 0;
  int64_t bytes = 0;
  u32 phase = 0;

  void Settle() {
    if (pending != 0 || bytes != 0) return;
    ++phase;
    pending = count;
  }
};

struct Warp {
  Meeting meeting{32};
  u64 slot[32] = {};
};

struct EmulatedCta {
  explicit EmulatedCta(int threads) : shared(kSharedBytes), warps(threads / 32) {
    for (auto& warp : warps) warp = std::make_unique<Warp>();
  }
  std::vector<char> shared;
  std::map<u32, Barrier> barriers;                // by offset
  std::map<u32, std::unique_ptr<Meeting>> named;  // by id
  std::vector<std::unique_ptr<Warp>> warps;
};

struct Cluster {
  Cluster(int ctas, int threads) : meeting(ctas * threads) {
    for (int i = 0; i < ctas; ++i) members.push_back(std::make_unique<EmulatedCta>(threads));
  }
  std::mutex mutex;  // of all mbarriers and of the list of named barriers
  std::condition_variable changed;
  Meeting meeting;
  std::vector<std::unique_ptr<EmulatedCta>> members;
};

struct Thread {
  Cluster* cluster = nullptr;
  u32 rank = 0;
  u32 cluster_round = 0;
  std::vector<std::function<void()>> issued;               // wgmma not in a group yet
  std::vector<std::vector<std::function<void()>>> groups;  // committed, oldest first

  EmulatedCta& cta() const { return *cluster->members[rank]; }
  Warp& warp() const { return *cta().warps[threadIdx.x / 32]; }
};
inline thread_local Thread self;

inline u32 OffsetOf(u32 address) { return address & 0xffffff; }
inline EmulatedCta& CtaOf(u32 address) { return *self.cluster->members.at(address >> 24); }
inline char* At(u32 address) { return CtaOf(address).shared.data() + OffsetOf(address); }

inline void Change(u32 barrier, const std::function<void(Barrier&)>& change) {
  const std::lock_guard lock(self.cluster->mutex);
  Barrier& at = CtaOf(barrier).barriers.at(OffsetOf(barrier));
  change(at);
  at.Settle();
  self.cluster->changed.notify_all();
}

// The value of every lane of the warp, as all lanes gave them.
inline std::vector<u64> Exchange(u64 value) {
  Warp& warp = self.warp();
  warp.slot[threadIdx.x % 32] = value;
  warp.meeting.ArriveAndWait();
  std::vector<u64> all(warp.slot, warp.slot + 32);
  warp.meeting.ArriveAndWait();
  return all;
}

inline float FloatOf(u16 bits, bool bf16) {
  if (bf16) return std::bit_cast<float>(u32{bits} << 16);
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                   : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
  return bits & 0x8000 ? -size : size;
}

// Of finite values in FP16's normal range, and zero.
inline u16 BitsOf(float value, bool bf16) {
  const u32 word = std::bit_cast<u32>(value);
  if (bf16) return static_cast<u16>((word + 0x7fff + (word >> 16 & 1)) >> 16);
  if (value == 0) return 0;
  int exponent = 0;
  std::frexp(value, &exponent);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(std::fabs(value), 11 - exponent)));
  return static_cast<u16>((value < 0 ? 0x8000 : 0) | (((exponent + 14) << 10) + steps - 1024));
}

// Swizzles XOR the 16-byte chunk's bits with bits three above them: of 128-byte rows all three, of
// 64-byte rows two.
inline u32 Swizzled(u32 address, u32 row_bytes) {
  return address ^ (address >> 3 & (row_bytes == 128 ? 0x70 : 0x30));
}

// Element (row, k) of a K-major operand, or (k, n) of an N-major one, at a descriptor.
inline u32 OperandAddress(u64 descriptor, int row, int k) {
  const u32 base = static_cast<u32>(descriptor & 0x3fff) * 16;
  const u32 groups = static_cast<u32>(descriptor >> 32 & 0x3fff) * 16;
  return Swizzled(base + row / 8 * groups + row % 8 * 128 + k * 2, 128);
}
inline u32 OperandAddressNMajor(u64 descriptor, int k, int n) {
  const u32 panels = static_cast<u32>(descriptor >> 16 & 0x3fff) * 16;
  return OperandAddress(descriptor, k, n % 64) + n / 64 * panels;
}

}  // namespace emulated

template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  return static_cast<T>(emulated::Exchange(value)[lane]);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return static_cast<T>(emulated::Exchange(value)[threadIdx.x % 32 ^ mask]);
}
inline void __syncwarp() { emulated::self.warp().meeting.ArriveAndWait(); }

inline char shared[1];  // what the kernel calls its dynamic shared memory

namespace ptx {

using emulated::self;

inline u32 cvta_to_shared(const void*) { return self.rank << 24 | emulated::kSharedBase; }
inline u32 mapa(u32 address, u32 rank) { return emulated::OffsetOf(address) | rank << 24; }
inline u32 cluster_ctarank() { return self.rank; }
inline bool elect_sync() { return threadIdx.x % 32 == 0; }
template <int kRegisters>
void setmaxnreg_inc() {}
template <int kRegisters>
void setmaxnreg_dec() {}

inline emulated::Meeting& Named(u32 id, u32 threads) {
  const std::lock_guard lock(self.cluster->mutex);
  auto& meeting = self.cta().named[id];
  if (!meeting) meeting = std::make_unique<emulated::Meeting>(static_cast<int>(threads));
  return *meeting;
}
inline void bar_sync(u32 id, u32 threads) { Named(id, threads).ArriveAndWait(); }
inline void bar_arrive(u32 id, u32 threads) { Named(id, threads).Arrive(); }
inline void barrier_cluster_arrive_relaxed() {
  self.cluster_round = self.cluster->meeting.Round();
  self.cluster->meeting.Arrive();
}
inline void barrier_cluster_wait() { self.cluster->meeting.WaitAfter(self.cluster_round); }

inline void mbarrier_init(u32 barrier, u32 count) {
  const std::lock_guard lock(self.cluster->mutex);
  const int threads = static_cast<int>(count);
  self.cta().barriers[emulated::OffsetOf(barrier)] = {threads, threads, 0, 0};
}
inline void fence_mbarrier_init() {}
inline void mbarrier_arrive_cluster(u32 barrier) {
  emulated::Change(barrier, [](emulated::Barrier& at) { --at.pending; });
}
inline void mbarrier_arrive(u32 barrier) { mbarrier_arrive_cluster(barrier); }
inline void mbarrier_arrive_expect_tx(u32 barrier, u32 bytes) {
  emulated::Change(barrier, [&](emulated::Barrier& at) {
    at.bytes += bytes;
    --at.pending;
  });
}
inline void mbarrier_wait_parity(u32 barrier, u32 parity) {
  std::unique_lock lock(self.cluster->mutex);
  const emulated::Barrier& at = self.cta().barriers.at(emulated::OffsetOf(barrier));
  if (self.cluster->changed.wait_for(lock, emulated::kPatience,
                                     [&] { return at.phase % 2 != parity; })) {
    return;
  }
  std::fprintf(stderr, "emulated mbarrier: %d arrivals and %ld bytes are missing\n", at.pending,
               static_cast<long>(at.bytes));
  std::abort();
}
inline void mbarrier_wait_parity_cluster(u32 barrier, u32 parity) {
  mbarrier_wait_parity(barrier, parity);
}
inline void fence_proxy_async_shared() {}
inline void cp_async_16(u32 destination, const u16* source, u32 bytes) {
  std::memset(emulated::At(destination), 0, 16);
  std::memcpy(emulated::At(destination), source, bytes);
}
inline void cp_async_mbarrier_arrive(u32 barrier) { mbarrier_arrive(barrier); }
inline void griddepcontrol_launch_dependents() {}
inline void griddepcontrol_wait() {}
inline void prefetch_tensormap(const TensorMap*) {}

// Elements outside of the matrix are read as zero and not written.
template <class Visit>
void ForEachOfBox(const TensorMap& map, int x, int y, u32 shared_address, Visit visit) {
  const u32 row_bytes = map.box_columns * 2;
  for (int row = 0; row < map.box_rows; ++row) {
    for (int column = 0; column < map.box_columns; ++column) {
      const bool inside = y + row < map.rows && x + column < map.columns;
      const u32 at = emulated::Swizzled(shared_address + row * row_bytes + column * 2, row_bytes);
      visit(inside ? map.data + static_cast<size_t>(y + row) * map.columns + x + column : nullptr,
            at);
    }
  }
}
inline void cp_async_bulk_tensor_2d_load_multicast(u32 destination, const TensorMap* map, int x,
                                                   int y, u32 barrier, u16 cta_mask) {
  for (u32 rank = 0; rank < self.cluster->members.size(); ++rank) {
    if ((cta_mask >> rank & 1) == 0) continue;
    ForEachOfBox(*map, x, y, mapa(destination, rank), [](const u16* element, u32 at) {
      const u16 bits = element == nullptr ? 0 : *element;
      std::memcpy(emulated::At(at), &bits, 2);
    });
    emulated::Change(mapa(barrier, rank), [&](emulated::Barrier& at) {
      at.bytes -= map->box_rows * map->box_columns * 2;
    });
  }
}
inline void cp_async_bulk_tensor_2d_load(u32 destination, const TensorMap* map, int x, int y,
                                         u32 barrier) {
  cp_async_bulk_tensor_2d_load_multicast(destination, map, x, y, barrier,
                                         static_cast<u16>(1 << self.rank));
}
template <bool kEvictFirstHint>
void cp_async_bulk_tensor_2d_store(const TensorMap* map, int x, int y, u32 source) {
  ForEachOfBox(*map, x, y, source, [](u16* element, u32 at) {
    if (element != nullptr) std::memcpy(element, emulated::At(at), 2);
  });
}
inline void cp_async_bulk_commit_group() {}
template <int kPending>
void cp_async_bulk_wait_group_read() {}

inline void stmatrix_x4(u32 address, u32 a, u32 b, u32 c, u32 d) {
  const std::vector<u64> rows = emulated::Exchange(address);
  const int lane = threadIdx.x % 32;
  const u32 words[4] = {a, b, c, d};
  for (int matrix = 0; matrix < 4; ++matrix) {
    const u32 row = static_cast<u32>(rows[matrix * 8 + lane / 4]);
    std::memcpy(emulated::At(row + lane % 4 * 4), &words[matrix], 4);
  }
}
inline void st_async_v4(u32 address, const float* v, u32 barrier) {
  std::memcpy(emulated::At(address), v, 16);
  emulated::Change(barrier, [](emulated::Barrier& at) { at.bytes -= 16; });
}
inline void st_shared_v4(u32 address, const float* v) { std::memcpy(emulated::At(address), v, 16); }
inline void ld_shared_v4(float* v, u32 address) { std::memcpy(v, emulated::At(address), 16); }
template <bool kEvictFirstHint>
void st_global_v4(void* address, const u32* v) {
  std::memcpy(address, v, 16);
}
inline void ld_global_v4(float* v, const float* address) { std::memcpy(v, address, 16); }
inline void st_global_v2(float* address, float x, float y) { address[0] = x, address[1] = y; }
inline void st_global_v2(u16* address, u32 x, u32 y) {
  std::memcpy(address, &x, 4);
  std::memcpy(address + 2, &y, 4);
}
template <bool kBf16>
u32 cvt_x2_f32(float low, float high) {
  return emulated::BitsOf(low, kBf16) | u32{emulated::BitsOf(high, kBf16)} << 16;
}

inline void wgmma_fence() {}
inline void wgmma_commit_group() { self.groups.push_back(std::exchange(self.issued, {})); }
// Operands are read here: who gives a stage back before has it overwritten.
template <int kPending>
void wgmma_wait_group() {
  while (self.groups.size() > kPending) {
    for (const auto& multiply : self.groups.front()) multiply();
    self.groups.erase(self.groups.begin());
  }
  __syncwarp();
}
inline void pin_register(float&) {}
inline void work_out_here(int) {}

template <int kN, int kTransposeB, bool kBf16>
void wgmma_mma_async(float (&d)[kN / 2], u64 a, u64 b, int accumulate) {
  const auto load = [rank = self.rank](u32 offset) {
    u16 bits = 0;
    std::memcpy(&bits, emulated::At(offset | rank << 24), 2);
    return emulated::FloatOf(bits, kBf16);
  };
  self.issued.emplace_back([&d, a, b, accumulate, load] {
    for (int i = 0; i < kN / 2; ++i) {
      const int row = threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8;
      const int column = i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2;
      float sum = accumulate ? d[i] : 0;
      for (int k = 0; k < 16; ++k) {
        sum += load(emulated::OperandAddress(a, row, k)) *
               load(kTransposeB ? emulated::OperandAddressNMajor(b, k, column)
                                : emulated::OperandAddress(b, column, k));
      }
      d[i] = sum;
    }
  });
}

}  // namespace ptx
}  // namespace warpsmith::hgemm::wgmma

#endif  // WARPSMITH_HGEMM_DEVICE_PTX_SM90_CUH_
