// The libraries that HGEMM is measured against: C (m x n) = A (m x k) * B (k x n), FP16 or BF16 in
// and out, FP32 accumulation, all row-major (column-major libraries get the operands swapped).
//
//   name                 what runs
//   cublas               cublasGemmEx, CUBLAS_GEMM_DEFAULT
//   cublaslt-heuristic   cuBLASLt, the first answer of its heuristic
//   cublaslt-auto        cuBLASLt, the best of up to 100 answers as the judge times them, in each
//                        timing mode by itself (contest.h); without a suffix also cublasGemmEx:
//                        the best that NVIDIA's libraries have
//   lib:PATH             a library of somebody's (entrants.h), in the task's layout
//
// Each but the last takes a suffix "-nn" (B stored k x n) or "-tn" (B stored n x k); without one it
// is the faster of the two ("max" in CUDA-L2). A baseline of the other layout than the task's reads
// the same bytes as another matrix: as fast, but its output is not the task's, so only its time may
// be used.
#ifndef WARPSMITH_JUDGE_BASELINE_GEMM_BASELINE_H_
#define WARPSMITH_JUDGE_BASELINE_GEMM_BASELINE_H_

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/protocol.h"
#include "cuda/cublas.h"
#include "cuda/cublaslt.h"
#include "cuda/gemm.h"
#include "cuda/memory.h"
#include "cuda/plan/prepared_plan.h"

namespace warpsmith::baseline {

// What the libraries' products of one process share, since they run one at a time: handles, which
// take milliseconds to make, descriptions of products, and scratch memory.
inline constexpr size_t kLibraryWorkspaceBytes = size_t{32} << 20;  // cuBLAS's own on sm_90

// Of one context. What it hands out may outlive it, and must not outlive the context.
class SharedHandles {
 public:
  // Made at first use and kept: one of each type, and of each shape.
  Result<std::shared_ptr<const cuda::Cublas>> CublasOf(cuda::HalfType type);
  Result<std::shared_ptr<const cuda::LtMatmul>> MatmulOf(const cuda::GemmShape& shape);
  // kLibraryWorkspaceBytes, or as many as are asked for where that is more.
  Result<std::shared_ptr<const cuda::DeviceBuffer>> Workspace(size_t bytes);

 private:
  std::map<cuda::HalfType, std::shared_ptr<const cuda::Cublas>> cublas_;
  std::map<std::string, std::shared_ptr<const cuda::LtMatmul>> matmuls_;
  std::shared_ptr<const cuda::DeviceBuffer> workspace_;
};

enum class GemmLibrary : uint8_t { kCublas, kLtHeuristic, kLtAuto, kThirdParty };

struct GemmBaselineName {
  GemmLibrary library = GemmLibrary::kLtAuto;
  std::optional<cuda::GemmLayout> layout;  // empty: the faster of both
  std::string path = {};                   // kThirdParty's
  bool operator==(const GemmBaselineName&) const = default;
};

// kUsage, listing the known names.
Result<GemmBaselineName> ParseGemmBaselineName(std::string_view text);
std::string Text(const GemmBaselineName& name);  // what ParseGemmBaselineName reads
std::string_view Text(cuda::GemmLayout layout);  // "NN", "TN"
std::string_view Text(cuda::HalfType type);      // "f16", "bf16"

// A product in whichever layout.
struct GemmProblem {
  int64_t m = 0, n = 0, k = 0;
  cuda::HalfType type = cuda::HalfType::kF16;
};

// All nine names of cuBLAS and cuBLASLt.
std::vector<std::string> GemmBaselineNames();

// What a name came to for one shape: everything another process needs to run exactly the same.
struct GemmBaselineChoice {
  GemmBaselineName name;
  cuda::GemmShape shape;  // with the layout that was chosen
  // cuBLASLt's. Empty: cublasGemmEx runs, or the third party's library.
  std::optional<cuda::LtAlgorithm> algorithm;
  double median_us = 0;          // as timed when it was chosen; 0: there was no choice
  int tried = 1;                 // entrants that were timed
  std::string library;           // "cuBLASLt 13.1.0"
  Mode mode = Mode::kDeviceHot;  // that it was timed in
  std::string contest;      // ContestId() of the contest that chose it; empty: version 1's, or none
  bool exhaustive = false;  // chosen among all that the library can do, not its heuristic's answers
  double listed_us = 0;     // the best of the heuristic's answers and cublasGemmEx beside it
};

inline constexpr int kGemmChoiceVersion = 2;
// `dtype` is written where it is not f16, `exhaustive` where it is so.
nlohmann::json ToJson(const GemmBaselineChoice& choice);
// Version 1, which knew no modes and no contests, is read too.
Result<GemmBaselineChoice> GemmBaselineChoiceFrom(const JsonReader& json);
// The same as one line of text.
std::string ToText(const GemmBaselineChoice& choice);
Result<GemmBaselineChoice> GemmBaselineChoiceFromText(const std::string& text);

// What runs, whatever it was called and however it was chosen: equal for equal calls.
// "cublasGemmEx TN", "cublasLtMatmul NN 00000042...", "lib:/opt/kernels.so".
std::string CallOf(const GemmBaselineChoice& choice);

// Ready to run in the current context. Baselines that are made with the same `shared` never run at
// once. The bindings are "A", "B", "C" and as large as the shape says (kBadInput otherwise).
// kBadInput when this library or device refuses the choice's algorithm.
Result<plan::TimedCallable> MakeGemmBaseline(const GemmBaselineChoice& choice,
                                             SharedHandles& shared);

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_GEMM_BASELINE_H_
