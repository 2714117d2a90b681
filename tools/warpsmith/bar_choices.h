// `hgemm bench --choose`: the bar of each shape, chosen in each mode and kept.
#ifndef WARPSMITH_TOOLS_BAR_CHOICES_H_
#define WARPSMITH_TOOLS_BAR_CHOICES_H_

#include "base/result.h"
#include "options.h"

namespace warpsmith::cli {

// A row a shape and mode on stdout, or in --csv. Choices are kept on disk as they are made: the
// same command goes on with what is missing.
Result<int> RunChooseBar(const BenchOptions& options);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_BAR_CHOICES_H_
