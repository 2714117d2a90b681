// The libraries that HGEMM is measured against: C (m x n) = A (m x k) * B (k x n), FP16 or BF16 in
// and out, FP32 accumulation, all row-major (column-major libraries get the operands swapped).
//
//   name                 what runs
//   cublas               cublasGemmEx, CUBLAS_GEMM_DEFAULT
//   cublaslt-heuristic   cuBLASLt, the first answer of its heuristic
//   cublaslt-auto        cuBLASLt, the best of up to 100 answers as timed here (tune.h)
//   lib:PATH             a library of somebody's (rival_library.h), in the task's layout
//
// Each but the last takes a suffix "-nn" (B stored k x n) or "-tn" (B stored n x k); without one it
// is the faster of the two ("max" in CUDA-L2). A baseline of the other layout than the task's reads
// the same bytes as another matrix: as fast, but its output is not the task's, so only its time may
// be used.
#ifndef WARPSMITH_JUDGE_BASELINE_GEMM_BASELINE_H_
#define WARPSMITH_JUDGE_BASELINE_GEMM_BASELINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/json_reader.h"
#include "base/result.h"
#include "cuda/cublaslt.h"
#include "cuda/gemm.h"
#include "cuda/memory.h"
#include "cuda/plan/timed_callable.h"

namespace warpsmith::baseline {

enum class GemmLibrary : uint8_t { kCublas, kLtHeuristic, kLtAuto, kRival };

struct GemmBaselineName {
  GemmLibrary library = GemmLibrary::kLtAuto;
  std::optional<cuda::GemmLayout> layout;  // empty: the faster of both
  std::string path = {};                   // kRival's
  bool operator==(const GemmBaselineName&) const = default;
};

// kUsage, listing the known names.
Result<GemmBaselineName> ParseGemmBaselineName(std::string_view text);
std::string Text(const GemmBaselineName& name);
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
  cuda::GemmShape shape;                       // with the layout that was chosen
  std::optional<cuda::LtAlgorithm> algorithm;  // cuBLASLt's
  double median_us = 0;  // as timed when it was chosen; 0: there was no choice
  int tried = 1;         // contenders that were timed
  std::string library;   // "cuBLASLt 13.1.0"
};

inline constexpr int kGemmChoiceVersion = 1;
// `dtype` is written where it is not f16.
nlohmann::json ToJson(const GemmBaselineChoice& choice);
Result<GemmBaselineChoice> GemmBaselineChoiceFrom(const JsonReader& json);
// The same as one line of text.
std::string ToText(const GemmBaselineChoice& choice);
Result<GemmBaselineChoice> GemmBaselineChoiceFromText(const std::string& text);

// Ready to run in the current context. `workspace` may be shared by baselines that never run at
// once; when it is null or too small for the choice's algorithm, one is made. The bindings are "A",
// "B", "C" and as large as the shape says (kBadInput otherwise). kBadInput when this library or
// device refuses the choice's algorithm.
Result<plan::TimedCallable> MakeGemmBaseline(
    const GemmBaselineChoice& choice,
    std::shared_ptr<const cuda::DeviceBuffer> workspace = nullptr);

}  // namespace warpsmith::baseline

#endif  // WARPSMITH_JUDGE_BASELINE_GEMM_BASELINE_H_
