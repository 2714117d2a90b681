#include "gemm_library/choice.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "hgemm/cost_model.h"

namespace warpsmith::gemm_library {
namespace {

constexpr size_t kNeighbours = 3, kMostKernels = 4;
constexpr double kNearDoublings = 1;  // in every extent
// Chosen by the shapes of data/hgemm/offgrid_h200.csv.gz (FP16, column-major B): kernels that were
// measured elsewhere beat cuBLASLt on 32 of 32 within these limits, on 29 of 66 beyond them.
constexpr int64_t kLeastGuessedK = 128;
constexpr int64_t kMostGuessedProducts = int64_t{1} << 27;

hgemm::Layout LayoutOf(const Problem& problem) {
  return problem.transpose_b ? hgemm::Layout::kTN : hgemm::Layout::kNN;
}

bool SameKind(const hgemm::CatalogueRow& row, const Problem& problem) {
  return row.problem.layout == LayoutOf(problem) && row.problem.dtype == problem.dtype;
}

// "1.797 [1.785, 1.809] x cublaslt-auto (device), certified on NVIDIA H200, 2026-11-21T11:01:41Z"
std::string EvidenceText(const hgemm::CatalogueRow& row) {
  const hgemm::CatalogueResult& result = hgemm::Deciding(row.results);
  return fmt::format("{:.3f} [{:.3f}, {:.3f}] x {} ({}), {} on {}, {}", result.ratio,
                     result.interval.lo, result.interval.hi, result.baseline, Name(result.mode),
                     row.level, row.device, row.date);
}

// Of a row that chose it.
std::string WhyCublasLt(const hgemm::CatalogueRow& row) {
  constexpr std::string_view kSlower =
      "chosen: its kernel was slower in the mean of its modes, or by more than 1 % in one";
  return "cuBLASLt was " + std::string(IsAgainstTheRule(row) ? hgemm::kAgainstTheRule : kSlower);
}

// Doublings between two shapes; infinite when one extent is further off than a neighbour's may be.
double Distance(const hgemm::Problem& row, const Problem& problem) {
  double sum = 0;
  for (const auto& [a, b] : {std::pair(row.m, problem.m), {row.n, problem.n}, {row.k, problem.k}}) {
    const double doublings = std::fabs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
    if (doublings > kNearDoublings + 1e-9) return std::numeric_limits<double>::infinity();
    sum += doublings;
  }
  return sum;
}

// Rows of the catalogue, the nearest first.
std::vector<size_t> Nearest(const Pack& pack, const Problem& problem) {
  std::vector<std::pair<double, size_t>> near;
  for (size_t i = 0; i < pack.catalogue.rows.size(); ++i) {
    const hgemm::CatalogueRow& row = pack.catalogue.rows[i];
    const double distance = SameKind(row, problem) ? Distance(row.problem, problem)
                                                   : std::numeric_limits<double>::infinity();
    if (std::isfinite(distance)) near.emplace_back(distance, i);
  }
  std::ranges::sort(near);
  if (near.size() > kNeighbours) near.resize(kNeighbours);
  std::vector<size_t> rows;
  for (const auto& [distance, row] : near) rows.push_back(row);
  return rows;
}

// Infinite for a family that the model does not know: a pack may be of a later version.
double PredictedUs(const Problem& problem, const hgemm::Target& target, const Point& point) {
  return hgemm::PredictUs({problem.m, problem.n, problem.k, LayoutOf(problem), problem.dtype},
                          target, point);
}

bool IsValidFor(const LaunchPlan& plan, const Problem& problem) {
  const auto valid =
      plan.valid_when.Evaluate({{"M", problem.m}, {"N", problem.n}, {"K", problem.k}});
  return valid.ok() && *valid != 0;
}

std::vector<size_t> Ranked(const Pack& pack, const Problem& problem, const hgemm::Target& target) {
  std::vector<std::pair<double, size_t>> ranked;
  for (size_t i = 0; i < pack.kernels.size(); ++i) {
    const PackKernel& kernel = pack.kernels[i];
    if (kernel.layout != LayoutOf(problem) || kernel.dtype != problem.dtype) continue;
    if (!IsValidFor(kernel.plan, problem)) continue;
    const double us = PredictedUs(problem, target, kernel.point);
    if (std::isfinite(us)) ranked.emplace_back(us, i);
  }
  std::stable_sort(ranked.begin(), ranked.end());
  std::vector<size_t> kernels;
  for (size_t i = 0; i < std::min(kMostKernels, ranked.size()); ++i) {
    kernels.push_back(ranked[i].second);
  }
  return kernels;
}

// "1024x1024x1024 (1.083), 512x1024x1024 (1.210)": each beside its ratio.
std::string NeighboursText(const Pack& pack, const std::vector<size_t>& rows) {
  std::string text;
  for (const size_t index : rows) {
    const hgemm::CatalogueRow& row = pack.catalogue.rows[index];
    text += fmt::format("{}{} ({:.3f})", text.empty() ? "" : ", ", hgemm::SizesText(row.problem),
                        hgemm::Deciding(row.results).ratio);
  }
  return text;
}

Chosen ByNeighbours(const Pack& pack, const Problem& problem, const hgemm::Target& target) {
  const auto of_kind = [&](const hgemm::CatalogueRow& row) { return SameKind(row, problem); };
  if (std::ranges::none_of(pack.catalogue.rows, of_kind)) {
    return {.reason = fmt::format("the pack has no {} kernels for a {}-major B",
                                  Name(problem.dtype), problem.transpose_b ? "column" : "row")};
  }
  const std::string unmeasured = "not measured in the catalogue";
  const double products = static_cast<double>(problem.m) * static_cast<double>(problem.n) *
                          static_cast<double>(problem.k);
  constexpr std::string_view kLoses = ", where a guess may lose (tune it)";
  if (products > kMostGuessedProducts) {
    return {.reason = fmt::format("{}, {:.1e} multiply-adds are above 2^27{}", unmeasured, products,
                                  kLoses)};
  }
  if (problem.k < kLeastGuessedK) {
    return {.reason = fmt::format("{}, K is below {}{}", unmeasured, kLeastGuessedK, kLoses)};
  }
  Chosen chosen{.reason = unmeasured + ", nor are three shapes near it",
                .rows = Nearest(pack, problem)};
  if (chosen.rows.size() < kNeighbours) return chosen;
  for (const size_t index : chosen.rows) {
    const hgemm::CatalogueRow& row = pack.catalogue.rows[index];
    if (row.choice == hgemm::Choice::kKernel) continue;
    chosen.reason = unmeasured + "; near it, at " + KeyText(row) + ", " + WhyCublasLt(row);
    return chosen;
  }
  chosen.kernels = Ranked(pack, problem, target);
  chosen.reason = unmeasured + ", and no kernel takes these sizes (K must be a multiple of 8)";
  if (chosen.kernels.empty()) return chosen;
  chosen.reason = unmeasured +
                  "; a guess of the cost model, since kernels were chosen at the nearest measured "
                  "shapes (ratio): " +
                  NeighboursText(pack, chosen.rows);
  for (const size_t kernel : chosen.kernels) {
    const auto first = std::ranges::find(pack.rows, static_cast<int>(kernel), &PackRow::kernel);
    if (first == pack.rows.end()) continue;
    chosen.rows.push_back(static_cast<size_t>(first - pack.rows.begin()));
  }
  return chosen;
}

}  // namespace

Chosen Choose(const Pack& pack, const Problem& problem, const hgemm::Target& target) {
  if (problem.alpha != 1 || problem.beta != 0) {
    return {.reason = "kernels are for alpha 1 and beta 0"};
  }
  if (problem.transpose_a) return {.reason = "kernels are for an A that is not transposed"};
  for (size_t i = 0; i < pack.catalogue.rows.size(); ++i) {
    const hgemm::CatalogueRow& row = pack.catalogue.rows[i];
    if (!SameKind(row, problem) || row.problem.m != problem.m || row.problem.n != problem.n ||
        row.problem.k != problem.k) {
      continue;
    }
    Chosen chosen{.lt_algorithm = pack.rows[i].lt_algorithm,
                  .lt_version = row.library,
                  .reason = "catalogue: " + EvidenceText(row),
                  .rows = {i}};
    if (row.choice == hgemm::Choice::kCublasLt) {
      chosen.reason += "; " + WhyCublasLt(row);
    } else if (pack.rows[i].kernel < 0) {
      chosen.reason += ", but its kernel is not in the pack";
    } else {
      chosen.kernels.push_back(static_cast<size_t>(pack.rows[i].kernel));
    }
    return chosen;
  }
  return ByNeighbours(pack, problem, target);
}

}  // namespace warpsmith::gemm_library
