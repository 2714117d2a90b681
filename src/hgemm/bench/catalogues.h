// Catalogues as files, as what a store's runs come to, and as a page.
#ifndef WARPSMITH_HGEMM_BENCH_CATALOGUES_H_
#define WARPSMITH_HGEMM_BENCH_CATALOGUES_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/store.h"
#include "hgemm/catalogue.h"
#include "hgemm/measurement_table.h"
#include "search/tuning/search.h"

namespace warpsmith::hgemm {

// kNoInput where there is no such file, kBadInput with the line where it is no catalogue.
Result<Catalogue> ReadCatalogue(const std::string& path);
Status WriteCatalogue(const Catalogue& catalogue, const std::string& path);  // "-": stdout

// What a table of measurements names its kernels by: the hash of the catalogue as this program
// builds it now, so that no table has rows of kernels that were built otherwise. "none" without
// rows.
Result<std::string> CatalogueTerm(const Catalogue& catalogue);

std::string OrUnknown(const std::string& text);  // "unknown" where it is empty

// The best passed kernel of each HGEMM problem: certified ones before screened ones, then the
// greater ratio to the bar. `run`: of this tuning only, empty: of all.
Result<Catalogue> CatalogueOf(Store& store, const std::string& run);

// The row of one step, or nullopt where it is no parametric kernel that passed beside a baseline.
std::optional<CatalogueRow> RowOf(const RunRecord& run, const Step& step);

// The file of the shipped catalogue for a problem's layout and type; empty: there is none.
std::string ShippedCatalogueFile(const Problem& problem);

// The catalogue that a tuning begins with. `near`: its path, which the search must be able to make
// use of (kUsage); "none"; or empty for the shipped one, if the search can use it. A replay has
// none by default: what is found in a recording should not have been known from elsewhere.
Result<Catalogue> NearbyCatalogue(const std::string& near, const std::string& proposer,
                                  bool is_replay);

// --- What is known of a shape's space: `hgemm show`.

struct KnownPoint {
  Point point;
  double predicted_us = 0;
  std::optional<double> measured_us, ratio;
  std::string outcome;  // empty: not measured
};

// What the recording or the store knows of each point under the search's protocol. Measured ones
// come first, fastest first; then by prediction.
Result<std::vector<KnownPoint>> KnownPoints(search::Machine& machine, const search::SearchJob& job);

// --- A catalogue's kernels against the sizes of their shapes, as one HTML page.

// `subtitle` says what the page was made of. report/page/catalogue.js counts and draws. With a
// comparison the page's ratios are the comparison's alone, of the shapes where it measured the
// row's kernel: the catalogue's were measured by another protocol.
// kNothingMeasured for a catalogue without rows; kBadInput for a comparison that shares none of its
// shapes and kernels.
Result<std::string> CataloguePage(const Catalogue& catalogue,
                                  const std::optional<MeasurementTable>& comparison,
                                  const std::string& subtitle);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_CATALOGUES_H_
