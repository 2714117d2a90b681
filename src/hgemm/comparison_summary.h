// What a comparison comes to: by mode, and in each by the amount of work; and which rows of a
// catalogue it allows to stay.
#ifndef WARPSMITH_HGEMM_COMPARISON_SUMMARY_H_
#define WARPSMITH_HGEMM_COMPARISON_SUMMARY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "hgemm/catalogue.h"
#include "hgemm/measurement_table.h"

namespace warpsmith::hgemm {

// By 2*M*N*K: up to 2^28, up to 2^33, up to 2^37, above.
enum class SizeClass : uint8_t { kTiny, kSmall, kMedium, kLarge };
inline constexpr std::array<SizeClass, 4> kSizeClasses = {SizeClass::kTiny, SizeClass::kSmall,
                                                          SizeClass::kMedium, SizeClass::kLarge};
std::string_view Name(SizeClass size_class);  // "tiny"
SizeClass ClassOf(const Problem& problem);

// floor(log2(M*N*K))
int SizeExponent(const Problem& problem);

// Ratios of some shapes in one mode.
struct RatioSummary {
  int shapes = 0;
  double geomean = 0;
  // Of the geometric mean over exactly these shapes: what measuring them again would give. Half the
  // logarithm's width is the root of the sum of the shapes' squared, over their number.
  Interval interval;
  int faster = 0, same = 0, slower = 0;    // the interval lies above 1, holds 1, lies below 1
  int at_least_one = 0, at_least_099 = 0;  // by the ratio itself
  double worst = 0;
  Problem worst_problem;
};

// The library (guard and dispatch included), and the kernels launched by themselves: as they are,
// and without launch overlap, of the shapes of which that was measured.
struct PairSummary {
  RatioSummary library, kernel, plain = {};
};

struct ModeSummary {
  Mode mode = Mode::kDeviceHot;
  PairSummary all;
  std::map<SizeClass, PairSummary> classes;  // those that have shapes
  std::map<int, PairSummary> exponents;      // by SizeExponent
};

// One a mode, as kComparedModes; empty for a table without shapes.
std::vector<ModeSummary> Summarise(const MeasurementTable& table);

// --- A catalogue's choices, made of what was compared: docs/library.md.

struct GuardedCatalogue {
  Catalogue catalogue;
  int decided = 0;         // rows whose choice a comparison made
  int to_kernel = 0;       // of these, the kernel now, where it was cuBLASLt
  int to_cublaslt = 0;     // and the other way round
  int not_compared = 0;    // rows whose shapes the comparison lacks, or that none has decided
  int elsewhere = 0;       // rows of another device, layout or type: always left alone
  int not_catalogued = 0;  // shapes of the comparison that the catalogue lacks
  // Of the rows that were decided: the comparison measured what has been built of them since they
  // were tuned, and they have its hashes now.
  int built_anew = 0;
  // Of the rows that were decided: this program builds them otherwise than what was measured.
  int changed = 0;
};

// What becomes of rows that were not compared: their kernels may have failed the comparison.
enum class Uncompared : uint8_t { kKeep, kCublasLt };

// Whether the bar's layout is the row's own: then its callers get the bar itself of a library that
// has its algorithm, whatever the compared library ran there.
using PrimaryIsOwn = std::function<bool(const CatalogueRow&)>;

// Gives every row that was compared the comparison's results, and the choice that Guarded makes of
// them. Where the library ran cuBLASLt, and the bar is not the row's own, they are beside that
// (kFallback), too; where it ran the kernel, what was known of the fallback stays. kBadInput: the
// comparison was neither of this catalogue, nor of it AsBuiltNow.
Result<GuardedCatalogue> Guard(const Catalogue& catalogue, const MeasurementTable& comparison,
                               Uncompared uncompared = Uncompared::kKeep,
                               const PrimaryIsOwn& primary_is_own = nullptr);

// The choices that Guarded makes today of what compared rows hold, whoever or whatever made them
// before. Rows that were not compared stay as they are.
GuardedCatalogue GuardAnew(Catalogue catalogue);

// Every choice is cuBLASLt: a comparison of it measures each kernel beside the fallback.
Catalogue LeftToCublasLt(Catalogue catalogue);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_COMPARISON_SUMMARY_H_
