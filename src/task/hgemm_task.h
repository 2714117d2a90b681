// The built-in task: C = A * B in FP16 with FP32 accumulation, as CUDA-L2 states it (section 2.1),
// or the same in BF16.
//
// A is M x K row-major. Layout NN: B is K x N row-major. Layout TN: B is stored as N x K row-major
// (BLAS's column-major view of it is transposed). C is M x N row-major. alpha = 1, beta = 0.
#ifndef WARPSMITH_TASK_HGEMM_TASK_H_
#define WARPSMITH_TASK_HGEMM_TASK_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/task.h"

namespace warpsmith::task {

struct HgemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool operator==(const HgemmShape&) const = default;
};

// "512x4096x1024". Every extent must be in [1, 2^24] and every matrix below 2^40 bytes.
Result<HgemmShape> ParseHgemmShape(std::string_view text);
// A comma-separated list of shapes, or the name of a grid: "demo" (12 shapes), "paper" (1,000).
Result<std::vector<HgemmShape>> ParseHgemmShapes(std::string_view text);
std::string Name(const HgemmShape& shape);  // "512x4096x1024"

// From 64^3 to 8192^3: tiny, deep-K, skinny, store-bound, square.
std::vector<HgemmShape> DemoShapes();
// M, N, K in {64, 128, 256, 512, 1024, 2048, 4096, 8192, 12288, 16384}.
std::vector<HgemmShape> PaperShapes();

// `layout` is "NN" or "TN", `dtype` kF16 or kBF16. The task is the same for all shapes of a layout
// and type; a shape is a workload.
Task HgemmTask(std::string_view layout, DType dtype = DType::kF16);
Workload HgemmWorkload(const HgemmShape& shape);  // sizes M, N and K, named "512x4096x1024"
// Of a workload that has these sizes; without one of them it is a bug.
HgemmShape ShapeOf(const Workload& workload);
// "NN" or "TN" of a task made by HgemmTask, else empty.
std::string LayoutOf(const Task& task);
DType DTypeOf(const Task& task);  // of a task with a layout

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_HGEMM_TASK_H_
