// Which of a driver's tensors are a module's inputs, and which its state, as far as extents, names
// and order tell.
#ifndef WARPSMITH_TASK_KERNELBENCH_BINDING_H_
#define WARPSMITH_TASK_KERNELBENCH_BINDING_H_

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "task/kernelbench/driver_description.h"
#include "task/kernelbench/inspection.h"

namespace warpsmith::kernelbench {

struct Binding {
  std::vector<size_t> inputs;                              // in forward()'s order
  std::vector<std::pair<std::string, size_t>> parameters;  // state_dict()'s name -> tensor
  bool operator==(const Binding&) const = default;
};

// Tensors of equal extents are bound; where several have the same, by their names in the first
// binding, by their order in the second, then in all other ways, if they are few. Extents of 1
// count only where they tell tensors apart; integer state that no kernel reads
// (num_batches_tracked) need not be given. An Error says what differs.
Result<std::vector<Binding>> Bindings(const ModuleInspection& module,
                                      const DriverDescription& driver);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_BINDING_H_
