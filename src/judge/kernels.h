// The judge's own kernels (device/judge.cu): contents, reference, verification, poison, eviction.
#ifndef WARPSMITH_JUDGE_KERNELS_H_
#define WARPSMITH_JUDGE_KERNELS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/compiler.h"
#include "cuda/driver.h"
#include "cuda/kernel_launch.h"
#include "cuda/module.h"
#include "cuda/stream.h"
#include "judge/correctness.h"
#include "judge/slot_plan.h"

namespace warpsmith::judge {

// The module's sources as a candidate, so that any Compiler (with its cache) can build them.
Candidate KernelSources();
// The cubin for one architecture ("sm_90a"). kInternal with the log when they do not compile.
Result<std::string> BuildJudgeKernels(Compiler& compiler, const std::string& architecture);

// The structs below are passed to kernels as they are; device/*.cuh repeats them.

enum class Fill : int32_t {
  kNormal,
  kUniform,
  kZeroOne,
  kFp16Accumulate,
  kAdversarial,
  kBf16Accumulate
};

struct FillParameters {
  uint64_t target = 0;
  int64_t rows = 0, columns = 0;  // as stored
  uint64_t seed = 0;              // the same for A and B of one check input
  double density = 0;             // kZeroOne
  int64_t reduction = 0;          // K
  Fill kind = Fill::kNormal;
  int32_t operand = 0;      // 0: A, 1: B
  int32_t k_is_column = 0;  // the stored column index is the reduction's
  int32_t dtype = 0;        // DType: kF16 or kBF16
};

struct TensorFill {
  uint64_t target = 0;
  int64_t elements = 0;
  uint64_t seed = 0, stream = 0;
  uint64_t redraw_seed = 0;
  int64_t low = 0, high = 0;
  float redraw = 0;
  int32_t generator = 0;  // Generator
  int32_t dtype = 0;      // DType
  int32_t mixed_scale = 0;
};

struct ReferenceEntry {
  uint64_t a = 0, b = 0, product = 0, magnitude = 0;
};
struct ReferenceShape {
  int64_t m = 0, n = 0, k = 0;
  int32_t transposed = 0;  // B is N x K
  int32_t dtype = 0;       // DType of A and B: kF16 or kBF16
};

struct VerifyEntry {
  uint64_t output = 0, expected = 0, magnitude = 0;  // magnitude 0: `largest` for all elements
  double largest = 0;
};
struct VerifyResult {
  uint64_t poison = 0, nan = 0, wrong = 0;
  uint64_t worst = 0;  // bits of the largest error / bound above, ~index below
  uint64_t content_hash = 0;
  uint32_t deviation_bits = 0, unused = 0;
  // BiasSums in units of 1 / kBiasUnit.
  int64_t bias_magnitude = 0, bias_value = 0;
  uint64_t bias_square = 0, bias_elements = 0;
};
inline constexpr double kBiasUnit = 1 << 20;
struct VerifyParameters {
  uint64_t entries = 0, results = 0;
  int64_t elements = 0;
  BoundCoefficients bound;
  uint32_t poison = 0;
  uint32_t exact_up_to = 0;               // whole numbers up to this must be exact; 0: none
  int32_t dtype = 0, expected_dtype = 0;  // DType
  Rounding rounding;
};

struct SpreadResult {
  uint64_t largest_bits = 0, nan = 0;  // of |value| as a double
};

struct CopyEntry {
  uint64_t target = 0, source = 0;
};
struct CompareEntry {
  uint64_t data = 0, expected = 0;  // expected 0: every 16-bit word must be the pattern
};

// Tensors whose bits are all turned around: at once, or by a kernel that lets what is launched
// programmatically behind it begin, and does its work so much later. Those beyond the first seven
// stay as they are. Addresses are multiples of 4.
struct FlipParameters {
  static constexpr size_t kMostTensors = 7;
  std::array<uint64_t, kMostTensors> data = {};
  std::array<int64_t, kMostTensors> bytes = {};
  int32_t count = 0;
  uint32_t delay_us = 0;
};

struct FloodParameters {
  uint64_t arrived = 0;
  uint32_t hold_us = 0, shared_bytes = 0;
};
// Local memory a thread that RunFlood can clear, and that a kernel may have: beside its frame there
// is room for what it calls.
inline constexpr int64_t kMostFloodedLocalBytes = 16384, kSpareStackBytes = 2048;
inline constexpr int64_t kMostLocalBytes = kMostFloodedLocalBytes - kSpareStackBytes;

// In the current context; calls are ordered by their stream and can be captured. An Error says that
// a launch was refused: what a kernel does wrong shows where its stream is waited for.
class Kernels {
 public:
  static Result<Kernels> Load(std::string_view cubin, const cuda::DeviceProperties& device);

  Status RunFill(const FillParameters& parameters, const cuda::Stream& stream) const;
  Status RunFillTensor(const TensorFill& parameters, const cuda::Stream& stream) const;
  // `result`: device address of a zeroed SpreadResult.
  Status RunSpread(uint64_t data, DType dtype, int64_t elements, uint64_t result,
                   const cuda::Stream& stream) const;
  // `entries`: device address of `count` ReferenceEntry.
  Status RunReference(uint64_t entries, int count, const ReferenceShape& shape,
                      const cuda::Stream& stream) const;
  Status RunVerify(const VerifyParameters& parameters, int count, const cuda::Stream& stream) const;
  Status RunPoison(const Region& region, uint16_t pattern, const cuda::Stream& stream) const;
  Status RunFillGuards(const Region& region, uint64_t secret, const cuda::Stream& stream) const;
  // Adds the number of damaged 16-bit words to *damage.
  Status RunCheckGuards(const Region& region, uint64_t secret, uint64_t damage,
                        const cuda::Stream& stream) const;
  // `entries`: device address of `count` CopyEntry, each of `bytes`.
  Status RunCopy(uint64_t entries, int count, int64_t bytes, const cuda::Stream& stream) const;
  // Adds the number of differing 16-bit words of entry e to differences[e].
  Status RunCompare(uint64_t entries, int count, int64_t bytes, uint16_t pattern,
                    uint64_t differences, const cuda::Stream& stream) const;
  // Reads all of `buffer`. One of several times the L2 leaves nothing else there.
  Status RunEvict(uint64_t buffer, int64_t bytes, uint64_t sink, const cuda::Stream& stream) const;
  // Nanoseconds of `duration_us` in which others' kernels had the device, to *away_ns.
  Status RunWatch(uint32_t duration_us, uint64_t away_ns, const cuda::Stream& stream) const;
  // Writes over what outlives a launch: shared memory, and so much local memory a thread (at most
  // kMostFloodedLocalBytes). `arrived`: the address of a word of its own.
  Status RunFlood(int64_t local_bytes, uint64_t arrived, const cuda::Stream& stream) const;
  // Takes all SMs but `free_sms` for a time. `Await` ends when they are taken; it finds a place on
  // one of those left.
  Status RunOccupy(int free_sms, uint32_t hold_us, uint64_t arrived,
                   const cuda::Stream& stream) const;
  Status RunAwaitOccupied(int free_sms, uint64_t arrived, const cuda::Stream& stream) const;
  // `slots`: a table of `slot_count` addresses; `cycles`: room for `count` of u32 for each.
  Status RunProbeLatency(uint64_t slots, int slot_count, int64_t stride, uint32_t count,
                         uint64_t cycles, const cuda::Stream& stream) const;
  Status RunFlip(const FlipParameters& parameters, const cuda::Stream& stream) const;
  // Writes one word: that comes back only where the context still computes.
  Status RunProbe(uint64_t target, uint32_t value, const cuda::Stream& stream) const;

 private:
  struct Table;
  explicit Kernels(std::shared_ptr<const Table> table) : table_(std::move(table)) {}
  std::shared_ptr<const Table> table_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_KERNELS_H_
