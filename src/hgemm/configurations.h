// A catalogue's kernels, each configuration once.
#ifndef WARPSMITH_HGEMM_CONFIGURATIONS_H_
#define WARPSMITH_HGEMM_CONFIGURATIONS_H_

#include <vector>

#include "hgemm/catalogue.h"

namespace warpsmith::hgemm {

// Of each configuration that the catalogue chose, apart by layout and element type, the row with
// the least M * N * K; the least first.
std::vector<CatalogueRow> OneOfEachConfiguration(const Catalogue& catalogue);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_CONFIGURATIONS_H_
