#include "hgemm/catalogue.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "core/serialize.h"

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

namespace {

constexpr double kFarthest = 3;
constexpr double kExchanged = 0.25;  // what M and N exchanged are away, at least

// What depends on the sizes more than on what makes a kernel fast.
bool IsLoose(std::string_view parameter) {
  constexpr std::array<std::string_view, 9> kLoose = {
      "stages",         "raster_group", "raster_along_m", "overlap",     "stream_c",
      "producer_warps", "even_rounds",  "tma_store",      "l2_promotion"};
  return std::find(kLoose.begin(), kLoose.end(), parameter) != kLoose.end();
}

// How many parameters differ; nothing where one of them is not loose.
std::optional<int> Differences(const Config& one, const Config& other) {
  if (one.size() != other.size()) return std::nullopt;
  int count = 0;
  for (auto a = one.begin(), b = other.begin(); a != one.end(); ++a, ++b) {
    if (*a == *b) continue;
    if (a->first != b->first || !IsLoose(a->first)) return std::nullopt;
    ++count;
  }
  return count;
}

double Distance(const Problem& a, const Problem& b) {
  const auto factors = [](int64_t x, int64_t y) {
    return std::abs(std::log2(static_cast<double>(x) / static_cast<double>(y)));
  };
  return factors(a.m, b.m) + factors(a.n, b.n) + factors(a.k, b.k) / 2;
}

// The kernel for C's transpose. Only of tiles that are worked on alike both ways.
std::optional<Point> Exchanged(Point point) {
  if (point.family != "wgmma") return std::nullopt;
  std::swap(point.config["tile_m"], point.config["tile_n"]);
  std::swap(point.config["cluster_m"], point.config["cluster_n"]);
  point.config["raster_along_m"] = point.config["raster_along_m"] == 0 ? 1 : 0;
  return point;
}

struct Neighbour {
  double away;
  Point point;
};

std::vector<Neighbour> NeighboursOf(const Catalogue& catalogue, const Problem& problem) {
  std::vector<Neighbour> all;
  for (const CatalogueRow& row : catalogue.rows) {
    if (row.problem.layout != problem.layout || row.problem.dtype != problem.dtype) continue;
    const double away = Distance(row.problem, problem);
    const Point kernel = WithAllParameters(row.kernel);
    if (away <= kFarthest) all.push_back({away, kernel});
    Problem turned = row.problem;
    std::swap(turned.m, turned.n);
    const double turned_away = Distance(turned, problem) + kExchanged;
    std::optional<Point> exchanged = Exchanged(kernel);
    if (exchanged && turned_away <= kFarthest) all.push_back({turned_away, *std::move(exchanged)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Neighbour& a, const Neighbour& b) { return a.away < b.away; });
  return all;
}

// A space's points with every parameter, as recorded ones lack some, too.
std::vector<Point> CompletedPoints(const Space& space) {
  std::vector<Point> points;
  for (const Point& point : space.points()) points.push_back(WithAllParameters(point));
  return points;
}

// The index of the point that is the most like `point`, or -1.
int IndexOfMostLike(const std::vector<Point>& points, const Point& point) {
  int best = -1, fewest = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].family != point.family) continue;
    const std::optional<int> differences = Differences(points[i].config, point.config);
    if (!differences || (best >= 0 && *differences >= fewest)) continue;
    best = static_cast<int>(i);
    fewest = *differences;
  }
  return best;
}

}  // namespace

std::vector<Point> LikeWinnersNearby(const Catalogue& catalogue, const Problem& problem,
                                     const Space& space, size_t most) {
  std::vector<Point> points;
  const std::vector<Neighbour> neighbours = NeighboursOf(catalogue, problem);
  if (neighbours.empty()) return points;
  const std::vector<Point> completed = CompletedPoints(space);
  for (const Neighbour& neighbour : neighbours) {
    if (points.size() >= most && neighbour.away > 0) break;
    const int index = IndexOfMostLike(completed, neighbour.point);
    if (index < 0) continue;
    const Point& like = space.points()[index];
    if (std::find(points.begin(), points.end(), like) == points.end()) points.push_back(like);
  }
  return points;
}

Space WithOwnWinners(const Catalogue& catalogue, const Problem& problem, const Target& target,
                     const Space& space) {
  std::vector<Point> own;
  for (const CatalogueRow& row : catalogue.rows) {
    if (row.problem == problem && IsLegal(problem, target, row.kernel)) {
      own.push_back(WithAllParameters(row.kernel));
    }
  }
  if (own.empty()) return space;
  std::vector<Point> points = space.points(), completed = CompletedPoints(space);
  for (const Point& winner : own) {
    if (std::find(completed.begin(), completed.end(), winner) != completed.end()) continue;
    points.push_back(winner);
    completed.push_back(winner);
  }
  return Space(space.name(), std::move(points));
}

}  // namespace warpsmith::hgemm
