// Which configurations won on which shapes, counted: what the page of a catalogue is drawn from.
#ifndef WARPSMITH_REPORT_ANALYSIS_STUDY_H_
#define WARPSMITH_REPORT_ANALYSIS_STUDY_H_

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hgemm/catalogue.h"
#include "hgemm/comparison_summary.h"
#include "hgemm/measurement_table.h"
#include "report/analysis/kernel_traits.h"

namespace warpsmith::analysis {

// By mode; the baseline's time over ours.
using Ratios = std::map<Mode, hgemm::PairedRatio>;

struct StudiedShape {
  hgemm::Problem problem;
  hgemm::SizeClass size_class = hgemm::SizeClass::kTiny;
  double log2_mnk = 0;
  hgemm::Choice choice = hgemm::Choice::kKernel;
  Point kernel;
  std::vector<std::optional<TraitValue>> values;  // as Traits()
  Ratios alone;                                   // the kernel, launched by itself
  Ratios library;  // guard and dispatch included; only of a comparison
};

struct ClassCounts {
  std::array<int, hgemm::kSizeClasses.size()> of{};  // as kSizeClasses
  int all = 0;
  void Add(hgemm::SizeClass size_class);
};

struct CountedValue {
  std::optional<TraitValue> value;  // nullopt: kernels that have nothing of the kind
  ClassCounts shapes;
  std::optional<double> geomean_alone;  // of the kernels' ratios in a hot graph
};

// By the value's order; a nullopt value comes first.
using CountedTrait = std::vector<CountedValue>;

// What quantities are compared with.
inline constexpr std::array<std::string_view, 5> kSizeNames = {"M", "N", "K", "MNK", "M / N"};
using Sizes = std::array<double, kSizeNames.size()>;
Sizes SizesOf(const hgemm::Problem& problem);

struct QuantityTrend {
  const Quantity* quantity = nullptr;
  int shapes = 0;  // that have it
  std::array<std::optional<double>, kSizeNames.size()> correlation;
};

// What something was measured with: each text that occurs.
struct Origin {
  std::set<std::string> drivers, toolkits, libraries, baselines;
  std::string first_date, last_date;
};

// The rows of one layout, one dtype and one device.
struct Chapter {
  hgemm::Layout layout = hgemm::Layout::kTN;
  DType dtype = DType::kF16;
  std::string device;
  std::vector<StudiedShape> shapes;
  ClassCounts counts;
  std::vector<CountedTrait> traits;   // as Traits()
  std::vector<QuantityTrend> trends;  // as Quantities()
  Origin tuned;                       // the rows
  std::map<std::string, int> levels;  // of how many rows
  Origin compared_with;               // the ratios, if there is a comparison
  bool has_comparison = false;        // then the ratios are the comparison's alone
  int compared = 0;                   // shapes that have such
  int other_kernel = 0;  // shapes that it measured with another kernel than the catalogue's
};

const Origin& OriginOfRatios(const Chapter& chapter);
std::string BaselineText(const Chapter& chapter);  // "cublaslt-auto"; of several all

struct Study {
  std::vector<Chapter> chapters;
};

// With a comparison ratios are its own alone, of shapes where it measured the row's kernel: the
// catalogue's were measured by another protocol.
// kNothingMeasured for a catalogue without rows; kBadInput for a comparison that shares none of its
// shapes and kernels.
Result<Study> MakeStudy(const hgemm::Catalogue& catalogue,
                        const std::optional<hgemm::MeasurementTable>& comparison);

// Nullopt for no values.
std::optional<double> Geomean(const std::vector<double>& values);

}  // namespace warpsmith::analysis

#endif  // WARPSMITH_REPORT_ANALYSIS_STUDY_H_
