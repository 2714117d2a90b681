// Values for tests and benchmarks: a small GEMM task, a parametric space, and verdicts made by a
// cost function, shaped like real ones (several baselines, samples with noise and telemetry).
#ifndef WARPSMITH_STORE_TEST_FACTS_H_
#define WARPSMITH_STORE_TEST_FACTS_H_

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/sha256.h"
#include "core/device.h"
#include "core/space.h"
#include "store/recorder.h"

namespace warpsmith::store {

inline Task TestTask() {
  Task task;
  task.name = "gemm";
  const auto dims = [](const char* rows, const char* columns) {
    return std::vector<Expression>{Expression::Literal(rows), Expression::Literal(columns)};
  };
  task.tensors = {{"A", DType::kF16, Role::kInput, dims("M", "K"), Generator::kNormal},
                  {"B", DType::kF16, Role::kInput, dims("K", "N"), Generator::kNormal},
                  {"C", DType::kF16, Role::kOutput, dims("M", "N"), Generator::kNormal}};
  task.reference = {"gemm", {{"layout", "NN"}}};
  task.tolerance.reduction_length = Expression::Literal("K");
  task.baselines = {"cublaslt-auto", "cublaslt", "cublas"};
  task.flops = Expression::Literal("2 * M * N * K");
  return task;
}

inline Workload TestWorkload(int64_t size = 256) {
  const std::string text = std::to_string(size);
  return {text + "x" + text + "x" + text, {{"M", size}, {"N", size}, {"K", size}}, 1, false};
}

inline DeviceInfo TestDevice() {
  DeviceInfo info;
  info.name = "Test H200";
  info.uuid = "GPU-11112222-3333-4444-5555-666677778888";
  info.driver = "580.95";
  info.architecture = "sm_90a";
  info.sm_count = 132;
  info.max_shared_bytes_per_block = 232448;
  info.l2_bytes = 60 << 20;
  info.memory_bytes = int64_t{140} << 30;
  info.max_sm_mhz = 1980;
  info.hbm_bytes_per_s = 4.8e12;
  info.l2_bytes_per_s = 1e13;
  info.tensor_f16_flops = 9.9e14;
  return info;
}

// `side` * `side` points.
inline Space TestSpace(int side, const std::string& name = "test-256x256x256-NN") {
  std::vector<Point> points;
  for (int64_t x = 0; x < side; ++x) {
    for (int64_t y = 0; y < side; ++y) points.push_back({"test", {{"x", x}, {"y", y}}});
  }
  return {name, std::move(points)};
}

inline Candidate TestCandidate(const Point& point) {
  Candidate candidate;
  std::string macros;
  for (const auto& [name, value] : point.config) {
    macros += "#define " + name + " " + std::to_string(value) + "\n";
  }
  candidate.sources["config.h"] = macros;
  candidate.sources["kernel.cu"] = "#include \"config.h\"\nextern \"C\" __global__ void k() {}\n";
  candidate.entry = "kernel.cu";
  candidate.flags = {"-std=c++17"};
  const auto one = Expression::Constant(1);
  LaunchOperation launch{
      .kernel = "k",
      .grid = {Expression::Literal("ceil_div(M, 64)"), one, one},
      .block = {Expression::Constant(128), one, one},
      .cluster = {one, one, one},
      .arguments = {TensorArgument{"A"}, TensorArgument{"B"}, TensorArgument{"C"}}};
  candidate.plan.operations.push_back(std::move(launch));
  candidate.provenance.family = point.family;
  candidate.provenance.config = point.config;
  return candidate;
}

inline ContenderTiming TestTiming(Random& random, const std::string& name, double us) {
  ContenderTiming timing;
  timing.name = name;
  constexpr int kRounds = 3;
  constexpr int kSamplesPerRound = 2;
  for (int i = 0; i < kRounds * kSamplesPerRound; ++i) {
    Sample sample;
    sample.round = i / kSamplesPerRound;
    sample.us = static_cast<float>(us * (1 + 0.003 * random.Normal()));
    sample.sm_mhz = static_cast<float>(1980 - 15 * static_cast<int>(random.Below(4)));
    sample.temperature_c = static_cast<float>(40 + random.Below(12));
    sample.power_w = static_cast<float>(300000 + random.Below(100000)) / 1000;
    timing.samples.push_back(sample);
  }
  timing.median_us = (timing.samples[2].us + timing.samples[3].us) / 2.0;
  timing.interval_us = {timing.median_us * 0.995,
                        timing.median_us * (1 + 0.005 * random.Uniform())};
  return timing;
}

// Lower is faster; best near x = y, in the middle.
inline double TestCostUs(const Point& point, int side) {
  const double x = static_cast<double>(point.config.at("x")) / side;
  const double y = static_cast<double>(point.config.at("y")) / side;
  return 10 + 30 * (x - 0.6) * (x - 0.6) + 60 * (x - y) * (x - y) + 2 * std::sin(9 * y);
}

inline Passed TestPassed(Random& random, double us) {
  ModeTiming mode;
  mode.roofline_us = 3.25;
  mode.aa_noise = 0.002 * random.Uniform();
  mode.candidate = TestTiming(random, "candidate", us);
  for (const auto& [name, baseline_us] :
       {std::pair<const char*, double>{"cublaslt-auto", 12}, {"cublaslt", 12.5}, {"cublas", 13}}) {
    mode.baselines.push_back(TestTiming(random, name, baseline_us));
    const double ratio = mode.baselines.back().median_us / mode.candidate.median_us;
    mode.comparisons.push_back({name,
                                ratio,
                                {ratio * 0.99, ratio * 1.01},
                                ratio > 1 ? Finding::kFaster : Finding::kSlower});
  }
  Passed passed;
  passed.correctness.max_deviation = {random.Uniform() * 0.01, random.Uniform() * 0.01};
  passed.correctness.worst_bound_fraction = random.Uniform() * 0.5;
  passed.correctness.outputs_verified = 9;
  passed.correctness.detectors = {"bound", "poison", "nan", "zero-one"};
  passed.timings = {{"256x256x256", {mode}}};
  return passed;
}

// Mostly passed; every 7th does not compile, every 11th is wrong.
inline Verdict TestVerdict(const Point& point, int side) {
  const std::string name = PointName(point);
  Random random(7, name);
  Verdict verdict;
  const int64_t number = point.config.at("x") * side + point.config.at("y");
  if (number % 7 == 6) {
    verdict.outcome = CompileFailed{"error: too much shared memory", "ptxas error ...", false};
  } else if (number % 11 == 10) {
    verdict.outcome = Incorrect{"bound", "element 17 is off", 0.25, 0.125, 17};
  } else {
    verdict.outcome = TestPassed(random, TestCostUs(point, side));
  }
  Evidence& evidence = verdict.evidence;
  evidence.device = TestDevice().name;
  evidence.device_uuid = TestDevice().uuid;
  evidence.driver = TestDevice().driver;
  evidence.toolchain = "nvrtc 13.0";
  evidence.architecture = "sm_90a";
  evidence.artifact_sha256 = Sha256Hex("image of " + name);
  evidence.baseline_library = "cuBLASLt 13.1.0";
  evidence.protocol = ProtocolId(Protocol::Screened());
  evidence.date = "2026-11-21T09:15:02Z";
  evidence.kernels = {{"k", 168, 0, 0, 0, 0}};
  evidence.compile_ms = 400 * random.Uniform();
  evidence.judge_ms = 200 * random.Uniform();
  return verdict;
}

inline Job TestJob(const Point& point, int64_t size = 256) {
  Job job;
  job.task = TestTask();
  job.workload = TestWorkload(size);
  job.candidate = TestCandidate(point);
  job.protocol = Protocol::Screened();
  job.key = MeasurementKey(job.candidate, job.task, job.workload, job.protocol);
  return job;
}

inline RecordingHeader TestHeader() {
  return {TestDevice(), "nvrtc 13.0", "2026-11-21T09:15:02Z", "warpsmith record test", {}};
}

// A finished recording of a whole TestSpace.
inline Status WriteTestRecording(const std::filesystem::path& path, int side, int64_t size = 256) {
  const std::string name = "test-" + TestWorkload(size).name + "-NN";
  const Space space = TestSpace(side, name);
  auto recorder = TRY(Recorder::Open(path, TestHeader()));
  const int index = TRY(recorder->AddSpace({TestTask(), TestWorkload(size), space}));
  for (const Point& point : space.points()) {
    const Job job = TestJob(point, size);
    TRY(recorder->Append(index, job, {job.key, TestVerdict(point, side), 0.125}));
  }
  return recorder->Finalize();
}

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_TEST_FACTS_H_
