// A catalogue's kernels against the sizes of their shapes, as one HTML page.
#ifndef WARPSMITH_HGEMM_BENCH_CATALOGUE_PAGE_H_
#define WARPSMITH_HGEMM_BENCH_CATALOGUE_PAGE_H_

#include <optional>
#include <string>

#include "hgemm/catalogue.h"
#include "hgemm/measurement_table.h"

namespace warpsmith::hgemm {

// `subtitle` says what the page was made of. report/page/catalogue.js counts and draws. With a
// comparison the page's ratios are the comparison's alone, of the shapes where it measured the
// row's kernel: the catalogue's were measured by another protocol.
// kNothingMeasured for a catalogue without rows; kBadInput for a comparison that shares none of its
// shapes and kernels.
Result<std::string> CataloguePage(const Catalogue& catalogue,
                                  const std::optional<MeasurementTable>& comparison,
                                  const std::string& subtitle);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_CATALOGUE_PAGE_H_
