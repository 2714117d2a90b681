// Which kernels a problem is best served with, from measurements where there are some.
#ifndef WARPSMITH_GEMM_LIBRARY_CHOICE_H_
#define WARPSMITH_GEMM_LIBRARY_CHOICE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "gemm_library/pack.h"
#include "gemm_library/problem.h"
#include "hgemm/family.h"

namespace warpsmith::gemm_library {

struct Chosen {
  std::vector<size_t> kernels = {};  // of the pack, the best first; empty: cuBLASLt
  std::string lt_algorithm = {};     // cuBLASLt's autotuned one for this shape; may be empty
  std::string lt_version = {};       // of the library that it is of: "cuBLASLt 13.1.0"
  std::string reason;                // one line for a person
  std::vector<size_t> rows = {};     // of the catalogue: a pack of these alone chooses the same
};

// By rule, in this order:
//   - a problem with alpha, beta, a transposed A or a type that no kernel of the pack has: cuBLASLt
//   - a shape of the catalogue: its choice
//   - another shape of up to 2^27 multiply-adds, K at least 128: up to four kernels that the cost
//     model likes best, if the three shapes of the catalogue that are nearest, within a factor of
//     two in every extent, chose kernels
//   - else cuBLASLt
Chosen Choose(const Pack& pack, const Problem& problem, const hgemm::Target& target);

}  // namespace warpsmith::gemm_library

#endif  // WARPSMITH_GEMM_LIBRARY_CHOICE_H_
