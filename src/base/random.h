// Reproducible random streams: the same (seed, stream name) gives the same numbers on every machine
// (xoshiro256**, seeded through SplitMix64; distributions are our own, since the standard
// library's differ between implementations).
#ifndef WARPSMITH_BASE_RANDOM_H_
#define WARPSMITH_BASE_RANDOM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace warpsmith {

class Random {
 public:
  Random(uint64_t seed, std::string_view stream);
  // Seeded from the operating system: for secrets (input contents, launch order).
  static Random Secret();

  uint64_t Bits();                 // 64 of them, each uniform
  uint64_t Below(uint64_t bound);  // uniform in [0, bound); bound > 0
  double Uniform();                // uniform in [0, 1)
  double Normal();                 // mean 0, variance 1
  // An index with probability proportional to its weight; of at least one weight above 0.
  size_t Pick(std::span<const double> weights);

  // Every order is equally likely.
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }

 private:
  explicit Random(const std::array<uint64_t, 4>& state) : state_(state) {}
  std::array<uint64_t, 4> state_;
};

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_RANDOM_H_
