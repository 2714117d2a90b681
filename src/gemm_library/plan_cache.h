// What was settled for problems seen before. Looking up takes no lock and allocates nothing;
// entries stay until the cache dies.
#ifndef WARPSMITH_GEMM_LIBRARY_PLAN_CACHE_H_
#define WARPSMITH_GEMM_LIBRARY_PLAN_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace warpsmith::gemm_library {

// Everything that a plan depends on, as words.
struct PlanKey {
  std::array<int64_t, 8> words{};  // m, n, k, lda, ldb, ldc, workspace bytes, the rest as bits
  bool operator==(const PlanKey&) const = default;
};
size_t HashOf(const PlanKey& key);

// `Plan` is any type that is never changed once it is in the cache.
template <typename Plan>
class PlanCache {
 public:
  static constexpr size_t kMostEntries = size_t{1} << 16;

  PlanCache() { Grow(64); }
  PlanCache(const PlanCache&) = delete;
  PlanCache& operator=(const PlanCache&) = delete;

  const Plan* Find(const PlanKey& key) const {
    const Table* table = table_.load(std::memory_order_acquire);
    for (size_t i = HashOf(key);; ++i) {
      const Entry* entry = table->slots[i & table->mask].load(std::memory_order_acquire);
      if (entry == nullptr) return nullptr;
      if (entry->key == key) return &entry->plan;
    }
  }

  // The plan that stands there now: another thread's, if it came first. Null when the cache is
  // full; then `plan` was not touched.
  const Plan* Insert(const PlanKey& key, Plan&& plan) {
    const std::lock_guard lock(mutex_);
    if (const Plan* known = Find(key)) return known;
    if (entries_.size() >= kMostEntries) return nullptr;
    entries_.push_back(std::make_unique<Entry>(Entry{key, std::move(plan)}));
    if (2 * entries_.size() > tables_.back()->slots.size()) {
      Grow(2 * tables_.back()->slots.size());
    } else {
      Place(*tables_.back(), *entries_.back());
    }
    return &entries_.back()->plan;
  }

 private:
  struct Entry {
    PlanKey key;
    Plan plan;
  };
  struct Table {
    explicit Table(size_t size) : mask(size - 1), slots(size) {}
    size_t mask;  // a power of two less one
    std::vector<std::atomic<const Entry*>> slots;
  };

  static void Place(Table& table, const Entry& entry) {
    size_t i = HashOf(entry.key) & table.mask;
    while (table.slots[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & table.mask;
    table.slots[i].store(&entry, std::memory_order_release);
  }

  // Readers may still walk over the older tables, so those stay.
  void Grow(size_t size) {
    tables_.push_back(std::make_unique<Table>(size));
    for (const auto& entry : entries_) Place(*tables_.back(), *entry);
    table_.store(tables_.back().get(), std::memory_order_release);
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<const Entry>> entries_;
  std::vector<std::unique_ptr<Table>> tables_;
  std::atomic<const Table*> table_{nullptr};
};

inline size_t HashOf(const PlanKey& key) {
  uint64_t hash = 0x9e3779b97f4a7c15;
  for (const int64_t word : key.words) {
    hash = (hash ^ static_cast<uint64_t>(word)) * 0xff51afd7ed558ccd;
    hash ^= hash >> 32;
  }
  return static_cast<size_t>(hash);
}

}  // namespace warpsmith::gemm_library

#endif  // WARPSMITH_GEMM_LIBRARY_PLAN_CACHE_H_
