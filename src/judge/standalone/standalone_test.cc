// Stand-alone runs over the fake driver: kernels are host functions, programs real shared
// libraries.

#include "judge/standalone/standalone.h"

#include <utility>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/subprocess.h"
#include "cuda/fake/fake_control.h"
#include "judge/standalone/run_folder.h"

namespace warpsmith::standalone {
namespace {

namespace fs = std::filesystem;

class ConfinedTest : public testing::Test {
 protected:
  // What `command` says, which ConfinedMain becomes.
  std::string Say(const std::vector<std::string>& command) {
    const fs::path said = folder_.path() / "said";
    std::vector<std::string> arguments = {run_.string(), run_.string(), "--"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const pid_t child = fork();
    if (child == 0) {
      const int file = open(said.c_str(), O_CREAT | O_WRONLY, 0644);
      dup2(file, 1);
      dup2(file, 2);
      _exit(ConfinedMain(arguments));
    }
    int status = 0;
    waitpid(child, &status, 0);
    return *ReadFile(said);
  }

  void SetUp() override {
    const auto reached = sandbox::Probe();
    ASSERT_TRUE(reached.ok()) << reached.error().Line();
    if (reached->level == sandbox::Level::kNone) GTEST_SKIP() << "no sandbox here";
    ASSERT_TRUE(CreateDirectories(run_).ok());
    ASSERT_TRUE(sandbox::GiveToUnprivileged(folder_.path()).ok());
  }

  const TemporaryDirectory folder_ = std::move(TemporaryDirectory::Create("confined")).value();
  const fs::path run_ = folder_.path() / "run";
};

// libcuda does that, and does not start without: in the run and in what a sanitizer starts.
TEST_F(ConfinedTest, EveryProcessNamesItsThreadsAndReadsItsMappings) {
  constexpr const char* kTry = "echo name >/proc/$$/task/$$/comm && read -r line </proc/$$/maps";
  const std::string nested = std::string("(exec /bin/sh -c '") + kTry + "') && echo both";
  for (const std::string& text : {std::string(kTry) + " && echo both", nested}) {
    EXPECT_EQ(Say({"/bin/sh", "-c", text}), "both\n") << text;
  }
}

TEST_F(ConfinedTest, OthersAreOutOfReach) {
  const std::string other = std::to_string(getpid());
  EXPECT_EQ(Say({"/bin/sh", "-c", "(read -r x </proc/" + other + "/environ) 2>&- || echo kept"}),
            "kept\n");
}

using testing::ElementsAre;
using testing::HasSubstr;

int calls = 0;
std::vector<float> seen;

// y = 2 x, and notes what it read.
void Twice(void** arguments) {
  const auto* x = *static_cast<float* const*>(arguments[0]);
  auto* y = *static_cast<float* const*>(arguments[1]);
  seen.assign(x, x + 4);
  for (int i = 0; i < 4; ++i) y[i] = 2 * x[i];
  ++calls;
}

StandaloneJob TwiceJob() {
  StandaloneJob job;
  job.task.name = "twice";
  job.task.tensors = {{"x", DType::kF32, Role::kInput, {E("n")}},
                      {"y", DType::kF32, Role::kOutput, {E("n")}}};
  job.task.reference = {"cuda", {}};
  job.workload = {"w", {{"n", 4}}, 1, false};
  LaunchOperation launch;
  launch.kernel = "twice";
  launch.arguments = {TensorArgument{"x"}, TensorArgument{"y"}};
  job.candidate.plan.workspaces = {{"scratch", E("12"), true}};
  job.candidate.plan.operations = {launch};
  job.architecture = "sm_90a";
  return job;
}

class StandaloneRun : public testing::Test {
 protected:
  StandaloneRun() : folder_(TemporaryDirectory::Create("solo").value()) {
    static const auto* context = new cuda::Context(cuda::fake::OpenContext());
    static_cast<void>(context);
    cuda::fake::DefineKernel("twice", Twice);
    cuda::fake::TakeLaunches();
    calls = 0;
    options_.dir = folder_.path();
  }
  void Write(const StandaloneJob& job, const std::string& image = "kernel twice 8 8\n") {
    ASSERT_TRUE(WriteStandaloneJob(folder_.path(), job, image).ok());
  }
  bool Finished() const { return std::filesystem::exists(FinishedPath(folder_.path())); }

  TemporaryDirectory folder_;
  StandaloneOptions options_;
};

TEST_F(StandaloneRun, LaunchesThePlanSoManyTimes) {
  Write(TwiceJob());
  options_.runs = 3;
  const Status ran = RunStandalone(options_);
  ASSERT_TRUE(ran.ok()) << ran.error().Line();
  EXPECT_EQ(calls, 3);
  EXPECT_TRUE(Finished());
}

TEST_F(StandaloneRun, GivenInputsGoBeforeGeneratedOnes) {
  Write(TwiceJob());
  const float given[] = {1, 2, 3, 4};
  ASSERT_TRUE(CreateDirectories(folder_.path() / "inputs").ok());
  ASSERT_TRUE(WriteFileAtomic(InputPath(folder_.path(), "x"),
                              {reinterpret_cast<const char*>(given), sizeof(given)})
                  .ok());
  ASSERT_TRUE(RunStandalone(options_).ok());
  EXPECT_THAT(seen, ElementsAre(1, 2, 3, 4));
  ASSERT_TRUE(WriteFileAtomic(InputPath(folder_.path(), "x"), "short").ok());
  const Status ran = RunStandalone(options_);
  ASSERT_FALSE(ran.ok());
  EXPECT_THAT(ran.error().message, HasSubstr("5 bytes, tensor x has 16"));
  EXPECT_FALSE(Finished());  // the earlier run's is gone
}

TEST_F(StandaloneRun, TheProfilerWindowHoldsTheRunsOnly) {
  Write(TwiceJob());
  options_.profile_window = true;
  options_.runs = 2;
  const Status ran = RunStandalone(options_);
  ASSERT_TRUE(ran.ok()) << ran.error().Line();
  std::vector<std::string> log = cuda::fake::TakeLaunches();
  for (std::string& line : log) line = line.substr(0, line.find(' '));
  EXPECT_THAT(log, ElementsAre("twice", "profiler-start", "twice", "twice", "profiler-stop"));
}

TEST_F(StandaloneRun, WithoutCuptiTheActivityFileSaysWhy) {
  Write(TwiceJob());
  options_.activity = folder_.path() / "activity.json";
  const Status ran = RunStandalone(options_);
  ASSERT_TRUE(ran.ok()) << ran.error().Line();
  const auto log = ActivityLogFromText("activity", ReadFile(options_.activity).value());
  ASSERT_TRUE(log.ok()) << log.error().Line();
  EXPECT_TRUE(!log->absent.empty() || log->calls.size() == 1);
}

TEST_F(StandaloneRun, AnImageForAnotherDeviceIsRefused) {
  StandaloneJob job = TwiceJob();
  job.architecture = "sm_100a";
  Write(job);
  const Status ran = RunStandalone(options_);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::kUnknownDevice);
}

TEST_F(StandaloneRun, ThePlanMustFitItsKernel) {
  Write(TwiceJob(), "kernel twice 8 8 4\n");
  const Status ran = RunStandalone(options_);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::kBadInput);
  EXPECT_FALSE(Finished());
}

class StandaloneProgram : public StandaloneRun {
 protected:
  void WriteProgram(const std::string& source) {
    const auto code = folder_.path() / "p.cc", library = folder_.path() / "p.so";
    ASSERT_TRUE(WriteFileAtomic(code, source).ok());
    const auto built = RunProcess(
        {"c++", "-shared", "-fPIC", "-o", library.string(), code.string()}, ProcessLimits{});
    ASSERT_TRUE(built.ok() && built->exit_status == 0) << built->output;
    StandaloneJob job = TwiceJob();
    job.candidate.form = Form::kProgram;
    Write(job, ReadFile(library).value());
  }
};

// The fake driver's device memory is the host's, so a program can work on it.
TEST_F(StandaloneProgram, IsCalledWithTheTensorsInOrder) {
  const std::string notes = (folder_.path() / "notes").string();
  WriteProgram(R"(
    #include <cstdio>
    extern "C" void warpsmith_call(void* const* tensors) {
      const float* x = static_cast<const float*>(tensors[0]);
      float* y = static_cast<float*>(tensors[1]);
      for (int i = 0; i < 4; ++i) y[i] = 2 * x[i];
      std::FILE* file = std::fopen(")" +
               notes + R"(", "a");
      std::fprintf(file, "%g ", y[3] - x[3] - x[3]);
      std::fclose(file);
    })");
  options_.runs = 2;
  const Status ran = RunStandalone(options_);
  ASSERT_TRUE(ran.ok()) << ran.error().Line();
  EXPECT_EQ(ReadFile(notes).value(), "0 0 ");
  EXPECT_TRUE(Finished());
}

TEST_F(StandaloneProgram, WithoutTheEntryIsRefused) {
  WriteProgram("extern \"C\" void other() {}");
  const Status ran = RunStandalone(options_);
  ASSERT_FALSE(ran.ok());
  EXPECT_THAT(ran.error().message, HasSubstr("warpsmith_call"));
}

TEST_F(StandaloneProgram, ThatIsNoLibraryIsRefused) {
  StandaloneJob job = TwiceJob();
  job.candidate.form = Form::kProgram;
  Write(job, "not an ELF file");
  const Status ran = RunStandalone(options_);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::kBadInput);
}

TEST(StandaloneOptions, AreReadInAnyOrder) {
  const auto options = ParseStandaloneOptions(
      {"--runs", "7", "dir", "--profile-window", "--activity", "a.json", "--gpu", "GPU-1"});
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->dir, "dir");
  EXPECT_EQ(options->runs, 7);
  EXPECT_TRUE(options->profile_window);
  EXPECT_EQ(options->activity, "a.json");
  EXPECT_EQ(options->device_uuid, "GPU-1");
}

TEST(StandaloneOptions, OthersAreUsageErrors) {
  const std::vector<std::vector<std::string>> wrong = {{},
                                                       {"a", "b"},
                                                       {"a", "--runs"},
                                                       {"a", "--runs", "0"},
                                                       {"a", "--runs", "9x"},
                                                       {"a", "--what"}};
  for (const auto& arguments : wrong) {
    const auto options = ParseStandaloneOptions(arguments);
    ASSERT_FALSE(options.ok());
    EXPECT_EQ(options.error().code, ErrorCode::kUsage);
  }
  EXPECT_EQ(StandaloneMain({}), 2);
}

}  // namespace

}  // namespace warpsmith::standalone
