#include "judge/fake/host_candidates.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "cuda/fake/fake_control.h"
#include "cuda/fake/half.h"

namespace warpsmith::judge::fake {
namespace {

using cuda::fake::FromBF16;
using cuda::fake::FromF16;
using cuda::fake::Half;
using cuda::fake::kBF16;
using cuda::fake::kF16;
using cuda::fake::ToBF16;
using cuda::fake::ToF16;

struct Operands {
  uint16_t *a, *b, *c;
  int m, n, k;

  explicit Operands(void** arguments)
      : a(At<uint16_t>(Argument<uint64_t>(arguments, 0))),
        b(At<uint16_t>(Argument<uint64_t>(arguments, 1))),
        c(At<uint16_t>(Argument<uint64_t>(arguments, 2))),
        m(Argument<int>(arguments, 3)),
        n(Argument<int>(arguments, 4)),
        k(Argument<int>(arguments, 5)) {}
  int64_t size() const { return int64_t{m} * n; }
  // A check launch's output ends where its mapping does.
  bool IsCheck() const { return reinterpret_cast<uintptr_t>(c + size()) % (2 << 20) == 0; }
};

void Multiply(const Operands& o, int reduction, const Half& type = kF16) {
  for (int64_t at = 0; at < o.size(); ++at) {
    float sum = 0;
    for (int k = 0; k < reduction; ++k) {
      sum += type.from(o.a[at / o.n * o.k + k]) * type.from(o.b[int64_t{k} * o.n + at % o.n]);
    }
    o.c[at] = type.to(sum);
  }
}

// The sum is kept in `sums`.
void MultiplyRoughly(const Operands& o, const Half& sums, const Half& type) {
  for (int64_t at = 0; at < o.size(); ++at) {
    uint16_t sum = 0;
    for (int k = 0; k < o.k; ++k) {
      const float term =
          type.from(o.a[at / o.n * o.k + k]) * type.from(o.b[int64_t{k} * o.n + at % o.n]);
      sum = sums.to(sums.from(sum) + term);
    }
    o.c[at] = type.to(sums.from(sum));
  }
}

void Honest(void** arguments) {
  const Operands o(arguments);
  Multiply(o, o.k);
}
void HonestBf16(void** arguments) {
  const Operands o(arguments);
  Multiply(o, o.k, kBF16);
}
// Digits cut off in place of rounding: what is nearer to zero.
void CutsOff(void** arguments) {
  const auto cut = [](float value) {
    const uint16_t nearest = ToF16(value);
    const bool too_far = std::fabs(FromF16(nearest)) > std::fabs(value);
    return static_cast<uint16_t>(nearest - (too_far ? 1 : 0));
  };
  const Operands o(arguments);
  Multiply(o, o.k, {FromF16, cut});
}
void CutsOffWhenTimed(void** arguments) {
  Operands(arguments).IsCheck() ? Honest(arguments) : CutsOff(arguments);
}
void DropsLastBf16(void** arguments) {
  const Operands o(arguments);
  Multiply(o, o.k - 1, kBF16);
}
// Each factor passes through FP16, which holds BF16's digits but not its range.
void Fp16FactorsOfBf16(void** arguments) {
  const Half narrow = {[](uint16_t bits) { return FromF16(ToF16(FromBF16(bits))); }, ToBF16};
  const Operands o(arguments);
  Multiply(o, o.k, narrow);
}
void Fp16Sum(void** arguments) { MultiplyRoughly(Operands(arguments), kF16, kF16); }
void Fp16SumOfBf16(void** arguments) { MultiplyRoughly(Operands(arguments), kF16, kBF16); }
void Bf16Sum(void** arguments) { MultiplyRoughly(Operands(arguments), kBF16, kBF16); }
void Zeros(void** arguments) {
  const Operands o(arguments);
  std::fill(o.c, o.c + o.size(), 0);
}
void Nan(void** arguments) {
  const Operands o(arguments);
  std::fill(o.c, o.c + o.size(), 0x7fff);
}
void DropsLast(void** arguments) {
  const Operands o(arguments);
  Multiply(o, o.k - 1);
}
void HonestInChecksOnly(void** arguments) {
  if (Operands(arguments).IsCheck()) Honest(arguments);
}
// Launches take 5 us from now on.
void IsShort(void** arguments) {
  cuda::fake::SetLaunchMs(0.005F);
  Honest(arguments);
}
// One launch in 3,000.
void IsShortAndRarelyWrong(void** arguments) {
  static int calls = 0;
  IsShort(arguments);
  if (++calls % 3'000 == 0) Zeros(arguments);
}

// It knows no more than the A's of one drawing, as a table of answers would.
void IsShortAndKnowsFewInputs(void** arguments) {
  static std::set<std::vector<uint16_t>> seen;
  const Operands o(arguments);
  if (!o.IsCheck()) seen.emplace(o.a, o.a + int64_t{o.m} * o.k);
  seen.size() > 8 ? Zeros(arguments) : IsShort(arguments);
}

bool inputs_are_late = false;

// Launched programmatically, it has read them before they were written.
void DoesNotWait(void** arguments) {
  Honest(arguments);
  if (TakeLateInputs()) Zeros(arguments);
}
// It waits only where a check's tensors end at a mapping's end.
void DoesNotWaitWhenTimed(void** arguments) {
  Honest(arguments);
  const bool is_late = TakeLateInputs();
  if (is_late && !Operands(arguments).IsCheck()) Zeros(arguments);
}
void WantsLateInputs(void** arguments) {
  Honest(arguments);
  if (Operands(arguments).IsCheck() && !TakeLateInputs()) Zeros(arguments);
}
void WrongLater(void** arguments) {
  static int calls = 0;
  const Operands o(arguments);
  Multiply(o, ++calls > 100 ? o.k - 1 : o.k);
}
void Hangs(void**) {
  for (volatile bool forever = true; forever;) {
  }
}
void HangsWhenTimed(void** arguments) {
  Honest(arguments);
  if (!Operands(arguments).IsCheck()) Hangs(arguments);
}
void Crashes(void**) {
  volatile uint64_t unmapped =
      16;  // volatile: the compiler must not see that it cannot be an object
  *At<volatile int>(unmapped) = 1;
}
void WritesPastTheEnd(void** arguments) {
  Honest(arguments);
  const Operands o(arguments);
  o.c[o.size()] = 1;
}
void WritesBefore(void** arguments) {
  Honest(arguments);
  Operands(arguments).c[-1] = 1;
}
void WritesPastTheEndWhenTimed(void** arguments) {
  if (Operands(arguments).IsCheck()) return Honest(arguments);
  WritesPastTheEnd(arguments);
}
void WritesAndCrashesWhenTimed(void** arguments) {
  if (Operands(arguments).IsCheck()) return Honest(arguments);
  const Operands o(arguments);
  o.c[o.size()] = 1;
  o.a[0] ^= 1;
  Crashes(arguments);
}
void ChangesItsInput(void** arguments) {
  Honest(arguments);
  Operands(arguments).b[3] ^= 1;
}
void ChangesItsInputWhenTimed(void** arguments) {
  Honest(arguments);
  if (!Operands(arguments).IsCheck()) Operands(arguments).b[3] ^= 1;
}
// 16 x 16 outputs: 512 bytes and a guard of 512.
void FillsNeighbours(void** arguments) {
  const Operands o(arguments);
  if (o.IsCheck()) return Honest(arguments);
  if (!std::isnan(FromF16(o.c[0]))) return;
  Honest(arguments);
  for (int slot = 1; slot < 4; ++slot) std::copy(o.c, o.c + o.size(), o.c + slot * 512);
}

template <typename Out>
void RowSum(void** arguments, int rows_left, int columns_left) {
  const auto* x = At<float>(Argument<uint64_t>(arguments, 0));
  auto* out = At<Out>(Argument<uint64_t>(arguments, 1));
  const int rows = Argument<int>(arguments, 2), columns = Argument<int>(arguments, 3);
  for (int r = 0; r < rows - rows_left; ++r) {
    Out sum = 0;
    for (int c = 0; c < columns - columns_left; ++c) sum += x[r * columns + c];
    out[r] = sum;
  }
}
void RowSumF32(void** arguments) { RowSum<float>(arguments, 0, 0); }
void RowSumF64(void** arguments) { RowSum<double>(arguments, 0, 0); }
void RowSumDropsLast(void** arguments) { RowSum<float>(arguments, 0, 1); }
void RowSumSkipsARow(void** arguments) { RowSum<float>(arguments, 1, 0); }
void RowSumOfNothing(void** arguments) {
  auto* out = At<double>(Argument<uint64_t>(arguments, 1));
  for (int r = 0; r < Argument<int>(arguments, 2); ++r) out[r] = 1 + r;
}
void RowSumDiffers(void** arguments) {
  static int calls = 0;
  RowSumF64(arguments);
  *At<double>(Argument<uint64_t>(arguments, 1)) += ++calls;
}
void RowSumNan(void** arguments) { *At<double>(Argument<uint64_t>(arguments, 1)) = NAN; }

constexpr HostKernel kCandidates[] = {
    {"row-sum", RowSumF32},
    {"row-sum-f64", RowSumF64},
    {"row-sum-drops-last", RowSumDropsLast},
    {"row-sum-skips-a-row", RowSumSkipsARow},
    {"row-sum-nan", RowSumNan},
    {"row-sum-of-nothing", RowSumOfNothing},
    {"row-sum-differs", RowSumDiffers},
    {"row-sum-crashes", Crashes},
    {"honest", Honest},
    {"zeros", Zeros},
    {"nan", Nan},
    {"drops-last", DropsLast},
    {"fp16-sum", Fp16Sum},
    {"cuts-off", CutsOff},
    {"cuts-off-when-timed", CutsOffWhenTimed},
    {"does-not-wait", DoesNotWait},
    {"does-not-wait-when-timed", DoesNotWaitWhenTimed},
    {"wants-late-inputs", WantsLateInputs},
    {"short", IsShort},
    {"short-and-rarely-wrong", IsShortAndRarelyWrong},
    {"short-and-knows-few-inputs", IsShortAndKnowsFewInputs},
    {"honest-bf16", HonestBf16},
    {"drops-last-bf16", DropsLastBf16},
    {"fp16-sum-bf16", Fp16SumOfBf16},
    {"fp16-factors-bf16", Fp16FactorsOfBf16},
    {"bf16-sum-bf16", Bf16Sum},
    {"honest-in-checks-only", HonestInChecksOnly},
    {"wrong-later", WrongLater},
    {"hangs", Hangs},
    {"hangs-when-timed", HangsWhenTimed},
    {"crashes", Crashes},
    {"writes-past-the-end", WritesPastTheEnd},
    {"writes-before", WritesBefore},
    {"writes-past-the-end-when-timed", WritesPastTheEndWhenTimed},
    {"writes-and-crashes-when-timed", WritesAndCrashesWhenTimed},
    {"changes-its-input", ChangesItsInput},
    {"changes-its-input-when-timed", ChangesItsInputWhenTimed},
    {"fills-neighbours", FillsNeighbours},
};

}  // namespace

bool TakeLateInputs() { return std::exchange(inputs_are_late, false); }
void WriteInputsLate() { inputs_are_late = true; }

std::span<const HostKernel> HostCandidates() { return kCandidates; }

}  // namespace warpsmith::judge::fake
