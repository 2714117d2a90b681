// Catalogues as files, and as what a store's runs come to.
#ifndef WARPSMITH_TOOLS_CATALOGUE_H_
#define WARPSMITH_TOOLS_CATALOGUE_H_

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/result.h"
#include "core/store.h"
#include "hgemm/catalogue.h"
#include "options.h"

namespace warpsmith::cli {

Result<hgemm::Catalogue> ReadCatalogue(const std::string& path);
Status WriteCatalogue(const hgemm::Catalogue& catalogue, const std::string& path);  // "-": stdout

// What a comparison names its kernels by: the hash of the catalogue as this program builds it now,
// so that no table has rows of kernels that were built otherwise. "none" without rows.
Result<std::string> CatalogueTerm(const hgemm::Catalogue& catalogue);

// What a command that wrote a catalogue (or its page) has to say: the document, if one was asked
// for and stdout is not taken by the output, else the words, on stderr.
void Tell(const CommonOptions& common, const std::string& output, const std::string& words,
          nlohmann::json document);

// The best passed kernel of each HGEMM problem: certified ones before screened ones, then the
// greater ratio to the bar. `run`: of this tuning only, empty: of all.
Result<hgemm::Catalogue> CatalogueOf(Store& store, const std::string& run);

// The row of one step, or nullopt where it is no parametric kernel that passed beside a baseline.
std::optional<hgemm::CatalogueRow> RowOf(const RunRecord& run, const Step& step);

// The catalogue to look into where none is named: the one that is shipped; nullopt: there is none.
Result<std::optional<hgemm::Catalogue>> ShippedCatalogue();

// The catalogue that a tuning begins with. `near`: its path, which the search must be able to make
// use of (kUsage); "none"; or empty for the shipped one, if the search can use it. A replay has none
// by default: what is found in a recording should not have been known from elsewhere.
Result<hgemm::Catalogue> NearbyCatalogue(const std::string& near, const std::string& proposer,
                                         bool is_replay);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_CATALOGUE_H_
