#include "hgemm/comparison_summary.h"

#include <cmath>
#include <utility>

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
  constexpr std::array<std::string_view, 4> kNames = {"tiny", "small", "medium", "large"};
  return kNames.at(static_cast<size_t>(size_class));
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

namespace {

// Of the device, layout and type that were compared, whatever its size.
bool IsOfTerms(const CatalogueRow& row, const MeasurementTerms& terms) {
  return row.device == terms.device && warpsmith::Name(row.problem.dtype) == terms.dtype &&
         LayoutText(row.problem.layout) == terms.layout;
}

// Of two ratios to the bar. Which rounds disagree about them is not known any more: the interval
// holds all that they may be together.
CatalogueResult BesideLibrary(const ModeComparison& mode) {
  const PairedRatio &kernel = mode.kernel, &library = mode.library;
  return {mode.mode,
          std::string(kFallback),
          mode.kernel_us,
          mode.library_us,
          kernel.value / library.value,
          {kernel.interval.lo / library.interval.hi, kernel.interval.hi / library.interval.lo}};
}

// The kernel beside the bar, and where the library ran cuBLASLt, beside that.
std::vector<CatalogueResult> GuardedResultsOf(const ShapeMeasurement& shape,
                                              const CatalogueRow& row,
                                              const PrimaryIsOwn& primary_is_own) {
  std::vector<CatalogueResult> results;
  for (const ModeComparison& mode : shape.modes) {
    results.push_back({mode.mode, std::string(kPrimary), mode.kernel_us, mode.primary_us,
                       mode.kernel.value, mode.kernel.interval});
  }
  if (primary_is_own != nullptr && primary_is_own(row)) return results;
  if (shape.choice == Name(Choice::kCublasLt)) {
    for (const ModeComparison& mode : shape.modes) results.push_back(BesideLibrary(mode));
    return results;
  }
  for (const CatalogueResult& known : row.results) {
    if (known.baseline == kFallback) results.push_back(known);
  }
  return results;
}

// The catalogue with the hashes of the kernels that were compared: its own, or those of what this
// program builds, if the program that compared them built the same.
Result<Catalogue> MeasuredKernels(const Catalogue& catalogue, const MeasurementTerms& terms) {
  if (terms.catalogue == TRY(CatalogueHash(catalogue))) return catalogue;
  Catalogue built = AsBuiltNow(catalogue);
  if (terms.catalogue == TRY(CatalogueHash(built))) return built;
  return Error{ErrorCode::kBadInput,
               "the comparison is not of this catalogue's kernels (its catalogue is " +
                   terms.catalogue.substr(0, 12) + ")",
               "name the catalogue that 'hgemm bench --catalogue' was given, and use the version "
               "of warpsmith that measured it"};
}

void TakeHashes(const CatalogueRow& from, CatalogueRow& row) {
  row.candidate = from.candidate;
  row.plan_id = from.plan_id;
  row.artifact = from.artifact;
}

// By the row's results.
void Choose(GuardedCatalogue& guarded, CatalogueRow& row) {
  const Choice before = row.choice;
  row.choice = Guarded(row.results);
  ++guarded.decided;
  if (row.choice != before) {
    ++(row.choice == Choice::kKernel ? guarded.to_kernel : guarded.to_cublaslt);
  }
  const Result<bool> changed = HasChanged(row);
  if (changed.ok() && *changed) ++guarded.changed;
}

void Decide(const ShapeMeasurement& shape, const MeasurementSession& session,
            const PrimaryIsOwn& primary_is_own, GuardedCatalogue& guarded, CatalogueRow& row) {
  row.results = AsWritten(GuardedResultsOf(shape, row, primary_is_own));
  row.driver = session.driver;
  row.toolkit = session.toolkit;
  row.library = session.baseline;
  row.level = kComparedLevel;
  row.date = session.date;
  Choose(guarded, row);
}

}  // namespace

Result<GuardedCatalogue> Guard(const Catalogue& catalogue, const MeasurementTable& comparison,
                               Uncompared uncompared, const PrimaryIsOwn& primary_is_own) {
  const Catalogue measured = TRY(MeasuredKernels(catalogue, comparison.terms));
  GuardedCatalogue guarded{catalogue};
  for (size_t i = 0; i < catalogue.rows.size(); ++i) {
    CatalogueRow& row = guarded.catalogue.rows[i];
    if (!IsOfTerms(row, comparison.terms)) {
      ++guarded.elsewhere;
      continue;
    }
    const ShapeMeasurement* shape = Find(comparison, row.problem);
    if (shape == nullptr) {
      ++guarded.not_compared;
      if (uncompared == Uncompared::kCublasLt) row.choice = Choice::kCublasLt;
      continue;
    }
    guarded.built_anew += measured.rows[i].candidate != row.candidate ? 1 : 0;
    TakeHashes(measured.rows[i], row);
    Decide(*shape, comparison.sessions[shape->session], primary_is_own, guarded, row);
  }
  guarded.not_catalogued = static_cast<int>(comparison.shapes.size()) - guarded.decided;
  return guarded;
}

GuardedCatalogue GuardAnew(Catalogue catalogue) {
  GuardedCatalogue guarded{std::move(catalogue)};
  for (CatalogueRow& row : guarded.catalogue.rows) {
    if (row.level == kComparedLevel) {
      Choose(guarded, row);
    } else {
      ++guarded.not_compared;
    }
  }
  return guarded;
}

Catalogue LeftToCublasLt(Catalogue catalogue) {
  for (CatalogueRow& row : catalogue.rows) row.choice = Choice::kCublasLt;
  return catalogue;
}

}  // namespace warpsmith::hgemm
