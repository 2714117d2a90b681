// A GEMM as task, candidate and verdict, for this folder's tests.
#ifndef WARPSMITH_CORE_TESTS_GEMM_EXAMPLE_H_
#define WARPSMITH_CORE_TESTS_GEMM_EXAMPLE_H_

#include <utility>

#include "core/candidate.h"
#include "core/task.h"
#include "core/verdict.h"

namespace warpsmith {

inline Expression E(std::string_view text) { return Expression::Literal(text); }

inline Task GemmTask() {
  Task task;
  task.name = "gemm-tn";
  task.tensors = {{"A", DType::kF16, Role::kInput, {E("M"), E("K")}},
                  {"B", DType::kF16, Role::kInput, {E("N"), E("K")}},
                  {"C", DType::kF16, Role::kOutput, {E("M"), E("N")}}};
  task.reference = {"gemm", {{"layout", "TN"}}};
  task.tolerance.reduction_length = E("K");
  task.workloads = {{"small", {{"M", 256}, {"N", 512}, {"K", 128}}}};
  task.baselines = {"cublaslt-auto"};
  task.flops = E("2 * M * N * K");
  return task;
}

inline TensorMapArgument GemmMap(const char* tensor, const char* rows) {
  return {.tensor = tensor,
          .dtype = DType::kF16,
          .dims = {E("K"), E(rows)},
          .strides_bytes = {E("2 * K")},
          .box = {E("64"), E("128")},
          .element_strides = {E("1"), E("1")},
          .swizzle = Swizzle::k128B,
          .l2_promotion_bytes = 128};
}

inline Candidate GemmCandidate() {
  LaunchOperation launch;
  launch.kernel = "gemm";
  launch.grid = {E("ceil_div(N, 128)"), E("ceil_div(M, 128)"), E("1")};
  launch.block = {E("128"), E("1"), E("1")};
  launch.cluster = {E("2"), E("1"), E("1")};
  launch.shared_bytes = E("65536");
  launch.arguments = {GemmMap("A", "M"),      GemmMap("B", "N"),
                      TensorArgument{"C"},    WorkspaceArgument{"partial"},
                      IntArgument{E("M"), 4}, IntArgument{E("N * K"), 8},
                      FloatArgument{0.5, 4},  TableArgument{{3, -1, 4}}};
  Candidate candidate;
  candidate.sources = {{"gemm.cu", "extern \"C\" __global__ void gemm() {}\n"}};
  candidate.entry = "gemm.cu";
  candidate.flags = {"-DBM=128"};
  candidate.plan.valid_when = E("K % 64 == 0");
  candidate.plan.workspaces = {{"partial", E("4 * M * N"), true}};
  candidate.plan.operations = {MemsetOperation{"C", 0, E("2 * M * N")}, std::move(launch)};
  candidate.provenance.family = "wgmma";
  candidate.provenance.config = {{"bm", 128}};
  return candidate;
}

inline Verdict GemmVerdict() {
  ModeTiming mode;
  mode.roofline_us = 4;
  mode.candidate = {"candidate",
                    10,
                    {9.5, 10.5},
                    {{0, 0, 10, 1755, 40, 300},
                     {0, 0, 12, 1755, 40, 301},
                     {0, 0, 8, 1755, 41, 302},
                     {0, 1, 10, 1740, 41, 303}}};
  mode.baselines = {{"cublaslt-auto", 11, {10.5, 11.5}, {{0, 0, 10}, {0, 1, 12}}}};
  mode.comparisons = {{"cublaslt-auto", 1.1, {1.05, 1.15}, Finding::kFaster}};
  Passed passed;
  passed.correctness.max_deviation = {0.25, 0.75};
  passed.correctness.worst_bound_fraction = 0.4;
  passed.correctness.outputs_verified = 12;
  passed.timings = {{"small", {mode}}};
  Evidence evidence;
  evidence.device = "NVIDIA H200";
  evidence.kernels = {{"gemm", 168, 1024, 0, 0, 0}};
  return {passed, evidence};
}

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_TESTS_GEMM_EXAMPLE_H_
