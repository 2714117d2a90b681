// Which wgmma configurations are worth a measurement.
#ifndef WARPSMITH_HGEMM_WGMMA_SPACE_H_
#define WARPSMITH_HGEMM_WGMMA_SPACE_H_

#include <vector>

#include "hgemm/wgmma_family.h"

namespace warpsmith::hgemm {

// Legal, distinct, in a fixed order.
std::vector<WgmmaParameters> WgmmaChoices(const Problem& problem, const Target& target);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_WGMMA_SPACE_H_
