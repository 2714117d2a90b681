// The whole judge over the fake driver: a LocalDevice, its oracle, and real runner processes that
// hang, crash and cheat. What a GPU would add is tested in tests/device/judge_test.cc.
#include "judge/local_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"
#include "core/verdict.h"
#include "cuda/fake/fake_control.h"
#include "judge/fake/host_kernels.h"
#include "judge/problem.h"
#include "judge/runner.h"

namespace warpsmith::judge {
namespace {

Task GemmTask(DType dtype = DType::kF16) {
  const Expression m = Expression::Literal("M"), n = Expression::Literal("N"),
                   k = Expression::Literal("K");
  Task task;
  task.name = "gemm";
  task.tensors = {{"A", dtype, Role::kInput, {m, k}, Generator::kNormal},
                  {"B", dtype, Role::kInput, {k, n}, Generator::kNormal},
                  {"C", dtype, Role::kOutput, {m, n}, Generator::kNormal}};
  task.reference = {"gemm", {{"layout", "NN"}}};
  task.tolerance.reduction_length = k;
  return task;
}

Job MakeJob(const std::string& kernel, int64_t m = 16, int64_t n = 16, int64_t k = 64) {
  const Expression one = Expression::Constant(1);
  LaunchOperation launch;
  launch.kernel = kernel;
  launch.grid = launch.block = launch.cluster = {one, one, one};
  launch.arguments = {TensorArgument{"A"},
                      TensorArgument{"B"},
                      TensorArgument{"C"},
                      IntArgument{Expression::Literal("M")},
                      IntArgument{Expression::Literal("N")},
                      IntArgument{Expression::Literal("K")}};
  Job job;
  job.key = kernel;
  job.task = GemmTask();
  job.workload = {"w", {{"M", m}, {"N", n}, {"K", k}}, 1, false};
  job.candidate.plan.operations = {launch};
  job.artifact.emplace();
  job.artifact->image = fake::CandidateImage(kernel);
  job.protocol.step_timeout_ms = 3'000;
  return job;
}

Job Bf16Job(const std::string& kernel, int64_t k = 64) {
  Job job = MakeJob(kernel, 16, 16, k);
  job.task = GemmTask(DType::kBF16);
  return job;
}

class JudgeOverFakeDriver : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = TemporaryDirectory::Create("judge-test");
    ASSERT_TRUE(folder.ok());
    folder_ = new TemporaryDirectory(std::move(folder).value());
    setenv("XDG_STATE_HOME", folder_->path().c_str(), 1);
    setenv("WARPSMITH_CUBLASLT", cuda::fake::CublasLtPath(), 1);
    fake::DefineKernels();
    auto device = LocalDevice::Open(Options());
    ASSERT_TRUE(device.ok()) << device.error().Line();
    device_ = std::move(device).value().release();
  }

  static void TearDownTestSuite() {
    delete device_;
    delete folder_;
  }

  static LocalDeviceOptions Options() {
    LocalDeviceOptions options;
    options.kernels = fake::KernelImage();
    options.compiler = &compiler_;
    options.solo_argv = {"/bin/false"};  // host code has no opcodes, imports or sanitizers
    options.libraries = {WARPSMITH_GEMM_FILE};
    return options;
  }

  static std::vector<Completed> JudgeAll(std::vector<Job> jobs) {
    const size_t count = jobs.size();
    EXPECT_TRUE(device_->Submit(std::move(jobs)).ok());
    std::vector<Completed> completed;
    const double begin = MonotonicSeconds();
    while (completed.size() < count && MonotonicSeconds() - begin < 60) {
      auto some = device_->Collect(std::chrono::seconds(1));
      EXPECT_TRUE(some.ok());
      for (Completed& one : *some) completed.push_back(std::move(one));
    }
    EXPECT_EQ(completed.size(), count);
    return completed;
  }

  static Outcome JudgeKernel(const std::string& kernel, int64_t m = 16, int64_t n = 16) {
    return JudgeAll({MakeJob(kernel, m, n)}).at(0).verdict.outcome;
  }

  static void ExpectIncorrect(const Outcome& outcome, std::string_view detector) {
    const auto* incorrect = std::get_if<Incorrect>(&outcome);
    ASSERT_NE(incorrect, nullptr) << Describe(outcome);
    EXPECT_EQ(incorrect->detector, detector) << incorrect->detail;
  }

  static void ExpectRejected(const Outcome& outcome, std::string_view rule) {
    const auto* rejected = std::get_if<Rejected>(&outcome);
    ASSERT_NE(rejected, nullptr) << Describe(outcome);
    EXPECT_EQ(rejected->rule, rule) << rejected->detail;
  }

  static void ExpectHonestPasses() {
    const Outcome outcome = JudgeKernel("honest");
    EXPECT_TRUE(std::holds_alternative<Passed>(outcome)) << Describe(outcome);
  }

  static inline TemporaryDirectory* folder_ = nullptr;
  static inline LocalDevice* device_ = nullptr;

  // What is compiled is a name of a kernel of host_kernels.cc.
  class FakeCompiler : public Compiler {
   public:
    Result<CompileOutcome> Compile(const Candidate& candidate, const std::string&) override {
      Artifact artifact;
      const std::string& source = candidate.sources.at(candidate.entry);
      if (source == "syntax error") return CompileOutcome(CompileFailed{"line 1", "log", false});
      artifact.image = fake::RowSumImage(source);
      return CompileOutcome(std::move(artifact));
    }
  };
  static inline FakeCompiler compiler_;
};

// out[r] = the sum of row r of x, all f32.
Job RowSumJob(const std::string& kernel, const std::string& reference = "row-sum-f64") {
  const Expression one = Expression::Constant(1), r = Expression::Literal("R"),
                   l = Expression::Literal("L");
  LaunchOperation launch;
  launch.grid = launch.block = launch.cluster = {one, one, one};
  launch.arguments = {TensorArgument{"x"}, TensorArgument{"out"}, IntArgument{r}, IntArgument{l}};
  Job job;
  job.key = kernel;
  job.task.name = "row-sum";
  job.task.tensors = {{"out", DType::kF32, Role::kOutput, {r}},
                      {"x", DType::kF32, Role::kInput, {r, l}, Generator::kNormal}};
  job.task.reference.kind = "cuda";
  job.task.reference.sources = {{"reference.cu", reference}};
  job.task.reference.plan.emplace();
  launch.kernel = reference;
  job.task.reference.plan->operations = {launch};
  job.task.tolerance.reduction_length = l;
  job.workload = {"w", {{"R", 33}, {"L", 100}}, 1, false};
  launch.kernel = kernel;
  job.candidate.plan.operations = {launch};
  job.artifact.emplace();
  job.artifact->image = fake::RowSumImage(kernel);
  job.protocol.step_timeout_ms = 3'000;
  return job;
}

TEST_F(JudgeOverFakeDriver, HonestPassesScreening) {
  const Completed completed = JudgeAll({MakeJob("honest")}).at(0);
  const auto* passed = std::get_if<Passed>(&completed.verdict.outcome);
  ASSERT_NE(passed, nullptr) << Describe(completed.verdict.outcome);
  EXPECT_TRUE(passed->correctness.deterministic);
  EXPECT_LE(passed->correctness.worst_bound_fraction, 1);
  EXPECT_EQ(passed->correctness.max_deviation.size(), 4U) << "the check and three rounds";
  const ModeTiming* timing = FindTiming(completed.verdict, Mode::kDeviceHot);
  ASSERT_NE(timing, nullptr);
  EXPECT_EQ(timing->candidate.samples.size(), 6U);
  EXPECT_NEAR(timing->candidate.median_us, 1000, 1) << "the fake's clock: 1 ms a launch";
  EXPECT_EQ(completed.verdict.evidence.device, "Fake GPU");
  EXPECT_GT(completed.gpu_seconds, 0);
}

TEST_F(JudgeOverFakeDriver, HonestIsCertifiedInEveryModeByFreshRunners) {
  Job job = MakeJob("honest");
  job.protocol = Protocol::Certified();
  job.protocol.max_rounds = job.protocol.rounds;
  const Completed completed = JudgeAll({job}).at(0);
  const auto* passed = std::get_if<Passed>(&completed.verdict.outcome);
  ASSERT_NE(passed, nullptr) << Describe(completed.verdict.outcome);
  EXPECT_EQ(passed->level, Level::kCertified);
  for (Mode mode : job.protocol.modes) {
    const ModeTiming* timing = FindTiming(completed.verdict, mode);
    ASSERT_NE(timing, nullptr);
    std::set<int> processes;
    for (const Sample& sample : timing->candidate.samples) processes.insert(sample.process);
    EXPECT_EQ(processes.size(), 3U) << Name(mode);
  }
  const auto launches = static_cast<double>(passed->correctness.outputs_verified);
  ASSERT_FALSE(passed->correctness.rare_errors.empty());
  EXPECT_EQ(passed->correctness.rare_errors.front().once_in, 1'000);
  EXPECT_NEAR(passed->correctness.rare_errors.front().caught, 1 - std::pow(0.999, launches), 1e-9);
}

TEST_F(JudgeOverFakeDriver, ShortKernelsAreVerifiedUntilRareErrorsShow) {
  Job job = MakeJob("short", 8, 8, 16);
  job.protocol = Protocol::Certified();
  job.protocol.modes = {Mode::kDeviceHot};
  job.protocol.max_rounds = job.protocol.rounds;
  Job wrong = MakeJob("short-and-rarely-wrong", 8, 8, 16);
  wrong.protocol = job.protocol;
  const auto completed = JudgeAll({job, wrong});
  const auto* passed = std::get_if<Passed>(&completed.at(0).verdict.outcome);
  ASSERT_NE(passed, nullptr) << Describe(completed.at(0).verdict.outcome);
  EXPECT_GE(passed->correctness.outputs_verified, 10'000);
  EXPECT_GT(passed->correctness.rare_errors.at(1).caught, 0.63);
  EXPECT_THAT(Describe(*passed), testing::HasSubstr("wrong once in 100000 launches"));
  EXPECT_TRUE(std::holds_alternative<Incorrect>(completed.at(1).verdict.outcome))
      << Describe(completed.at(1).verdict.outcome);
}

TEST_F(JudgeOverFakeDriver, RaggedSizesPass) {
  const Outcome outcome = JudgeKernel("honest", 7, 9);
  EXPECT_TRUE(std::holds_alternative<Passed>(outcome)) << Describe(outcome);
}

TEST_F(JudgeOverFakeDriver, WrongAnswersAreNamed) {
  ExpectIncorrect(JudgeKernel("zeros"), "bound");
  ExpectIncorrect(JudgeKernel("nan"), "nan");
  ExpectIncorrect(JudgeKernel("drops-last"), "bound");
  ExpectIncorrect(JudgeKernel("fp16-sum"), "fp16-accumulate");
  ExpectIncorrect(JudgeKernel("honest-in-checks-only"), "poison");
  // Seen beside the batch's other answers, or, as the first of its contents, against the bound.
  const Outcome later = JudgeKernel("wrong-later");
  const auto* incorrect = std::get_if<Incorrect>(&later);
  ASSERT_NE(incorrect, nullptr) << Describe(later);
  EXPECT_TRUE(incorrect->detector == "nondeterministic-wrong" || incorrect->detector == "bound")
      << Describe(later);
}

TEST_F(JudgeOverFakeDriver, DigitsCutOffAreSeenThoughEachIsWithinTheBound) {
  ExpectIncorrect(JudgeAll({MakeJob("cuts-off", 16, 16, 1024)}).at(0).verdict.outcome, "bias");
  ExpectIncorrect(JudgeAll({MakeJob("cuts-off-when-timed", 16, 16, 1024)}).at(0).verdict.outcome,
                  "bias");
  const Outcome honest = JudgeAll({MakeJob("honest", 16, 16, 1024)}).at(0).verdict.outcome;
  const auto* passed = std::get_if<Passed>(&honest);
  ASSERT_NE(passed, nullptr) << Describe(honest);
  ASSERT_TRUE(passed->correctness.bias.has_value());
  EXPECT_GT(passed->correctness.bias->elements, 1000);
  EXPECT_LT(passed->correctness.bias->magnitude.interval.lo, 0.02);
  EXPECT_GT(passed->correctness.bias->magnitude.interval.hi, -0.02);
  EXPECT_GT(passed->correctness.bias->allowed, 0.02);
}

TEST_F(JudgeOverFakeDriver, LaunchesThatMayBeginEarlyAreCheckedBehindALateProducer) {
  for (const bool programmatic : {false, true}) {
    Job waits = MakeJob("wants-late-inputs"), reads = MakeJob("does-not-wait");
    for (Job* job : {&waits, &reads}) {
      auto& launch = std::get<LaunchOperation>(job->candidate.plan.operations.front());
      launch.programmatic = programmatic;
    }
    const auto completed = JudgeAll({waits, reads});
    const Outcome& passes = completed.at(programmatic ? 0 : 1).verdict.outcome;
    const Outcome& fails = completed.at(programmatic ? 1 : 0).verdict.outcome;
    EXPECT_TRUE(std::holds_alternative<Passed>(passes)) << Describe(passes);
    ExpectIncorrect(fails, "bound");
    EXPECT_EQ(Describe(fails).find("griddepcontrol.wait") != std::string::npos, programmatic);
  }
  Job timed = MakeJob("does-not-wait-when-timed");
  std::get<LaunchOperation>(timed.candidate.plan.operations.front()).programmatic = true;
  ExpectIncorrect(JudgeAll({timed}).at(0).verdict.outcome, "bound");
}

TEST_F(JudgeOverFakeDriver, HangsAreKilledAndTheNextJobIsUnharmed) {
  for (const char* kernel : {"hangs", "hangs-when-timed"}) {
    const Outcome outcome = JudgeKernel(kernel);
    EXPECT_TRUE(std::holds_alternative<TimedOut>(outcome)) << Describe(outcome);
    ExpectHonestPasses();
  }
}

TEST_F(JudgeOverFakeDriver, DeathsAreFailuresAndTheNextJobIsUnharmed) {
  for (const char* kernel : {"crashes", "writes-past-the-end", "writes-and-crashes-when-timed"}) {
    const Outcome outcome = JudgeKernel(kernel);
    EXPECT_TRUE(std::holds_alternative<RunFailed>(outcome)) << Describe(outcome);
    ExpectHonestPasses();
  }
}

TEST_F(JudgeOverFakeDriver, DamageIsRejectedAndUndone) {
  ExpectRejected(JudgeKernel("writes-before"), "out-of-bounds-write");
  ExpectRejected(JudgeKernel("writes-past-the-end", 7, 9), "out-of-bounds-write");
  ExpectRejected(JudgeKernel("writes-past-the-end-when-timed"), "out-of-bounds-write");
  ExpectHonestPasses();
  ExpectRejected(JudgeKernel("changes-its-input"), "inputs-modified");
  ExpectRejected(JudgeKernel("changes-its-input-when-timed"), "inputs-modified");
  ExpectHonestPasses();
}

TEST_F(JudgeOverFakeDriver, AnsweringForOthersIsFound) {
  const Outcome outcome = JudgeKernel("fills-neighbours");
  EXPECT_TRUE(std::holds_alternative<Incorrect>(outcome) ||
              std::holds_alternative<Rejected>(outcome) ||
              std::holds_alternative<RunFailed>(outcome))
      << Describe(outcome);
}

TEST_F(JudgeOverFakeDriver, RefusesBeforeRunning) {
  Job job = MakeJob("honest");
  job.artifact->writable_global_bytes = 8;
  ExpectRejected(JudgeAll({job}).at(0).verdict.outcome, "writable-globals");
  job = MakeJob("honest");
  job.candidate.form = Form::kProgram;
  ExpectRejected(JudgeAll({job}).at(0).verdict.outcome, "form");
  job = MakeJob("honest");
  std::get<LaunchOperation>(job.candidate.plan.operations[0]).arguments.pop_back();
  ExpectRejected(JudgeAll({job}).at(0).verdict.outcome, "plan");
  job = MakeJob("honest");
  job.task.reference.kind = "oracle of Delphi";
  const Outcome unfit = JudgeAll({job}).at(0).verdict.outcome;
  EXPECT_TRUE(std::holds_alternative<Inconclusive>(unfit)) << Describe(unfit);
  ExpectHonestPasses();
}

TEST_F(JudgeOverFakeDriver, Bf16IsHeldToItsOwnBound) {
  const Verdict verdict = JudgeAll({Bf16Job("honest-bf16", 256)}).at(0).verdict;
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  ASSERT_NE(passed, nullptr) << Describe(verdict.outcome);
  EXPECT_GT(passed->correctness.worst_bound_fraction, 0.5) << "half a unit in the last place";
  EXPECT_THAT(passed->correctness.detectors,
              testing::IsSupersetOf({"zero-one", "bf16-accumulate", "fp16-accumulate"}));
  ExpectIncorrect(JudgeAll({Bf16Job("drops-last-bf16")}).at(0).verdict.outcome, "bound");
}

TEST_F(JudgeOverFakeDriver, Bf16SumsAreNamedForWhatTheyAre) {
  ExpectIncorrect(JudgeAll({Bf16Job("bf16-sum-bf16")}).at(0).verdict.outcome, "bf16-accumulate");
  ExpectIncorrect(JudgeAll({Bf16Job("bf16-sum-bf16", 256)}).at(0).verdict.outcome,
                  "bf16-accumulate");
  ExpectIncorrect(JudgeAll({Bf16Job("fp16-sum-bf16", 256)}).at(0).verdict.outcome,
                  "fp16-accumulate");
}

TEST_F(JudgeOverFakeDriver, Bf16IsNotComputedByWayOfFp16) {
  ExpectIncorrect(JudgeAll({Bf16Job("fp16-factors-bf16")}).at(0).verdict.outcome, "adversarial");
}

// Either type's kernel is wrong in a task of the other.
TEST_F(JudgeOverFakeDriver, TheTasksTypeIsTheOneThatCounts) {
  for (const Job& job : {Bf16Job("honest"), MakeJob("honest-bf16")}) {
    const Outcome outcome = JudgeAll({job}).at(0).verdict.outcome;
    EXPECT_TRUE(std::holds_alternative<Incorrect>(outcome)) << Describe(outcome);
  }
}

TEST_F(JudgeOverFakeDriver, AProductOfMixedTypesIsRefused) {
  Job job = Bf16Job("honest-bf16");
  job.task.tensors[2].dtype = DType::kF16;
  const auto refused = ProblemOf(job.task, job.workload);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("tensor C is f16"));
  EXPECT_THAT(refused.error().fix, testing::HasSubstr("all f16 or all bf16"));
}

// libwarpsmith_gemm itself, which without a pack calls cuBLASLt: the fake's.
TEST_F(JudgeOverFakeDriver, ALibraryIsComparedAndItsAnswersVerified) {
  Job job = MakeJob("honest");
  job.task.baselines = {"lib:" WARPSMITH_GEMM_FILE};
  const Verdict verdict = JudgeAll({job}).at(0).verdict;
  ASSERT_TRUE(std::holds_alternative<Passed>(verdict.outcome)) << Describe(verdict.outcome);
  const ModeTiming* timing = FindTiming(verdict, Mode::kDeviceHot);
  ASSERT_TRUE(timing != nullptr && !timing->comparisons.empty());
  EXPECT_EQ(timing->comparisons[0].baseline, "lib:" WARPSMITH_GEMM_FILE);
  EXPECT_THAT(verdict.evidence.baseline_library, testing::StartsWith("libwarpsmith_gemm "));
}

TEST_F(JudgeOverFakeDriver, ALibrarysBf16AnswersAreVerifiedToo) {
  Job job = Bf16Job("honest-bf16");
  job.task.baselines = {"lib:" WARPSMITH_GEMM_FILE};
  const Verdict verdict = JudgeAll({job}).at(0).verdict;
  EXPECT_TRUE(std::holds_alternative<Passed>(verdict.outcome)) << Describe(verdict.outcome);
}

TEST_F(JudgeOverFakeDriver, ATaskMayNotNameALibraryThatTheUserDidNot) {
  Job job = MakeJob("honest");
  job.task.baselines = {"lib:/lib/x86_64-linux-gnu/libm.so.6"};
  const Outcome outcome = JudgeAll({job}).at(0).verdict.outcome;
  EXPECT_FALSE(std::holds_alternative<Passed>(outcome));
  EXPECT_THAT(Describe(outcome), testing::HasSubstr("may not load libraries"));
  ExpectHonestPasses();
}

TEST_F(JudgeOverFakeDriver, ADegenerateTaskIsCalledSo) {
  Job job = MakeJob("honest");
  job.task.tolerance = {};
  job.task.tolerance.absolute = 1e6;
  const auto answer = device_->DegenerateAnswer(job.task, job.workload);
  ASSERT_TRUE(answer.ok()) << answer.error().Line();
  EXPECT_EQ(answer->value_or(""), "zeros");
  EXPECT_EQ(device_->DegenerateAnswer(GemmTask(), job.workload)->value_or("none"), "none");
  const Outcome outcome = JudgeAll({job}).at(0).verdict.outcome;
  EXPECT_TRUE(std::holds_alternative<Inconclusive>(outcome)) << Describe(outcome);
}

TEST_F(JudgeOverFakeDriver, AnyTaskIsJudgedAgainstItsOwnReference) {
  Job job = RowSumJob("row-sum");
  job.task.rivals = {{"current", job.candidate}};
  job.task.rivals[0].candidate.entry = "x.cu";
  job.task.rivals[0].candidate.sources = {{"x.cu", "row-sum"}};
  job.task.baselines = {"current"};
  job.protocol = Protocol::Certified();
  job.protocol.max_rounds = job.protocol.rounds;
  const Completed completed = JudgeAll({job}).at(0);
  const auto* passed = std::get_if<Passed>(&completed.verdict.outcome);
  ASSERT_NE(passed, nullptr) << Describe(completed.verdict.outcome);
  EXPECT_THAT(passed->correctness.detectors, testing::Contains("adversarial"));
  EXPECT_GT(passed->correctness.worst_bound_fraction, 0);
  for (Mode mode : job.protocol.modes) {
    const ModeTiming* timing = FindTiming(completed.verdict, mode);
    ASSERT_NE(timing, nullptr) << Name(mode);
    ASSERT_EQ(timing->comparisons.size(), 1U);
    EXPECT_EQ(timing->comparisons[0].baseline, "current");
  }
}

// A context that is being created disturbs whoever measures next.
TEST_F(JudgeOverFakeDriver, ATurnEndsWhenNoRunnerIsStartingAnyMore) {
  const auto folder = std::move(TemporaryDirectory::Create("turn-test")).value();
  const auto starting = folder.path() / "starting", ready = folder.path() / "ready";
  LocalDeviceOptions options = Options();
  options.lock_patience = std::chrono::seconds(20);
  options.runner_argv = {"/bin/sh", "-c",
                         "echo >>" + starting.string() + "; sleep 0.2; echo >>" + ready.string() +
                             "; exec " + ThisExecutable().string() + " " +
                             std::string(kRunnerSubcommand) + " $0"};
  setenv("XDG_STATE_HOME", folder.path().c_str(), 1);
  const auto device = LocalDevice::Open(std::move(options));
  setenv("XDG_STATE_HOME", folder_->path().c_str(), 1);
  ASSERT_TRUE(device.ok()) << device.error().Line();
  Job job = MakeJob("honest");
  job.protocol.runner_processes = 2;  // takes both, so that a spare one starts at the end
  ASSERT_TRUE((*device)->Submit({job}).ok());
  std::vector<Completed> completed;
  while (completed.empty()) completed = (*device)->Collect(std::chrono::seconds(60)).value();
  EXPECT_TRUE(std::holds_alternative<Passed>(completed.at(0).verdict.outcome))
      << Describe(completed.at(0).verdict.outcome);
  const auto turn = (*device)->TakeTurn();
  ASSERT_TRUE(turn.ok());
  EXPECT_EQ(*ReadFile(starting), "\n\n\n");
  EXPECT_EQ(*ReadFile(ready), *ReadFile(starting));
}

// A search asks about the bar alone; a comparison of libraries screens them side by side.
TEST_F(JudgeOverFakeDriver, ScreeningComparesWithTheBarAloneUnlessAskedForAll) {
  Job job = RowSumJob("row-sum");
  Candidate rival = job.candidate;
  rival.entry = "x.cu";
  rival.sources = {{"x.cu", "row-sum"}};
  job.task.rivals = {{"current", rival}, {"other", rival}};
  job.task.baselines = {"current", "other"};
  for (const bool all : {false, true}) {
    job.protocol.every_baseline = all;
    const Verdict verdict = JudgeAll({job}).at(0).verdict;
    const ModeTiming* timing = FindTiming(verdict, Mode::kDeviceHot);
    ASSERT_NE(timing, nullptr) << Describe(verdict.outcome);
    EXPECT_EQ(timing->comparisons.size(), all ? 2U : 1U);
  }
}

// Each has two memories, whose descriptors all go to a process at once.
TEST_F(JudgeOverFakeDriver, TakesManyTensorsAndRefusesMore) {
  Job job = RowSumJob("row-sum");
  while (job.task.tensors.size() < kMostTensors) {
    const std::string name = "unused" + std::to_string(job.task.tensors.size());
    job.task.tensors.push_back(
        {name, DType::kF32, Role::kInput, {Expression::Constant(3)}, Generator::kNormal});
  }
  const Outcome outcome = JudgeAll({job}).at(0).verdict.outcome;
  EXPECT_TRUE(std::holds_alternative<Passed>(outcome)) << Describe(outcome);
  job.task.tensors.push_back(job.task.tensors.back());
  job.task.tensors.back().name = "one-more";
  const auto refused = ProblemOf(job.task, job.workload);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, testing::HasSubstr("120 inputs and 1 outputs"));
  EXPECT_THAT(refused.error().fix, testing::HasSubstr("at most 120 tensors"));
}

TEST_F(JudgeOverFakeDriver, WrongAnswersToAnyTaskAreNamed) {
  ExpectIncorrect(JudgeAll({RowSumJob("row-sum-drops-last")}).at(0).verdict.outcome, "bound");
  ExpectIncorrect(JudgeAll({RowSumJob("row-sum-skips-a-row")}).at(0).verdict.outcome, "poison");
}

TEST_F(JudgeOverFakeDriver, AReferenceThatFailsIsTheTasksFault) {
  for (const char* reference : {"row-sum-crashes", "row-sum-nan", "syntax error"}) {
    const Outcome outcome = JudgeAll({RowSumJob("row-sum", reference)}).at(0).verdict.outcome;
    const auto* inconclusive = std::get_if<Inconclusive>(&outcome);
    ASSERT_NE(inconclusive, nullptr) << reference << ": " << Describe(outcome);
    EXPECT_THAT(inconclusive->reason, testing::HasSubstr("reference")) << reference;
  }
  ExpectHonestPasses();
}

TEST_F(JudgeOverFakeDriver, AReferenceIsDoubted) {
  const std::pair<const char*, const char*> cases[] = {
      {"row-sum-differs", "not deterministic"},
      {"row-sum-of-nothing", "the answer to other inputs"},
  };
  for (const auto& [reference, expected] : cases) {
    const Outcome outcome = JudgeAll({RowSumJob("row-sum", reference)}).at(0).verdict.outcome;
    const auto* inconclusive = std::get_if<Inconclusive>(&outcome);
    ASSERT_NE(inconclusive, nullptr) << reference << ": " << Describe(outcome);
    EXPECT_THAT(inconclusive->reason, testing::HasSubstr(expected)) << reference;
  }
}

TEST_F(JudgeOverFakeDriver, JobsComeBackUnderTheirKeys) {
  const auto completed = JudgeAll({MakeJob("honest"), MakeJob("zeros"), MakeJob("honest")});
  EXPECT_EQ(completed.at(0).key, "honest");
  EXPECT_EQ(completed.at(1).key, "zeros");
  EXPECT_TRUE(std::holds_alternative<Incorrect>(completed.at(1).verdict.outcome));
  const DeviceUse use = device_->Use();
  EXPECT_GT(use.measuring_seconds, 0);
  EXPECT_LE(use.measuring_seconds, use.held_seconds);
}

TEST_F(JudgeOverFakeDriver, OneProcessMeasuresOnAGpu) {
  const auto second = LocalDevice::Open(Options());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kBusy);
}

}  // namespace
}  // namespace warpsmith::judge

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == warpsmith::judge::kRunnerSubcommand) {
    warpsmith::judge::fake::DefineKernels();
    return warpsmith::judge::RunnerMain(std::atoi(argv[2]));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
