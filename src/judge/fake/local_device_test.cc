// The whole judge over the fake driver (local_device_fixture.h). What a GPU would add is tested in
// tests/device/judge_test.cc.
#include "judge/local_device.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <set>

#include "cuda/fake/fake_control.h"
#include "judge/program_session.h"
#include "judge/resolved_task.h"
#include "judge/runner.h"
#include "judge/tests/local_device_fixture.h"

namespace warpsmith::judge {
namespace {

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
  for (const char* detector : {"crowded", "touches-other-slots"}) {
    EXPECT_TRUE(std::ranges::count(passed->correctness.detectors, detector) == 1 ||
                std::ranges::any_of(
                    passed->correctness.absent,
                    [&](const std::string& absent) { return absent.starts_with(detector); }))
        << detector;
  }
  EXPECT_EQ(std::ranges::count(passed->correctness.detectors, "crowded"), 1);
  const auto launches = static_cast<double>(passed->correctness.outputs_verified);
  ASSERT_FALSE(passed->correctness.rare_errors.empty());
  EXPECT_EQ(passed->correctness.rare_errors.front().once_in, 1'000);
  EXPECT_NEAR(passed->correctness.rare_errors.front().caught, 1 - std::pow(0.999, launches), 1e-9);
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
  const auto refused = ResolveTask(job.task, job.workload);
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
  const auto refused = ResolveTask(job.task, job.workload);
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

// Programs' processes are without Landlock here (main, below), as on a machine that has none.
TEST_F(JudgeOverFakeDriver, WithoutLevel1AProgramIsNotRunAndTheVerdictIsInconclusive) {
  Job job = MakeJob("honest");
  job.task.forms = {Form::kProgram};
  job.candidate.form = Form::kProgram;
  job.protocol = Protocol::Screened().For(Form::kProgram);
  const Outcome outcome = JudgeAll({job}).at(0).verdict.outcome;
  const auto* inconclusive = std::get_if<Inconclusive>(&outcome);
  ASSERT_NE(inconclusive, nullptr) << Describe(outcome);
  EXPECT_THAT(inconclusive->reason,
              testing::HasSubstr("a program is not run without a sandbox: L0; not in force: "));
  EXPECT_THAT(inconclusive->reason, testing::HasSubstr("Landlock is not in this kernel"));
  ExpectHonestPasses();
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
// What a kernel without Landlock answers, from now on and for this process alone.
bool RefuseLandlock() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(rules), rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace
}  // namespace warpsmith::judge

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == warpsmith::judge::kProgramSubcommand) {
    if (!warpsmith::judge::RefuseLandlock()) return 1;
    return warpsmith::judge::ProgramMain(std::atoi(argv[2]));
  }
  if (argc == 3 && std::string_view(argv[1]) == warpsmith::judge::kRunnerSubcommand) {
    warpsmith::judge::fake::DefineKernels();
    return warpsmith::judge::RunnerMain(std::atoi(argv[2]), warpsmith::cuda::fake::HostNs);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
