// The pack: kernels as the library carries them, with the catalogue that says where each belongs.
// One file, written by `warpsmith hgemm build`. Format: docs/library.md.
#ifndef WARPSMITH_GEMM_LIBRARY_PACK_H_
#define WARPSMITH_GEMM_LIBRARY_PACK_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/dtype.h"
#include "core/launch_plan.h"
#include "core/space.h"
#include "hgemm/catalogue.h"

namespace warpsmith::gemm_library {

inline constexpr int kPackVersion = 1;

struct PackKernel {
  Point point;
  hgemm::Layout layout = hgemm::Layout::kTN;
  DType dtype = DType::kF16;
  LaunchPlan plan;    // tensors A, B, C; sizes M, N, K
  std::string image;  // the cubin: whole when written, compressed as read (Image())
};

// What a row of the catalogue comes to here.
struct PackRow {
  int kernel = -1;           // index of its kernel; -1: none
  std::string lt_algorithm;  // cuBLASLt's autotuned one, as ToHex (cuda/cublaslt.h); may be empty
};

struct Pack {
  std::string architecture;  // "sm_90a"
  std::string toolkit;       // "nvrtc 13.0"
  hgemm::Catalogue catalogue;
  std::vector<PackRow> rows;  // one per row of the catalogue
  std::vector<PackKernel> kernels;
};

// Deterministic: equal packs give equal bytes. kBadInput for a plan that the library cannot carry
// out (see CanCarryOut).
Result<std::string> WritePack(const Pack& pack);

// kBadInput when the bytes are no pack or damaged, kVersion for another version. `source` goes into
// errors. Images stay compressed until asked for.
Result<Pack> ReadPack(std::string_view source, std::string_view bytes);

// The cubin of a kernel that was read.
Result<std::string> Image(const PackKernel& kernel);

inline constexpr size_t kMostArguments = 24;  // of one launch

// kBadInput unless the plan consists of launches and fills, with at most kMostArguments a launch
// and no constant tables: what needs no memory of the library's own.
Status CanCarryOut(const LaunchPlan& plan);

}  // namespace warpsmith::gemm_library

#endif  // WARPSMITH_GEMM_LIBRARY_PACK_H_
