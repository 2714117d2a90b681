// How thorough `hgemm tune` is without being told.
#ifndef WARPSMITH_TOOLS_TUNE_DEFAULTS_H_
#define WARPSMITH_TOOLS_TUNE_DEFAULTS_H_

#include <cstddef>

#include "options.h"

namespace warpsmith::cli {

inline constexpr size_t kFewShapes = 24;

// What says that it was not given: an empty proposer or budget, finalists or a batch below zero.
SearchOptions UnsetTuneOptions();

// `search` with what was not given filled in, for a tuning of so many shapes.
SearchOptions TuneDefaults(SearchOptions search, size_t shapes);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_TUNE_DEFAULTS_H_
