// Programs judged whole over the fake driver: a contest, its oracle's device and arena, and real
// processes that load real shared libraries, honest ones and others. Device memory is host memory
// there, so that a program is plain C++.
#include "judge/program_contest.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/subprocess.h"
#include "base/tests/survivor.h"
#include "judge/fake/host_kernels.h"
#include "judge/fake/host_program.h"
#include "judge/program_session.h"
#include "judge/tests/gemm_launch.h"

namespace warpsmith::judge {
namespace {

Task GemmTask() {
  const Expression m = Expression::Literal("M"), n = Expression::Literal("N"),
                   k = Expression::Literal("K");
  Task task;
  task.name = "gemm";
  task.tensors = {{"A", DType::kF16, Role::kInput, {m, k}},
                  {"B", DType::kF16, Role::kInput, {k, n}},
                  {"C", DType::kF16, Role::kOutput, {m, n}}};
  task.reference = {"gemm", {{"layout", "NN"}}};
  task.tolerance.reduction_length = k;
  task.forms = {Form::kProgram};
  return task;
}

Candidate PlanCandidate(const std::string& kernel) {
  Candidate candidate;
  candidate.plan.operations = {GemmLaunch(kernel)};
  return candidate;
}

class ProgramJudging : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto folder = TemporaryDirectory::Create("program-test");
    ASSERT_TRUE(folder.ok());
    folder_ = new TemporaryDirectory(std::move(folder).value());
    setenv("XDG_CACHE_HOME", folder_->path().c_str(), 1);
    fake::DefineKernels();
    const auto driver = cuda::Driver::Open();
    ASSERT_TRUE(driver.ok());
    const auto found = (*driver)->FindDevice("");
    ASSERT_TRUE(found.ok());
    uuid_ = found->uuid;
    auto device = OracleDevice::Open(*found, fake::KernelImage());
    ASSERT_TRUE(device.ok()) << device.error().Line();
    device_ = std::move(device).value().release();
    random_ = new Random(Random::Secret());
    CompileProgram();
  }

  static void CompileProgram() {
    const auto source = folder_->path() / "program.cc", library = folder_->path() / "program.so";
    ASSERT_TRUE(WriteFileAtomic(source, fake::HostProgram()).ok());
    const auto built = RunProcess({"c++", "-std=c++17", "-O2", "-fPIC", "-shared", "-o",
                                   library.string(), source.string(), "-pthread"},
                                  {});
    ASSERT_TRUE(built.ok());
    if (built->exit_status != 0) GTEST_SKIP() << "no compiler for the programs: " << built->output;
    image_ = new std::string(*ReadFile(library));
  }

  static void TearDownTestSuite() {
    delete image_;
    delete random_;
    delete device_;
    delete folder_;
  }

  void SetUp() override {
    if (image_ == nullptr) GTEST_SKIP() << "no compiler for the programs";
    info_.name = "Fake GPU";
    job_.task = GemmTask();
    job_.workload = {"w", {{"M", 16}, {"N", 16}, {"K", 64}}, 1, false};
    job_.candidate.form = Form::kProgram;
    job_.protocol = Protocol::Screened().For(Form::kProgram);
    job_.protocol.step_timeout_ms = 5'000;
    job_.protocol.rounds = job_.protocol.max_rounds = 2;
    const auto problem = ResolveTask(job_.task, job_.workload);
    ASSERT_TRUE(problem.ok()) << problem.error().Line();
    MakeArena(PlanArena(BytesOf(*problem), 2, {50 << 20, 1 << 28, 1 << 28}));
  }

  void MakeArena(const ArenaPlan& plan) {
    const auto problem = ResolveTask(job_.task, job_.workload);
    auto arena = Arena::Create(*device_, "w", *problem, plan, nullptr, *random_);
    ASSERT_TRUE(arena.ok()) << arena.error().Line();
    arena_ = std::move(arena).value();
  }

  static std::string ProgramOf(const std::string& behaviour) {
    return fake::WithBehaviour(*image_, behaviour);
  }

  static ProcessOptions Fake(const std::string& role, const std::string& argument = "") {
    ProcessOptions options;
    options.argv = {ThisExecutable().string(), role};
    if (!argument.empty()) options.argv.push_back(argument);
    options.host_code = HostCode::kForeign;
    options.start.sandbox = "L0";
    options.start.device_uuid = uuid_;
    return options;
  }

  Result<Outcome> JudgeImage(std::string image) {
    job_.artifact.emplace();
    job_.artifact->image = std::move(image);
    ProgramContext context;
    context.contest = {device_, arena_.get(), nullptr, &info_, &job_, random_, &evidence_};
    context.program = Fake(std::string(kProgramSubcommand));
    context.torch = [this]() -> Result<std::unique_ptr<CalledProcess>> {
      const auto library = folder_->path() / "torch.so";
      TRY(WriteFileAtomic(library, ProgramOf(torch_behaviour_)));
      return CalledProcess::Start(Fake("fake-torch", library));
    };
    context.compile = [](const Candidate& rival) -> Result<Artifact> {
      Artifact artifact;
      artifact.image = ProgramOf(rival.entry);
      return artifact;
    };
    context.kept = &kept_;
    return RunProgramContest(context);
  }

  Outcome Judge(const std::string& behaviour) {
    const Result<Outcome> outcome = JudgeImage(ProgramOf(behaviour));
    EXPECT_TRUE(outcome.ok()) << behaviour << ": " << outcome.error().Line();
    return outcome.ok() ? *outcome : Outcome(Inconclusive{outcome.error().Line()});
  }

  void ExpectIncorrect(const std::string& behaviour, const std::vector<std::string>& detectors) {
    SCOPED_TRACE(behaviour);
    ExpectIncorrect(Judge(behaviour), detectors);
  }

  static void ExpectIncorrect(const Outcome& outcome, const std::vector<std::string>& detectors) {
    const auto* incorrect = std::get_if<Incorrect>(&outcome);
    ASSERT_NE(incorrect, nullptr) << Describe(outcome);
    EXPECT_THAT(detectors, testing::Contains(incorrect->detector)) << incorrect->detail;
  }

  void ExpectRejected(const std::string& behaviour, std::string_view rule) {
    const Outcome outcome = Judge(behaviour);
    const auto* rejected = std::get_if<Rejected>(&outcome);
    ASSERT_NE(rejected, nullptr) << behaviour << ": " << Describe(outcome);
    EXPECT_EQ(rejected->rule, rule) << rejected->detail;
  }

  void ExpectRunFailed(const std::string& behaviour, std::string_view code) {
    const Outcome outcome = Judge(behaviour);
    const auto* failed = std::get_if<RunFailed>(&outcome);
    ASSERT_NE(failed, nullptr) << behaviour << ": " << Describe(outcome);
    EXPECT_EQ(failed->code, code) << failed->detail;
  }

  static inline TemporaryDirectory* folder_ = nullptr;
  static inline std::string uuid_;
  static inline OracleDevice* device_ = nullptr;
  static inline Random* random_ = nullptr;
  static inline std::string* image_ = nullptr;

  Job job_;
  std::string torch_behaviour_ = "honest";
  DeviceInfo info_;
  Evidence evidence_;
  std::unique_ptr<Arena> arena_;
  KeptTorch kept_;  // gone before the arena
};

TEST_F(ProgramJudging, HonestPassesOnTheWallClock) {
  const Outcome outcome = Judge("honest");
  const auto* passed = std::get_if<Passed>(&outcome);
  ASSERT_NE(passed, nullptr) << Describe(outcome);
  const ModeTiming& timing = passed->timings.at(0).modes.at(0);
  EXPECT_EQ(timing.mode, Mode::kWall);
  EXPECT_EQ(timing.candidate.samples.size(), 4U) << "two bursts a round";
  EXPECT_GT(timing.candidate.median_us, 0.5);
  EXPECT_TRUE(passed->correctness.deterministic);
  EXPECT_GT(passed->correctness.outputs_verified, 15);  // four checks, two calls a burst at least
  EXPECT_EQ(evidence_.sandbox, "L0");
}

// A program's new threads take GPU 0 unless told otherwise.
TEST_F(ProgramJudging, TheJudgedGpuIsTheOnlyOneThatProgramsSee) {
  const Outcome outcome = Judge("works-on-gpu-0");
  EXPECT_TRUE(std::holds_alternative<Passed>(outcome)) << Describe(outcome);
}

TEST_F(ProgramJudging, WrongAnswersAreNamed) {
  ExpectIncorrect("wrong", {"bound", "zero-one", "adversarial"});
  ExpectIncorrect("zeros", {"bound"});
}

TEST_F(ProgramJudging, CallsLeftOutAreFound) {
  ExpectIncorrect("skips-some-calls", {"poison", "bound", "nondeterministic-wrong"});
  ExpectIncorrect("first-calls-only", {"poison", "bound", "nondeterministic-wrong"});
}

// Long calls make short bursts, and large outputs few slots: what the first calls should have
// written is written over by the later ones.
TEST_F(ProgramJudging, FirstCallsLeftOutOfAShortBurstAreFound) {
  ArenaPlan few;
  few.output_slots = 2;
  MakeArena(few);
  job_.protocol.rounds = job_.protocol.max_rounds = 1;
  const Outcome honest = Judge("long-calls");
  EXPECT_TRUE(std::holds_alternative<Passed>(honest)) << Describe(honest);
  // Certified: else a warming-up of two calls, of which one writes nothing, shows it at its end.
  job_.protocol.level = Level::kCertified;
  job_.protocol.rounds = job_.protocol.max_rounds = 10;  // by chance, one burst may show nothing
  bool is_seen_under_way = false;  // and not only where nothing was written over it
  for (int i = 0; i < 6 && !is_seen_under_way; ++i) {
    const Outcome outcome = Judge("leaves-out-the-first-calls");
    ExpectIncorrect(outcome, {"poison"});
    is_seen_under_way = Describe(outcome).find("looked at") != std::string::npos;
  }
  EXPECT_TRUE(is_seen_under_way);
}

// Three watches find the device busy; when the candidate's process is gone, it is idle.
TEST_F(ProgramJudging, WorkWhileItIsStoppedIsRejected) {
  fake::KeepDeviceBusy(3);
  ExpectRejected("honest", "resident-work");
  EXPECT_TRUE(std::holds_alternative<Passed>(Judge("honest")));
}

TEST_F(ProgramJudging, WorkOfOthersIsNoVerdict) {
  fake::KeepDeviceBusy(1000);
  const Result<Outcome> outcome = JudgeImage(ProgramOf("honest"));
  fake::KeepDeviceBusy(0);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().code, ErrorCode::kUnavailable);
}

TEST_F(ProgramJudging, WorkPutOffIsFound) { ExpectRejected("answers-later", "late-write"); }

TEST_F(ProgramJudging, AnswersRememberedByAddressAreFound) {
  // On a busy machine a call takes long, a burst has few, and hardly an address comes twice.
  job_.protocol.samples_per_round = 10;
  Outcome outcome = Judge("remembers-addresses");
  for (int i = 0; i < 5 && std::holds_alternative<Passed>(outcome); ++i) {
    outcome = Judge("remembers-addresses");
  }
  ExpectIncorrect(outcome, {"poison", "bound", "nondeterministic-wrong"});
}

TEST_F(ProgramJudging, DamageIsRejectedAndUndone) {
  ExpectRejected("writes-past-the-end-when-timed", "out-of-bounds-write");
  ExpectRejected("changes-its-input", "inputs-modified");
  ExpectRunFailed("writes-past-the-end", "RUNNER_DIED");
  const Outcome outcome = Judge("honest");
  EXPECT_TRUE(std::holds_alternative<Passed>(outcome)) << Describe(outcome);
}

TEST_F(ProgramJudging, DeathsAreTheProgramsFailures) {
  for (const char* behaviour :
       {"crashes", "crashes-when-timed", "crashes-when-loaded", "exits", "talks-to-the-oracle",
        "closes-the-socket", "hangs-up-when-timed"}) {
    ExpectRunFailed(behaviour, "RUNNER_DIED");
  }
  const Outcome outcome = Judge("honest");
  EXPECT_TRUE(std::holds_alternative<Passed>(outcome)) << Describe(outcome);
}

TEST_F(ProgramJudging, HangsAreKilledInTime) {
  job_.protocol.step_timeout_ms = 1'000;
  for (const char* behaviour : {"hangs", "hangs-when-timed", "hangs-when-loaded"}) {
    const double begin = MonotonicSeconds();
    const Outcome outcome = Judge(behaviour);
    EXPECT_TRUE(std::holds_alternative<TimedOut>(outcome)) << behaviour << Describe(outcome);
    EXPECT_LT(MonotonicSeconds() - begin, 20);
  }
}

TEST_F(ProgramJudging, NothingIsTimedBesideOneThatDoesNotDie) {
  {
    Survivor stuck;
    if (!stuck.is_traced()) GTEST_SKIP() << "tracing is forbidden here";
    EXPECT_FALSE(KillAndReap(stuck.pid(), std::chrono::milliseconds(10)).has_value());
    const Result<Outcome> refused = JudgeImage(ProgramOf("honest"));
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, testing::HasSubstr(std::to_string(stuck.pid())));
  }
  const double deadline = MonotonicSeconds() + 10;
  while (!Survivors().empty() && MonotonicSeconds() < deadline) std::this_thread::yield();
  EXPECT_TRUE(JudgeImage(ProgramOf("honest")).ok());
}

TEST_F(ProgramJudging, WhatItPrintsIsThrownAway) {
  const Outcome outcome = Judge("prints-a-gigabyte");
  EXPECT_TRUE(std::holds_alternative<Passed>(outcome)) << Describe(outcome);
}

TEST_F(ProgramJudging, WhatIsNoLibraryDoesNotLoad) {
  const Result<Outcome> outcome = JudgeImage("not an ELF file");
  ASSERT_TRUE(outcome.ok());
  const auto* failed = std::get_if<RunFailed>(&*outcome);
  ASSERT_NE(failed, nullptr) << Describe(*outcome);
  EXPECT_THAT(failed->detail, testing::HasSubstr("dlopen"));
}

TEST_F(ProgramJudging, ComparesWithPyTorchAndRivals) {
  Candidate slow;
  slow.form = Form::kProgram;
  slow.entry = "slow";
  job_.task.rivals = {{"mine", slow}};
  job_.task.baselines = {"mine", "torch-best"};
  job_.protocol = Protocol::Certified().For(Form::kProgram);
  job_.protocol.rounds = job_.protocol.max_rounds = 2;
  Outcome outcome = Judge("honest");
  // On a busy machine PyTorch's choice may be made again.
  for (int i = 0; i < 3 && std::holds_alternative<Inconclusive>(outcome); ++i) {
    ASSERT_THAT(Describe(outcome), testing::HasSubstr("judge again"));
    outcome = Judge("honest");
  }
  const auto* passed = std::get_if<Passed>(&outcome);
  ASSERT_NE(passed, nullptr) << Describe(outcome);
  const ModeTiming& timing = passed->timings.at(0).modes.at(0);
  ASSERT_EQ(timing.comparisons.size(), 2U);
  EXPECT_EQ(timing.comparisons[0].baseline, "mine");
  EXPECT_GT(timing.comparisons[0].ratio, 1) << "the rival does twenty times the work";
  EXPECT_THAT(timing.comparisons[1].baseline, testing::StartsWith("torch-best ("));
  EXPECT_EQ(timing.baselines.size(), 3U) << "the bar twice";
  EXPECT_EQ(evidence_.baseline_library, "fake torch");
  EXPECT_FALSE(std::filesystem::is_empty(CacheHome() / "torch-best"));
}

TEST_F(ProgramJudging, ScreeningComparesWithTheBarAloneUnlessAskedForAll) {
  job_.task.baselines = {"torch-eager", "torch-compile"};
  for (const bool all : {false, true}) {
    job_.protocol.every_baseline = all;
    const Outcome outcome = Judge("honest");
    const auto* passed = std::get_if<Passed>(&outcome);
    ASSERT_NE(passed, nullptr) << Describe(outcome);
    const ModeTiming& timing = passed->timings.at(0).modes.at(0);
    EXPECT_EQ(timing.comparisons.size(), all ? 2U : 1U);
    EXPECT_EQ(timing.baselines.size(), all ? 2U : 1U) << "none twice";
  }
}

// Here the two are the same program: which of them is better is not the question.
TEST_F(ProgramJudging, AChoiceMadeOnTimesThatNoLongerHoldIsMadeAgain) {
  job_.task.baselines = {"torch-best"};
  const TorchChoice choice(TaskId(job_.task), job_.workload, "fake torch", info_.name);
  ASSERT_TRUE(choice.Store({9e6, 8e6}).ok());
  const Outcome outcome = Judge("honest");
  const auto now = choice.Find();
  ASSERT_TRUE(now.has_value());
  EXPECT_LT(now->eager_us, 1e6);
  EXPECT_LT(*now->compile_us, 1e6);
  const bool stays = now->Best() == "compile";
  EXPECT_EQ(std::holds_alternative<Passed>(outcome), stays) << Describe(outcome);
  EXPECT_EQ(std::holds_alternative<Inconclusive>(outcome), !stays) << Describe(outcome);
}

// The loser's time alone was disturbed: the winner's still holds.
TEST_F(ProgramJudging, ANewChoiceIsPutToTheTestAgain) {
  job_.task.baselines = {"torch-best"};
  torch_behaviour_ = "compiled-code-that-starts-slowly";
  Outcome doubtful;
  // On a busy machine the hand-over can take longer than either.
  for (int i = 0; i < 5 && !std::holds_alternative<Inconclusive>(doubtful); ++i) {
    std::filesystem::remove_all(CacheHome() / "torch-best");
    kept_ = KeptTorch();
    doubtful = Judge("honest");
  }
  ASSERT_TRUE(std::holds_alternative<Inconclusive>(doubtful)) << Describe(doubtful);
  EXPECT_THAT(Describe(doubtful), testing::HasSubstr("now it is 'compile'"));
  const Outcome again = Judge("honest");
  const auto* passed = std::get_if<Passed>(&again);
  ASSERT_NE(passed, nullptr) << Describe(again);
  EXPECT_EQ(passed->timings.at(0).modes.at(0).comparisons.at(0).baseline, "torch-best (compile)");
}

TEST_F(ProgramJudging, TheOraclesOwnWorkIsMeasuredInPyTorchsTurns) {
  EXPECT_TRUE(std::holds_alternative<Passed>(Judge("honest")));
  EXPECT_FALSE(kept_.oracle.has_value());  // nobody to measure it with

  job_.task.baselines = {"torch-eager"};
  kept_.oracle = OracleCost{1e9, 1e9, 1e9};  // of a disturbed moment
  const Outcome outcome = Judge("honest");
  EXPECT_TRUE(std::holds_alternative<Passed>(outcome)) << Describe(outcome);
  EXPECT_GT(kept_.oracle->look_us, 0);
  EXPECT_LT(kept_.oracle->look_us, 1e8);
  EXPECT_GT(kept_.oracle->slot_us, 0);
  EXPECT_LT(kept_.oracle->slot_us, 1e8);
  EXPECT_GT(kept_.oracle->move_us, 0);
  EXPECT_LT(kept_.oracle->move_us, 1e8);
}

TEST_F(ProgramJudging, PlansAreCalledLikePrograms) {
  job_.candidate = PlanCandidate("honest");
  job_.task.baselines = {"torch-eager"};
  const Result<Outcome> outcome = JudgeImage(fake::CandidateImage("honest"));
  ASSERT_TRUE(outcome.ok()) << outcome.error().Line();
  const auto* passed = std::get_if<Passed>(&*outcome);
  ASSERT_NE(passed, nullptr) << Describe(*outcome);
  const ModeTiming& timing = passed->timings.at(0).modes.at(0);
  EXPECT_EQ(timing.mode, Mode::kWall);
  ASSERT_EQ(timing.comparisons.size(), 1U);
  EXPECT_EQ(timing.comparisons[0].baseline, "torch-eager");

  job_.candidate = PlanCandidate("zeros");
  const Result<Outcome> wrong = JudgeImage(fake::CandidateImage("zeros"));
  ASSERT_TRUE(wrong.ok()) << wrong.error().Line();
  EXPECT_TRUE(std::holds_alternative<Incorrect>(*wrong)) << Describe(*wrong);
}

TEST_F(ProgramJudging, AWrongBaselineIsNoVerdictOnTheCandidate) {
  Candidate wrong;
  wrong.form = Form::kProgram;
  wrong.entry = "skips-some-calls";
  job_.task.rivals = {{"mine", wrong}};
  job_.task.baselines = {"mine"};
  const Result<Outcome> outcome = JudgeImage(ProgramOf("honest"));
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message, testing::HasSubstr("baseline mine"));
}

// PyTorch's process as the judge sees it: one program under PyTorch's names, which is told in its
// environment by which of them it is called.
int FakeTorch(const std::string& library, int socket) {
  ProgramSession session(socket);
  bool is_loaded = false;
  while (true) {
    Result<Frame> frame = ReceiveFrame(socket, std::chrono::hours(1));
    if (!frame.ok()) return 0;
    for (const char* callee : {"eager", "compile"}) {
      if (frame->header.find(callee) == std::string::npos) continue;
      setenv("WARPSMITH_FAKE_CALLEE", callee, 1);
    }
    ReplyOrError reply = Reply{};
    if (frame->header.find("\"load\"") == std::string::npos) {
      reply = AnswerOf(session, *frame);
    } else if (!std::exchange(is_loaded, true)) {
      frame->payload = *ReadFile(library);
      frame->header = CommandToText(LoadCommand{"eager", "warpsmith_call"});
      reply = AnswerOf(session, *frame);
    }
    const bool starts = frame->header.find("\"start\"") != std::string::npos;
    if (starts && std::holds_alternative<Reply>(reply)) std::get<Reply>(reply).text = "fake torch";
    if (!SendFrame(socket, ReplyToText(reply)).ok()) return 0;
  }
}

}  // namespace
}  // namespace warpsmith::judge

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == warpsmith::judge::kProgramSubcommand) {
    warpsmith::judge::fake::DefineKernels();
    return warpsmith::judge::ProgramMain(std::atoi(argv[2]));
  }
  if (argc == 4 && std::string_view(argv[1]) == "fake-torch") {
    return warpsmith::judge::FakeTorch(argv[2], std::atoi(argv[3]));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
