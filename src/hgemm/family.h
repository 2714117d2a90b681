// HGEMM kernel families as data: C = A * B, FP16 or BF16 in and out, FP32 accumulation.
#ifndef WARPSMITH_HGEMM_FAMILY_H_
#define WARPSMITH_HGEMM_FAMILY_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidate.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/space.h"

namespace warpsmith::hgemm {

// --- A matrix product: its sizes, how its operands lie, and of what they are.

// NN: A is M x K and B is K x N, both row-major. TN: B is stored as N x K, row-major (cuBLAS's name
// for it, whose matrices are column-major).
enum class Layout : uint8_t { kNN, kTN };
constexpr const char* LayoutText(Layout layout) { return layout == Layout::kNN ? "NN" : "TN"; }
inline std::optional<Layout> LayoutFromText(std::string_view text) {
  if (text == "NN") return Layout::kNN;
  return text == "TN" ? std::optional(Layout::kTN) : std::nullopt;
}

struct Problem {
  int64_t m = 0, n = 0, k = 0;
  Layout layout = Layout::kTN;
  DType dtype = DType::kF16;  // or kBF16
  // By sizes, then layout, then type: the order of every table's rows.
  auto operator<=>(const Problem&) const = default;
};

// "64x128x256"
inline std::string SizesText(const Problem& p) {
  return std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k);
}
// "hgemm-512x512x512-TN", "hgemm-512x512x512-TN-bf16"
inline std::string NameOf(const Problem& problem) {
  return "hgemm-" + SizesText(problem) + "-" + LayoutText(problem.layout) +
         (problem.dtype == DType::kBF16 ? "-bf16" : "");
}

// What a family may count on. Enumerating spaces needs no GPU.
struct Target {
  int compute_capability = 90;  // 80, 86, 89, 90 ...
  int sm_count = 132;
  int max_shared_bytes = 232448;
  // Offers kernels (of sm_90) that may take their places before the operation ahead of them has
  // ended. Every one waits for its end before it touches memory, so that a stream's order holds. It
  // shortens calls that follow each other, and no call that stands alone.
  bool overlap = true;
};

// A device's description must name its architecture ("sm_90a").
Target TargetOf(const DeviceInfo& device);

struct Family {
  std::string_view name;
  // The legal configurations for a problem that are worth a look, in a fixed order; empty where the
  // family does not apply.
  std::vector<Config> (*configs)(const Problem&, const Target&);
  // The candidate of a legal configuration: sources, flags, plan; provenance names family and
  // config. The plan's tensors are "A", "B", "C", its sizes M, N, K.
  Candidate (*make)(const Problem&, const Config&);
  // Whether a configuration whose values CheckValues passes is within the family's limits for the
  // problem and the target, though `configs` may leave it out as one that is seldom worth a look.
  // What it passes may still fail to compile, or be wrong: that is for the judge.
  bool (*legal)(const Problem&, const Target&, const Config&);
  Config (*defaults)();  // every parameter's name
  Config (*least)();     // of each: 0, or 1 of what is divided by
};

// tiny, mma_sync, wgmma.
std::span<const Family> Families();

// The union of all families' configurations, named as the problem.
Space SpaceFor(const Problem& problem, const Target& target);
// kBadInput for a value that is none of any kernel: points are also read from files. Families and
// parameters that this program does not know are not looked at.
Status CheckValues(const Point& point);
// The same, and for a family or a parameter that this program does not know, which may change what
// the kernel is.
Status CheckPoint(const Point& point);
// Passes CheckPoint, and is within its family's limits for the problem and the target.
bool IsLegal(const Problem& problem, const Target& target, const Point& point);
// The candidate of a point that passes CheckPoint; its error otherwise.
Result<Candidate> MakeCandidate(const Problem& problem, const Point& point);
// With every parameter that its family has today: what was written before one was there lacks it,
// and means the default. Parameters and families that this program does not know stay as they are.
Point WithAllParameters(Point point);
// Whatever parameters one of them lacks.
bool IsSameKernel(const Point& a, const Point& b);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_FAMILY_H_
