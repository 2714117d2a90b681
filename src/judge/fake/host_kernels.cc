#include "judge/fake/host_kernels.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "base/random.h"
#include "base/result.h"
#include "cuda/fake/fake_control.h"
#include "cuda/fake/half.h"
#include "judge/fake/host_candidates.h"
#include "judge/kernels.h"

namespace warpsmith::judge::fake {
namespace {

using cuda::fake::FromBF16;
using cuda::fake::FromF16;
using cuda::fake::ToBF16;
using cuda::fake::ToF16;

struct Grid {
  int x = 0, y = 0, z = 0;
};
// Of the launch at work: the driver logs it before it runs.
Grid CurrentGrid() {
  Grid grid;
  const std::string line = cuda::fake::TakeLaunches().back();
  const size_t at = line.find("grid=");
  CHECK(std::sscanf(line.c_str() + at, "grid=%d,%d,%d", &grid.x, &grid.y, &grid.z) == 3);
  return grid;
}

double LoadElement(uint64_t data, int dtype, int64_t i) {
  switch (static_cast<DType>(dtype)) {
    case DType::kF16:
      return FromF16(At<uint16_t>(data)[i]);
    case DType::kBF16:
      return FromBF16(At<uint16_t>(data)[i]);
    case DType::kF32:
      return At<float>(data)[i];
    case DType::kF64:
      return At<double>(data)[i];
    case DType::kI8:
      return At<int8_t>(data)[i];
    case DType::kI32:
      return At<int32_t>(data)[i];
    case DType::kI64:
      return static_cast<double>(At<int64_t>(data)[i]);
    case DType::kBool:
      return At<uint8_t>(data)[i] != 0 ? 1 : 0;
  }
  return 0;
}

uint64_t ElementBits(uint64_t data, int dtype, int64_t i) {
  uint64_t bits = 0;
  const auto width = static_cast<size_t>(ElementBytes(static_cast<DType>(dtype)));
  std::memcpy(&bits, At<char>(data) + static_cast<size_t>(i) * width, width);
  return bits;
}

void StoreElement(uint64_t data, int dtype, int64_t i, double value) {
  switch (static_cast<DType>(dtype)) {
    case DType::kF16:
      At<uint16_t>(data)[i] = ToF16(static_cast<float>(value));
      return;
    case DType::kBF16:
      At<uint16_t>(data)[i] = ToBF16(static_cast<float>(value));
      return;
    case DType::kF32:
      At<float>(data)[i] = static_cast<float>(value);
      return;
    case DType::kF64:
      At<double>(data)[i] = value;
      return;
    case DType::kI8:
      At<int8_t>(data)[i] = static_cast<int8_t>(value);
      return;
    case DType::kI32:
      At<int32_t>(data)[i] = static_cast<int32_t>(value);
      return;
    case DType::kI64:
      At<int64_t>(data)[i] = static_cast<int64_t>(value);
      return;
    case DType::kBool:
      At<uint8_t>(data)[i] = value > 0 ? 1 : 0;
      return;
  }
}

double ContentAt(const FillParameters& p, int64_t other, int64_t k, Random& random) {
  switch (p.kind) {
    case Fill::kZeroOne:
      return random.Uniform() < p.density ? 1 : 0;
    case Fill::kBf16Accumulate:
    case Fill::kFp16Accumulate:
      if (k % 16 != 0) return 0;
      if (p.operand == 1 || k > 0) return 1;
      return p.kind == Fill::kBf16Accumulate ? 256 : 2048;
    case Fill::kAdversarial:
      if (p.dtype != static_cast<int>(DType::kBF16) || other % 2 == 0) return random.Normal();
      return std::ldexp(random.Normal(), -24);
    default:
      return random.Normal();
  }
}

void HostFill(void** arguments) {
  const auto p = Argument<FillParameters>(arguments, 0);
  Random random(p.seed, p.operand == 0 ? "A" : "B");
  for (int64_t row = 0; row < p.rows; ++row) {
    for (int64_t column = 0; column < p.columns; ++column) {
      const int64_t k = p.k_is_column != 0 ? column : row;
      const int64_t other = p.k_is_column != 0 ? row : column;
      StoreElement(p.target, p.dtype, row * p.columns + column, ContentAt(p, other, k, random));
    }
  }
}

double TensorValue(const TensorFill& p, int64_t i) {
  const uint64_t place = p.stream * 1'000'003 + static_cast<uint64_t>(i);
  Random choice(p.redraw_seed, "redraw" + std::to_string(place));
  const bool other = p.redraw > 0 && choice.Uniform() < double{p.redraw};
  Random random(other ? p.redraw_seed : p.seed, std::to_string(place));
  switch (static_cast<Generator>(p.generator)) {
    case Generator::kUniform:
      return 2 * random.Uniform() - 1;
    case Generator::kUnit:
      return random.Uniform();
    case Generator::kIntegers:
      return static_cast<double>(p.low) +
             static_cast<double>(random.Below(static_cast<uint64_t>(p.high - p.low)));
    case Generator::kOffsets:
      return std::floor(static_cast<double>(p.high) * static_cast<double>(i) /
                        static_cast<double>(p.elements - 1));
    default:
      return random.Normal();
  }
}

void HostFillTensor(void** arguments) {
  const auto p = Argument<TensorFill>(arguments, 0);
  for (int64_t i = 0; i < p.elements; ++i) StoreElement(p.target, p.dtype, i, TensorValue(p, i));
}

void HostSpread(void** arguments) {
  const auto data = Argument<uint64_t>(arguments, 0);
  const auto dtype = Argument<int>(arguments, 1);
  auto* result = At<SpreadResult>(Argument<uint64_t>(arguments, 3));
  for (int64_t i = 0; i < Argument<int64_t>(arguments, 2); ++i) {
    const double value = LoadElement(data, dtype, i);
    result->nan += std::isnan(value);
    if (!std::isfinite(value)) continue;
    result->largest_bits =
        std::max(result->largest_bits, std::bit_cast<uint64_t>(std::fabs(value)));
  }
}

void HostReference(void** arguments) {
  const auto* entries = At<ReferenceEntry>(Argument<uint64_t>(arguments, 0));
  const auto shape = Argument<ReferenceShape>(arguments, 1);
  const Grid grid = CurrentGrid();
  for (int e = 0; e < grid.z; ++e) {
    for (int64_t at = 0; at < shape.m * shape.n; ++at) {
      const int64_t m = at / shape.n, n = at % shape.n;
      double product = 0, magnitude = 0;
      for (int64_t k = 0; k < shape.k; ++k) {
        const int64_t place = shape.transposed != 0 ? n * shape.k + k : k * shape.n + n;
        const double term = LoadElement(entries[e].a, shape.dtype, m * shape.k + k) *
                            LoadElement(entries[e].b, shape.dtype, place);
        product += term;
        magnitude += std::fabs(term);
      }
      At<double>(entries[e].product)[at] = product;
      At<float>(entries[e].magnitude)[at] = static_cast<float>(magnitude);
    }
  }
}

bool IsPoison(uint64_t bits, int dtype, uint32_t pattern) {
  const auto width = ElementBytes(static_cast<DType>(dtype));
  uint64_t whole = 0;
  for (int64_t at = 0; at < width; at += 2) whole = whole << 16 | (pattern & 0xffff);
  return width > 1 && bits == whole;
}

void VerifyOne(const VerifyParameters& p, const VerifyEntry& entry, VerifyResult& result) {
  float worst = -1;
  BiasSums sums;
  for (int64_t i = 0; i < p.elements; ++i) {
    const uint64_t bits = ElementBits(entry.output, p.dtype, i);
    const double value = LoadElement(entry.output, p.dtype, i);
    const double reference = LoadElement(entry.expected, p.expected_dtype, i);
    const double magnitude =
        entry.magnitude != 0 ? double{At<float>(entry.magnitude)[i]} : entry.largest;
    const double bound =
        p.bound.relative * std::fabs(reference) + p.bound.absolute + p.bound.magnitude * magnitude;
    const bool exact = bound == 0 || std::isinf(reference) ||
                       (p.exact_up_to > 0 && std::fabs(reference) <= p.exact_up_to);
    const double error = std::fabs(value - reference);
    sums.Add(value, reference, p.rounding);
    const bool poison = IsPoison(bits, p.dtype, p.poison), nan = !poison && !std::isfinite(value);
    const bool wrong = poison || nan || (exact ? error != 0 : error > bound);
    result.poison += poison;
    result.nan += nan;
    result.wrong += wrong;
    result.content_hash += (static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15 * (bits + 1U);
    float fraction = exact ? 0 : static_cast<float>(error / bound);
    if (poison || nan || (exact && wrong)) fraction = std::numeric_limits<float>::infinity();
    if (fraction > worst) {
      worst = fraction;
      result.worst = (uint64_t{std::bit_cast<uint32_t>(fraction)} << 32) |
                     (0xffffffffU - static_cast<uint32_t>(i));
    }
    if (poison || nan) continue;
    const auto deviation = std::bit_cast<uint32_t>(static_cast<float>(error));
    result.deviation_bits = std::max(result.deviation_bits, deviation);
  }
  result.bias_magnitude += std::llround(sums.magnitude * kBiasUnit);
  result.bias_value += std::llround(sums.value * kBiasUnit);
  result.bias_square += static_cast<uint64_t>(std::llround(sums.square * kBiasUnit));
  result.bias_elements += static_cast<uint64_t>(sums.elements);
}

void HostVerify(void** arguments) {
  const auto p = Argument<VerifyParameters>(arguments, 0);
  const Grid grid = CurrentGrid();
  for (int e = 0; e < grid.y; ++e) {
    VerifyOne(p, At<VerifyEntry>(p.entries)[e], At<VerifyResult>(p.results)[e]);
  }
}

void HostPoison(void** arguments) {
  const auto region = Argument<Region>(arguments, 0);
  const auto pattern = static_cast<uint16_t>(Argument<uint32_t>(arguments, 1));
  for (int slot = 0; slot < region.slots; ++slot) {
    auto* halves = At<uint16_t>(region.AddressOf(slot));
    for (int64_t i = 0; i < region.bytes / 2; ++i) halves[i] = pattern;
    if (region.bytes % 2 != 0) {
      At<uint8_t>(region.AddressOf(slot))[region.bytes - 1] = static_cast<uint8_t>(pattern);
    }
  }
}

template <typename Visit>
void ForEachGuard(const Region& region, const Visit& visit) {
  for (int gap = 0; gap <= region.slots; ++gap) {
    const int64_t begin = gap == 0 ? 0 : region.OffsetOf(gap - 1) + (region.bytes + 1) / 2 * 2;
    const int64_t end = gap == region.slots ? region.end : region.OffsetOf(gap);
    for (int64_t at = begin; at < end; at += 2) {
      visit(*At<uint16_t>(region.base + static_cast<uint64_t>(at)), at);
    }
  }
}

uint16_t GuardValue(uint64_t secret, int64_t offset) {
  return static_cast<uint16_t>((secret ^ static_cast<uint64_t>(offset)) * 0x9e3779b1U >> 8);
}

void HostFillGuards(void** arguments) {
  const auto secret = Argument<uint64_t>(arguments, 1);
  ForEachGuard(Argument<Region>(arguments, 0),
               [&](uint16_t& word, int64_t at) { word = GuardValue(secret, at); });
}

void HostCheckGuards(void** arguments) {
  const auto secret = Argument<uint64_t>(arguments, 1);
  auto* damage = At<uint32_t>(Argument<uint64_t>(arguments, 2));
  ForEachGuard(Argument<Region>(arguments, 0),
               [&](uint16_t& word, int64_t at) { *damage += word != GuardValue(secret, at); });
}

void HostCopy(void** arguments) {
  const auto* entries = At<CopyEntry>(Argument<uint64_t>(arguments, 0));
  const Grid grid = CurrentGrid();
  for (int e = 0; e < grid.y; ++e) {
    std::memcpy(At<char>(entries[e].target), At<char>(entries[e].source),
                static_cast<size_t>(Argument<int64_t>(arguments, 1)));
  }
}

void HostCompare(void** arguments) {
  const auto* entries = At<CompareEntry>(Argument<uint64_t>(arguments, 0));
  const auto pattern = static_cast<uint16_t>(Argument<uint32_t>(arguments, 2));
  auto* differences = At<uint32_t>(Argument<uint64_t>(arguments, 3));
  const Grid grid = CurrentGrid();
  for (int e = 0; e < grid.y; ++e) {
    for (int64_t i = 0; i < Argument<int64_t>(arguments, 1); ++i) {
      const auto byte = static_cast<uint8_t>(i % 2 == 0 ? pattern : pattern >> 8);
      const uint8_t want = entries[e].expected != 0 ? At<uint8_t>(entries[e].expected)[i] : byte;
      differences[e] += At<uint8_t>(entries[e].data)[i] != want;
    }
  }
}

void HostFlip(void** arguments) {
  const auto p = Argument<FlipParameters>(arguments, 0);
  for (size_t tensor = 0; tensor < static_cast<size_t>(p.count); ++tensor) {
    auto* bytes = At<uint8_t>(p.data[tensor]);
    for (int64_t i = 0; i < p.bytes[tensor]; ++i) bytes[i] = static_cast<uint8_t>(~bytes[i]);
  }
  if (p.delay_us > 0) WriteInputsLate();
}

void HostProbe(void** arguments) {
  *At<uint32_t>(Argument<uint64_t>(arguments, 0)) = Argument<uint32_t>(arguments, 1);
}

void Nothing(void**) {}

int busy_watches = 0;

void HostWatch(void** arguments) {
  const bool busy = busy_watches > 0;
  busy_watches -= busy ? 1 : 0;
  *At<uint64_t>(Argument<uint64_t>(arguments, 1)) =
      busy ? uint64_t{500} * Argument<uint32_t>(arguments, 0) : 0;
}

// The lines that this process has read since it evicted.
std::set<uint64_t>& WarmLines() {
  static auto* lines = new std::set<uint64_t>;
  return *lines;
}

void HostEvict(void**) { WarmLines().clear(); }

void HostProbeLatency(void** arguments) {
  const auto* slots = At<uint64_t>(Argument<uint64_t>(arguments, 0));
  const auto stride = static_cast<uint64_t>(Argument<int64_t>(arguments, 1));
  const auto count = Argument<uint32_t>(arguments, 2);
  auto* cycles = At<uint32_t>(Argument<uint64_t>(arguments, 3));
  const Grid grid = CurrentGrid();
  for (int slot = 0; slot < grid.x; ++slot) {
    for (uint32_t i = 0; i < count; ++i) {
      *cycles++ = WarmLines().insert(slots[slot] + i * stride).second ? 700 : 250;
    }
  }
}

}  // namespace

std::string KernelImage() {
  return "kernel JudgeFill 64\n"
         "kernel JudgeFillTensor 72\n"
         "kernel JudgeSpread 8 4 8 8\n"
         "kernel JudgeReference 8 32\n"
         "kernel JudgeVerify 72\n"
         "kernel JudgePoison 48 4\n"
         "kernel JudgeFillGuards 48 8\n"
         "kernel JudgeCheckGuards 48 8 8\n"
         "kernel JudgeCopy 8 8\n"
         "kernel JudgeCompare 8 8 4 8\n"
         "kernel JudgeEvict 8 8 8\n"
         "kernel JudgeFlip 120\n"
         "kernel JudgeProbe 8 4\n"
         "kernel JudgeWatch 4 8\n"
         "kernel JudgeFlood 16\n"
         "kernel JudgeFlood4096 16\n"
         "kernel JudgeFlood16384 16\n"
         "kernel JudgeAwaitFlood 8 4\n"
         "kernel JudgeProbeLatency 8 8 4 8\n";
}

void DefineKernels() {
  cuda::fake::OpenContext();
  const std::pair<const char*, void (*)(void**)> ours[] = {
      {"JudgeFill", HostFill},
      {"JudgeFillTensor", HostFillTensor},
      {"JudgeSpread", HostSpread},
      {"JudgeReference", HostReference},
      {"JudgeVerify", HostVerify},
      {"JudgePoison", HostPoison},
      {"JudgeFillGuards", HostFillGuards},
      {"JudgeCheckGuards", HostCheckGuards},
      {"JudgeCopy", HostCopy},
      {"JudgeCompare", HostCompare},
      {"JudgeEvict", HostEvict},
      {"JudgeWatch", HostWatch},
      {"JudgeFlood", Nothing},
      {"JudgeAwaitFlood", Nothing},
      {"JudgeProbeLatency", HostProbeLatency},
      {"JudgeFlip", HostFlip},
      {"JudgeProbe", HostProbe},
  };
  for (const auto& [name, kernel] : ours) cuda::fake::DefineKernel(name, kernel);
  for (const auto& [name, kernel] : HostCandidates()) cuda::fake::DefineKernel(name, kernel);
}

void KeepDeviceBusy(int watches) { busy_watches = watches; }

std::string CandidateImage(const std::string& kernel) {
  return "kernel " + kernel + " 8 8 8 4 4 4\n";
}

std::string RowSumImage(const std::string& kernel) { return "kernel " + kernel + " 8 8 4 4\n"; }

}  // namespace warpsmith::judge::fake
