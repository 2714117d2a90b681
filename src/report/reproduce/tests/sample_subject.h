// A judged candidate with every kind of operation and argument, for this folder's tests.
#ifndef WARPSMITH_REPORT_REPRODUCE_TESTS_SAMPLE_SUBJECT_H_
#define WARPSMITH_REPORT_REPRODUCE_TESTS_SAMPLE_SUBJECT_H_

#include <limits>
#include <string>
#include <utility>

#include "report/reproduce/folder.h"

namespace warpsmith::reproduce {

inline LaunchOperation SampleLaunch() {
  LaunchOperation launch;
  launch.kernel = "gemm";
  launch.grid = {Expression::Literal("2 * ceil_div(N, 64)"), Expression::Constant(1),
                 Expression::Constant(1)};
  launch.block[0] = Expression::Constant(128);
  launch.cluster[0] = Expression::Constant(2);
  launch.shared_bytes = Expression::Constant(65536);
  launch.cooperative = launch.programmatic = launch.nonportable_cluster = true;
  TensorMapArgument map;
  map.tensor = "A";
  map.dims = {Expression::Literal("N"), Expression::Literal("N")};
  map.strides_bytes = {Expression::Literal("2 * N")};
  map.box = {Expression::Constant(64), Expression::Constant(8)};
  map.element_strides = {Expression::Constant(1), Expression::Constant(1)};
  map.swizzle = Swizzle::k128B;
  map.l2_promotion_bytes = 256;
  map.fill_nan = true;
  launch.arguments = {map,
                      TensorArgument{"C"},
                      WorkspaceArgument{"partial"},
                      IntArgument{Expression::Literal("0 - N"), 4},
                      IntArgument{Expression::Literal("N * 1000000000000"), 8},
                      FloatArgument{0.5, 4},
                      FloatArgument{-std::numeric_limits<double>::infinity(), 8},
                      TableArgument{{3, -1}}};
  return launch;
}

inline LaunchPlan SamplePlan() {
  LaunchPlan plan;
  plan.workspaces = {{"partial", Expression::Literal("4 * N"), true},
                     {"padded", Expression::Constant(4096), false}};
  plan.operations = {MemsetOperation{"C", 7, Expression::Constant(16)},
                     PadOperation{"padded", "A", Expression::Constant(4), Expression::Constant(100),
                                  Expression::Literal("2 * N"), Expression::Constant(5),
                                  Expression::Constant(128)},
                     CopyOperation{"C", "padded", Expression::Constant(64)}, SampleLaunch()};
  return plan;
}

inline Task SampleTask() {
  Task task;
  task.name = "sample";
  task.tensors = {
      {"A",
       DType::kF16,
       Role::kInput,
       {Expression::Literal("N"), Expression::Literal("N")},
       Generator::kUniform},
      {"index",
       DType::kI32,
       Role::kInput,
       {Expression::Literal("N")},
       Generator::kIntegers,
       Expression::Constant(0),
       Expression::Literal("N / 2")},
      {"C", DType::kF16, Role::kOutput, {Expression::Literal("N"), Expression::Literal("N")}}};
  return task;
}

inline Subject SampleSubject() {
  Subject subject;
  subject.name = "tasks/sample/mine";
  subject.task = SampleTask();
  subject.workload = {"64", {{"N", 64}}, 1, false};
  subject.candidate.entry = "gemm.cu";
  subject.candidate.sources = {{"gemm.cu", "extern \"C\" __global__ void gemm() {}\n"}};
  subject.candidate.flags = {"-DTILE=64", "-DWORDS=a b"};
  subject.candidate.plan = SamplePlan();
  subject.key = "key";
  subject.device.sm_count = 132;
  subject.device.architecture = "sm_90a";
  ModeTiming timing;  // device
  timing.candidate = {"candidate", 12.5, {12.25, 12.75}, {}};
  timing.comparisons = {{"theirs", 1.5, {1.25, 1.75}, Finding::kFaster}};
  Passed passed;
  passed.timings = {{"64", {timing, timing, timing, timing}}};
  passed.timings[0].modes[1].mode = Mode::kDeviceCold;
  passed.timings[0].modes[2].mode = Mode::kOffline;
  passed.timings[0].modes[3].mode = Mode::kServer;
  subject.verdict.outcome = std::move(passed);
  subject.verdict.evidence.device = "NVIDIA H100";
  subject.verdict.evidence.driver = "580.95";
  subject.verdict.evidence.date = "2026-11-21";
  subject.verdict.evidence.protocol = "j1/screened";
  subject.verdict.evidence.artifact_sha256 = std::string(64, 'a');
  return subject;
}

// The same task, answered by a program of two sources and a header.
inline Subject SampleProgram() {
  Subject subject = SampleSubject();
  subject.task.forms = {Form::kProgram};
  auto& timing = std::get<Passed>(subject.verdict.outcome).timings[0];
  timing.modes.resize(1);
  timing.modes[0].mode = Mode::kWall;
  subject.task.program =
      ProgramEntry{"void run(void* c, const void* a, int64_t n)", {"C", "A", "N"}};
  subject.candidate = Candidate();
  subject.candidate.form = Form::kProgram;
  subject.candidate.toolchain = "nvcc";
  subject.candidate.entry = "run.cpp";
  subject.candidate.sources = {
      {"run.cpp",
       "#include <cstdint>\n#include \"part.h\"\n"
       "void run(void* c, const void* a, int64_t n) { part(c, a, n); }\n"},
      {"part.h", "#include <cstdint>\nvoid part(void* c, const void* a, int64_t n);\n"},
      {"part.cpp",
       "#include <cstring>\n#include \"part.h\"\n"
       "void part(void* c, const void* a, int64_t n) { std::memcpy(c, a, 2 * n * n); }\n"}};
  return subject;
}

}  // namespace warpsmith::reproduce

#endif  // WARPSMITH_REPORT_REPRODUCE_TESTS_SAMPLE_SUBJECT_H_
