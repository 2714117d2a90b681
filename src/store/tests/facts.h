// Values for tests and benchmarks: a small GEMM task, a parametric space, and verdicts made by a
// cost function, shaped like real ones (several baselines, samples with noise and telemetry).
#ifndef WARPSMITH_STORE_TESTS_FACTS_H_
#define WARPSMITH_STORE_TESTS_FACTS_H_

#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "base/sha256.h"
#include "core/device.h"
#include "core/space.h"
#include "store/database_store.h"
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

// A device for tests and benchmarks that needs no artifacts: whatever was submitted is answered by
// a function of the job when the device is asked next.
class AnsweringDevice : public Device {
 public:
  using Answer = std::function<Verdict(const Job& job)>;
  // `gpu_seconds`: what each verdict cost.
  AnsweringDevice(Answer answer, double gpu_seconds)
      : answer_(std::move(answer)), gpu_seconds_(gpu_seconds), info_(TestDevice()) {
    info_.needs_artifacts = false;
  }

  const DeviceInfo& Info() const override { return info_; }
  Status Submit(std::vector<Job> jobs) override {
    for (Job& job : jobs) jobs_.push_back(std::move(job));
    return {};
  }
  Result<std::vector<Completed>> Collect(std::chrono::milliseconds /*patience*/) override {
    std::vector<Completed> completed;
    for (const Job& job : std::exchange(jobs_, {})) {
      ++judged_;
      completed.push_back({job.key, answer_(job), gpu_seconds_});
    }
    return completed;
  }
  int judged() const { return judged_; }
  DeviceInfo& info() { return info_; }

 private:
  const Answer answer_;
  const double gpu_seconds_;
  DeviceInfo info_;
  std::vector<Job> jobs_;
  int judged_ = 0;
};

// What each table says, ids replaced by what they stand for.
struct DumpQuery {
  const char* table;
  int columns;
  const char* sql;
};

inline constexpr DumpQuery kDumpQueries[] = {
    {"device", 2, "SELECT uuid, info FROM device ORDER BY info"},
    {"toolchain", 1, "SELECT name FROM toolchain ORDER BY name"},
    {"task", 3, "SELECT content_id, name, body FROM task ORDER BY body"},
    {"workload", 2, "SELECT name, body FROM workload ORDER BY body"},
    {"protocol", 2, "SELECT level, body FROM protocol ORDER BY body"},
    {"source", 2, "SELECT sha256, hex(text) FROM source ORDER BY sha256"},
    {"candidate", 3, "SELECT id, code_bytes, body FROM candidate ORDER BY id"},
    {"candidate_source", 3,
     "SELECT candidate, path, source FROM candidate_source ORDER BY candidate, path"},
    {"artifact", 4,
     "SELECT candidate, name, architecture, sha256 FROM artifact "
     "JOIN toolchain ON toolchain.id = toolchain ORDER BY 1, 2, 3, 4"},
    {"verdict", 8,
     "SELECT key, candidate, uuid, outcome, conclusive, verdict.body, digest, origin FROM verdict "
     "JOIN device ON device.id = device ORDER BY key, digest"},
    {"measurement", 10,
     "SELECT key, workload_index, mode_index, contender_index, mode, contender, median_us, lo_us, "
     "hi_us, hex(samples) FROM measurement JOIN verdict ON verdict.id = verdict "
     "ORDER BY key, digest, workload_index, mode_index, contender_index"},
    {"run", 9,
     "SELECT run.id, task.body, workload.body, protocol.body, device.info, proposer, seed, batch, "
     "space FROM run JOIN task ON task.id = task JOIN workload ON workload.id = workload "
     "JOIN protocol ON protocol.id = protocol JOIN device ON device.id = device ORDER BY run.id"},
    // A leased job is work in flight, not a fact.
    {"job", 3, "SELECT run, step_index, key FROM job WHERE state = 'done' ORDER BY 1, 2"},
    {"step", 11,
     "SELECT run, step_index, step.candidate, key, digest, provenance, terms, reward, evaluations, "
     "step.gpu_seconds, tokens FROM step JOIN verdict ON verdict.id = verdict ORDER BY 1, 2"},
    {"memo", 3, "SELECT run, key, hex(text) FROM memo ORDER BY run, key"},
};

inline Status DumpTable(Connection& connection, const DumpQuery& query, std::string& dump) {
  Statement rows = connection.Prepare(query.sql);
  while (TRY(rows.Next())) {
    dump += query.table;
    for (int column = 0; column < query.columns; ++column) {
      dump += '\t';
      dump += rows.IsNull(column) ? std::string("NULL") : rows.Text(column);
    }
    dump += '\n';
  }
  return {};
}

// A store's facts as text that depends on nothing but the facts: no row ids, times of day,
// durations, workers or attempts. Two stores that hold the same have the same dump.
// One line a row: the table's name, then its columns, tab-separated; ordered by content.
inline Result<std::string> CanonicalDump(DatabaseStore& store) {
  std::string dump;
  for (const DumpQuery& query : kDumpQueries) TRY(DumpTable(store.connection(), query, dump));
  return dump;
}

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_TESTS_FACTS_H_
