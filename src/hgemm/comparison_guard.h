// A catalogue's choices, made of what was compared: docs/library.md.
#ifndef WARPSMITH_HGEMM_COMPARISON_GUARD_H_
#define WARPSMITH_HGEMM_COMPARISON_GUARD_H_

#include <cstdint>
#include <functional>

#include "hgemm/catalogue.h"
#include "hgemm/measurement_table.h"

namespace warpsmith::hgemm {

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

#endif  // WARPSMITH_HGEMM_COMPARISON_GUARD_H_
