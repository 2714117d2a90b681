// Matrix products as the command line names them, as tasks, and as the kernel families know them.
#ifndef WARPSMITH_TOOLS_HGEMM_PRODUCTS_H_
#define WARPSMITH_TOOLS_HGEMM_PRODUCTS_H_

#include <string>

#include "core/task.h"
#include "options.h"
#include "search/tuning/search.h"

namespace warpsmith::cli {

Task TaskOf(const ProductOptions& product);

// "--layout TN", "--layout NN --dtype bf16"
std::string ArgumentsOf(const ProductOptions& product);

using search::ProblemOf;

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_HGEMM_PRODUCTS_H_
