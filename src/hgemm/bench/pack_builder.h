// A catalogue's kernels, compiled, as the library's pack.
#ifndef WARPSMITH_HGEMM_BENCH_PACK_BUILDER_H_
#define WARPSMITH_HGEMM_BENCH_PACK_BUILDER_H_

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "gemm_library/choice.h"
#include "gemm_library/pack.h"
#include "hgemm/bench/options.h"
#include "hgemm/catalogue.h"

namespace warpsmith::hgemm {

// What became of the catalogue's rows.
struct BuildTally {
  size_t kernels = 0, changed = 0;
  size_t measured = 0, guessed = 0, left = 0;  // of the named shapes: rows, guesses, cuBLASLt's
  size_t untuned = 0;               // cuBLASLt's rows for which no algorithm of autotuning is kept
  std::vector<std::string> failed;  // "64x64x64-TN f16 NVIDIA H200: why"
  // What the compiler warned of, such as that wgmma is serialised, and of how many kernels.
  std::map<std::string, size_t> warnings;
  // In each layout and type of the catalogue, of each named shape without a row, and of each whose
  // row chose cuBLASLt: LibraryChoice.
  std::vector<std::string> unmeasured, lost;
};

// A named shape without a row gets what the library's rules say of it by the whole catalogue, and
// the pack the rows that they go by. kBadInput where no row is left.
Result<gemm_library::Pack> BuildPack(const BuildOptions& options, BuildTally* tally);

// What the library runs with the pack of this catalogue, and by which of its rules; the same as one
// line for a person ("1000x1000x1000-TN f16: why: kernel"). Nothing is compiled.
std::pair<gemm_library::Chosen, std::string> LibraryChoice(const Catalogue& catalogue,
                                                           const Problem& problem,
                                                           const Target& target);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_BENCH_PACK_BUILDER_H_
