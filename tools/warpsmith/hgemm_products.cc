#include "hgemm_products.h"

#include <optional>

#include "task/hgemm_task.h"

namespace warpsmith::cli {

Task TaskOf(const ProductOptions& product) {
  return task::HgemmTask(product.layout, DTypeFromName(product.dtype).value());
}

std::string ArgumentsOf(const ProductOptions& product) {
  const ProductOptions usual;
  return "--layout " + product.layout +
         (product.dtype == usual.dtype ? "" : " --dtype " + product.dtype);
}

hgemm::Problem ProblemOf(const Task& task, const Workload& workload) {
  const task::HgemmShape shape = task::ShapeOf(workload);
  const std::optional<hgemm::Layout> layout = hgemm::LayoutFromText(task::LayoutOf(task));
  return {shape.m, shape.n, shape.k, layout.value(), task::DTypeOf(task)};
}

}  // namespace warpsmith::cli
