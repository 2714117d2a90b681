#include "hgemm/comparison_summary.h"

#include <cmath>

namespace warpsmith::hgemm {
namespace {

double ProductOf(const Problem& problem) {
  return static_cast<double>(problem.m) * static_cast<double>(problem.n) *
         static_cast<double>(problem.k);
}

// Adds ratios up; Summary() says what they come to.
class Sum {
 public:
  void Add(const Problem& problem, const PairedRatio& ratio) {
    const Interval& interval = ratio.interval;
    if (so_far_.shapes == 0 || ratio.value < so_far_.worst) {
      so_far_.worst = ratio.value;
      so_far_.worst_problem = problem;
    }
    ++so_far_.shapes;
    so_far_.faster += interval.lo > 1 ? 1 : 0;
    so_far_.slower += interval.hi < 1 ? 1 : 0;
    so_far_.same += interval.lo <= 1 && interval.hi >= 1 ? 1 : 0;
    so_far_.at_least_one += ratio.value >= 1 ? 1 : 0;
    so_far_.at_least_099 += ratio.value >= 0.99 ? 1 : 0;
    logarithms_ += std::log(ratio.value);
    squares_below_ += std::pow(std::log(ratio.value / interval.lo), 2);
    squares_above_ += std::pow(std::log(interval.hi / ratio.value), 2);
  }

  RatioSummary Summary() const {
    RatioSummary summary = so_far_;
    if (summary.shapes == 0) return summary;
    summary.geomean = std::exp(logarithms_ / summary.shapes);
    summary.interval = {summary.geomean * std::exp(-std::sqrt(squares_below_) / summary.shapes),
                        summary.geomean * std::exp(std::sqrt(squares_above_) / summary.shapes)};
    return summary;
  }

 private:
  RatioSummary so_far_;
  double logarithms_ = 0, squares_below_ = 0, squares_above_ = 0;
};

struct PairSum {
  Sum library, kernel, plain;

  void Add(const Problem& problem, const ModeComparison& mode) {
    library.Add(problem, mode.library);
    kernel.Add(problem, mode.kernel);
    if (mode.plain) plain.Add(problem, *mode.plain);
  }
  PairSummary Summary() const { return {library.Summary(), kernel.Summary(), plain.Summary()}; }
};

template <typename Key>
std::map<Key, PairSummary> SummariesOf(const std::map<Key, PairSum>& sums) {
  std::map<Key, PairSummary> summaries;
  for (const auto& [key, sum] : sums) summaries.emplace(key, sum.Summary());
  return summaries;
}

}  // namespace

std::string_view Name(SizeClass size_class) {
  switch (size_class) {
    case SizeClass::kTiny:
      return "tiny";
    case SizeClass::kSmall:
      return "small";
    case SizeClass::kMedium:
      return "medium";
    case SizeClass::kLarge:
      break;
  }
  return "large";
}

SizeClass ClassOf(const Problem& problem) {
  const double flops = 2 * ProductOf(problem);
  if (flops <= 0x1p28) return SizeClass::kTiny;
  if (flops <= 0x1p33) return SizeClass::kSmall;
  return flops <= 0x1p37 ? SizeClass::kMedium : SizeClass::kLarge;
}

int SizeExponent(const Problem& problem) { return std::ilogb(ProductOf(problem)); }

std::vector<ModeSummary> Summarise(const MeasurementTable& table) {
  std::vector<ModeSummary> summaries;
  if (table.shapes.empty()) return summaries;
  for (size_t i = 0; i < kComparedModes.size(); ++i) {
    PairSum all;
    std::map<SizeClass, PairSum> classes;
    std::map<int, PairSum> exponents;
    for (const ShapeMeasurement& shape : table.shapes) {
      all.Add(shape.problem, shape.modes[i]);
      classes[ClassOf(shape.problem)].Add(shape.problem, shape.modes[i]);
      exponents[SizeExponent(shape.problem)].Add(shape.problem, shape.modes[i]);
    }
    summaries.push_back(
        {kComparedModes[i], all.Summary(), SummariesOf(classes), SummariesOf(exponents)});
  }
  return summaries;
}

}  // namespace warpsmith::hgemm
