#include "hgemm/catalogue.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>

#include "base/sha256.h"
#include "core/serialize.h"
#include "core/verdict.h"
#include "hgemm/family.h"

namespace warpsmith::hgemm {

namespace {

constexpr double kWorstRatio = 0.99;
constexpr double kWideHalfWidth = 0.02;  // of a ratio's logarithm

// Holds 1, and is wider than noise of the usual kind makes it.
bool IsUndecided(const Interval& interval) {
  return interval.lo <= 1 && interval.hi >= 1 &&
         interval.hi > interval.lo * std::exp(2 * kWideHalfWidth);
}

}  // namespace

std::string_view Name(Choice choice) { return choice == Choice::kKernel ? "kernel" : "cublaslt"; }

std::string KeyText(const CatalogueRow& row) {
  return SizesText(row.problem) + "-" + LayoutText(row.problem.layout) + " " +
         std::string(warpsmith::Name(row.problem.dtype)) + " " + row.device;
}

const CatalogueResult& Deciding(std::span<const CatalogueResult> results) {
  const auto fallback = std::find_if(results.begin(), results.end(), [](const auto& result) {
    return result.baseline == kFallback;
  });
  return fallback == results.end() ? results.front() : *fallback;
}

Choice Guarded(std::span<const CatalogueResult> results) {
  if (results.empty()) return Choice::kCublasLt;
  const std::string& baseline = Deciding(results).baseline;
  int undecided = 0;  // modes that speak against the kernel, but not surely
  double gain = 0;    // the sum of the ratios' logarithms
  for (const CatalogueResult& result : results) {
    if (result.baseline != baseline) continue;
    const bool hot = result.mode == Mode::kDeviceHot;
    const double ratio =
        hot ? CautiousRatio(result.ratio, result.kernel_us, result.baseline_us) : result.ratio;
    gain += std::log(ratio);
    if (ratio >= kWorstRatio) continue;
    if (hot || !IsUndecided(result.interval)) return Choice::kCublasLt;
    ++undecided;
  }
  return undecided <= 1 && gain >= 0 ? Choice::kKernel : Choice::kCublasLt;
}

bool IsAgainstTheRule(const CatalogueRow& row) { return row.choice != Guarded(row.results); }

const CatalogueRow* Find(const Catalogue& catalogue, const Problem& problem,
                         std::string_view device) {
  for (const CatalogueRow& row : catalogue.rows) {
    if (row.problem == problem && (device.empty() || row.device == device)) return &row;
  }
  return nullptr;
}

std::string Explain(const CatalogueRow& row) {
  const bool ours = row.choice == Choice::kKernel;
  std::string text = KeyText(row) + ": " + (ours ? PointName(row.kernel) : "cuBLASLt") + "\n";
  if (!ours) text += "  the best kernel was " + PointName(row.kernel) + "\n";
  for (const CatalogueResult& result : row.results) {
    text += fmt::format("  {:<12} kernel {:9.3f} us, {} {:9.3f} us: {:.3f} [{:.3f}, {:.3f}]\n",
                        Name(result.mode), result.kernel_us, result.baseline, result.baseline_us,
                        result.ratio, result.interval.lo, result.interval.hi);
  }
  text += "  " + (IsAgainstTheRule(row) ? std::string(kAgainstTheRule)
                  : ours                ? "taken"
                                        : "left out");
  const std::string baseline =
      row.results.empty() ? std::string(kFallback) : Deciding(row.results).baseline;
  return text + "; the rule: beside " + baseline +
         " a mean ratio of at least 1, in the hot graph at least 0.99, in no other mode surely "
         "below 0.99\n  " +
         row.level + " on " + row.device + ", driver " + row.driver + ", " + row.toolkit + ", " +
         row.library + ", " + row.date + "\n  candidate " + row.candidate.substr(0, 12) +
         ", plan " + row.plan_id.substr(0, 12) + ", cubin " +
         (row.artifact == kArtifactNotKept ? "not kept" : row.artifact.substr(0, 12)) + "\n";
}

std::string PlanId(const LaunchPlan& plan) { return Sha256Hex(ToJson(plan).dump()); }

Result<bool> HasChanged(const CatalogueRow& row) {
  return CandidateId(TRY(MakeCandidate(row.problem, row.kernel))) != row.candidate;
}

Catalogue AsBuiltNow(Catalogue catalogue) {
  for (CatalogueRow& row : catalogue.rows) {
    const Result<Candidate> built = MakeCandidate(row.problem, row.kernel);
    if (!built.ok()) continue;
    std::string candidate = CandidateId(*built);
    if (candidate == row.candidate) continue;
    row.candidate = std::move(candidate);
    row.plan_id = PlanId(built->plan);
    row.artifact = kArtifactNotKept;
  }
  return catalogue;
}

std::vector<CatalogueRow> OneOfEachConfiguration(const Catalogue& catalogue) {
  std::vector<const CatalogueRow*> ours;
  for (const CatalogueRow& row : catalogue.rows) {
    if (row.choice == Choice::kKernel) ours.push_back(&row);
  }
  const auto size = [](const CatalogueRow* row) {
    return row->problem.m * row->problem.n * row->problem.k;
  };
  std::stable_sort(ours.begin(), ours.end(),
                   [&](const auto* a, const auto* b) { return size(a) < size(b); });
  std::set<std::tuple<std::string, Layout, DType>> seen;
  std::vector<CatalogueRow> one_each;
  for (const CatalogueRow* row : ours) {
    const bool is_new = seen.insert({PointName(WithAllParameters(row->kernel)), row->problem.layout,
                                     row->problem.dtype})
                            .second;
    if (is_new) one_each.push_back(*row);
  }
  return one_each;
}

namespace {

// Screening's ratios are flattered, each being the best of many; of a catalogue that was guarded
// and the one that it was made from, the guarded one must stay.
int RankOf(std::string_view level) {
  if (level == kComparedLevel) return 2;
  return level == kCertifiedLevel ? 1 : 0;
}

}  // namespace

bool IsSurer(const CatalogueRow& one, const CatalogueRow& other) {
  const auto rank = [](const CatalogueRow& row) {
    const double low = row.results.empty() ? 0 : row.results.front().interval.lo;
    const bool against = IsAgainstTheRule(row);
    return std::tuple(RankOf(row.level), against && row.level != kComparedLevel, low, row.date,
                      against, RowText(row));
  };
  return rank(one) > rank(other);
}

Catalogue Merge(std::span<const Catalogue> parts) {
  std::map<CatalogueKey, const CatalogueRow*> best;
  for (const Catalogue& part : parts) {
    for (const CatalogueRow& row : part.rows) {
      const auto [place, fresh] = best.emplace(KeyOf(row), &row);
      if (!fresh && IsSurer(row, *place->second)) place->second = &row;
    }
  }
  Catalogue merged;
  for (const auto& [key, row] : best) merged.rows.push_back(*row);
  return merged;
}

}  // namespace warpsmith::hgemm
