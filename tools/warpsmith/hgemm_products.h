// Matrix products as the command line names them, as tasks, and as the kernel families know them.
#ifndef WARPSMITH_TOOLS_HGEMM_PRODUCTS_H_
#define WARPSMITH_TOOLS_HGEMM_PRODUCTS_H_

#include <string>

#include "core/task.h"
#include "hgemm/family.h"
#include "options.h"

namespace warpsmith::cli {

Task TaskOf(const ProductOptions& product);

// "--layout TN", "--layout NN --dtype bf16"
std::string ArgumentsOf(const ProductOptions& product);

// Of a task that task::HgemmTask made.
hgemm::Problem ProblemOf(const Task& task, const Workload& workload);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_HGEMM_PRODUCTS_H_
