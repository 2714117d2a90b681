// For tests: what the oracle shares with the PyTorch process, on host memory. The tensors' slots,
// and the page that a burst goes by.
#ifndef WARPSMITH_JUDGE_TORCH_TESTS_PEER_MEMORY_H_
#define WARPSMITH_JUDGE_TORCH_TESTS_PEER_MEMORY_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace warpsmith::torch {

inline constexpr std::chrono::milliseconds kPatience{240'000};  // importing torch on a busy machine
inline constexpr int64_t kSlots = 3, kOffset = 256, kGuard = 512;

struct Tensor {
  std::string name, role, dtype;
  std::vector<int64_t> extents;

  int64_t elements() const {
    return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
  }
  int64_t bytes() const {
    return elements() * (dtype == "f64" || dtype == "i64" ? 8 : dtype == "f32" ? 4 : 2);
  }
};

// A file in memory, mapped here, that holds all slots of one tensor.
class Region {
 public:
  Region(const Tensor& tensor, int64_t slots)
      : tensor_(tensor),
        slots_(slots),
        stride_((tensor.bytes() + 255) / 256 * 256 + kGuard),
        mapped_((kOffset + slots * stride_ + 4095) / 4096 * 4096),
        file_(memfd_create("region", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_, mapped_), 0);
    bytes_ = static_cast<char*>(
        mmap(nullptr, static_cast<size_t>(mapped_), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
  }
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  ~Region() {
    munmap(bytes_, static_cast<size_t>(mapped_));
    close(file_);
  }

  int file() const { return file_; }
  template <typename T>
  std::span<T> Slot(int64_t slot) const {
    return {reinterpret_cast<T*>(bytes_ + kOffset + slot * stride_),
            static_cast<size_t>(tensor_.elements())};
  }
  nlohmann::json Description() const {
    return {{"tensor", tensor_.name},   {"role", tensor_.role},
            {"dtype", tensor_.dtype},   {"extents", tensor_.extents},
            {"bytes", tensor_.bytes()}, {"mapped_bytes", mapped_},
            {"slots", slots_},          {"stride_bytes", stride_},
            {"offset_bytes", kOffset}};
  }

 private:
  Tensor tensor_;
  int64_t slots_, stride_, mapped_;
  int file_;
  char* bytes_ = nullptr;
};

struct Arena {
  std::vector<std::unique_ptr<Region>> slots, exact;  // in the task's order
};

// The oracle's end of a burst (judge/burst_page.h).
class Page {
 public:
  explicit Page(size_t roles) : file_(memfd_create("page", MFD_CLOEXEC)) {
    EXPECT_EQ(ftruncate(file_, 4096), 0);
    words_ =
        static_cast<uint32_t*>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    words_[0] = 0x57534250;
    words_[3] = static_cast<uint32_t>(roles);
  }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;
  ~Page() {
    munmap(words_, 4096);
    close(file_);
  }

  int file() const { return file_; }
  void Release(uint32_t call, const std::vector<uint32_t>& slots) {
    std::copy(slots.begin(), slots.end(), words_ + 4);
    Word(1).store(call, std::memory_order_release);
  }
  uint32_t done() const { return Word(2).load(std::memory_order_acquire); }
  bool AwaitDone(uint32_t call) const {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (done() != call) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      usleep(50);
    }
    return true;
  }

 private:
  std::atomic_ref<uint32_t> Word(size_t at) const { return std::atomic_ref<uint32_t>(words_[at]); }
  int file_;
  uint32_t* words_;
};

}  // namespace warpsmith::torch

#endif  // WARPSMITH_JUDGE_TORCH_TESTS_PEER_MEMORY_H_
