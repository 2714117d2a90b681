// What this program makes of a catalogue's kernels: not always what was measured, since device code
// changes.
#ifndef WARPSMITH_HGEMM_BUILT_KERNELS_H_
#define WARPSMITH_HGEMM_BUILT_KERNELS_H_

#include <string>

#include "core/candidate.h"
#include "hgemm/catalogue.h"

namespace warpsmith::hgemm {

std::string PlanId(const LaunchPlan& plan);  // SHA-256 of its JSON

// Does the row's configuration become other sources, flags or another plan than the row's?
// kBadInput: a kernel that this program does not know.
Result<bool> HasChanged(const CatalogueRow& row);

// Rows whose kernels have changed get the hashes of what is built now, and kArtifactNotKept;
// others, and those that are not known here, stay as they are.
Catalogue AsBuiltNow(Catalogue catalogue);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BUILT_KERNELS_H_
