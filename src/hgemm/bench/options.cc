#include "hgemm/bench/options.h"

#include "task/hgemm_task.h"

namespace warpsmith::hgemm {

Task TaskOf(const ProductOptions& product) {
  return task::HgemmTask(product.layout, DTypeFromName(product.dtype).value());
}

std::string ArgumentsOf(const ProductOptions& product) {
  const ProductOptions usual;
  return "--layout " + product.layout +
         (product.dtype == usual.dtype ? "" : " --dtype " + product.dtype);
}

}  // namespace warpsmith::hgemm
