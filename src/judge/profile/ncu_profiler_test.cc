#include "judge/profile/ncu_profiler.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "judge/profile/metrics.h"

namespace warpsmith::profile {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr char kVersionText[] = "NVIDIA (R) Nsight Compute\\nVersion 2025.3.1.0 (build 1)\\n";

// What a fake ncu's script finds in $log (the report it is to write), $metrics and $run (the
// command to profile).
constexpr char kArguments[] = R"sh(
if [ "$1" = --version ]; then printf '%b' "$version"; exit 0; fi
while [ "$1" != -- ]; do
  case "$1" in --log-file) log=$2;; --metrics) metrics=$2;; esac
  shift
done
shift
run="$*"
)sh";

constexpr char kOneKernel[] = R"sh(
printf '==PROF== Connected\n"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n' > "$log"
printf '"0","k","8192"\n' >> "$log"
)sh";

class NcuProfilerTest : public testing::Test {
 protected:
  // A program that stands in for ncu.
  std::string Fake(const std::string& script, const std::string& version = kVersionText) const {
    const fs::path path = folder_.path() / "ncu";
    EXPECT_TRUE(
        WriteFileAtomic(path, "#!/bin/sh\nversion='" + version + "'\n" + kArguments + script + "\n")
            .ok());
    fs::permissions(path, fs::perms::owner_all);
    return path.string();
  }

  NcuOptions Options(const std::string& script) const {
    NcuOptions options;
    options.ncu = Fake(script);
    options.prepare = [](const ProfileJob& job,
                         const fs::path& folder) -> Result<std::vector<std::string>> {
      TRY(CreateDirectories(folder));
      TRY(WriteFileAtomic(folder / "image", job.artifact.image));
      return std::vector<std::string>{"/usr/bin/solo", folder.string()};
    };
    return options;
  }

  static ProfileJob Job() {
    ProfileJob job;
    job.artifact.architecture = "sm_90a";
    job.artifact.image = "cubin";
    return job;
  }

  Result<Profile> Take(const std::string& script) const {
    return MakeNcuProfiler(Options(script))->Take(Job());
  }
  std::string Noted(const char* name) const { return ReadFile(folder_.path() / name).value(); }
  std::string NotePath(const char* name) const { return (folder_.path() / name).string(); }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("ncu-test").value();
};

TEST_F(NcuProfilerTest, TakesAProfileOfAPreparedRun) {
  const auto profile =
      Take(std::string(kOneKernel) + "cat \"$(echo $run | cut -d' ' -f2)/image\" > '" +
           NotePath("image") + "'; echo \"$LC_ALL $TMPDIR $HOME\" > '" + NotePath("environment") +
           "'; echo $metrics > '" + NotePath("metrics") + "'");
  ASSERT_TRUE(profile.ok()) << profile.error().Line();
  EXPECT_EQ(profile->source, "ncu 2025.3.1");
  ASSERT_THAT(profile->kernels, SizeIs(1));
  EXPECT_EQ(Find(profile->kernels[0], metric::kTimeNs), 8192);
  EXPECT_EQ(Noted("image"), "cubin");
  EXPECT_THAT(Noted("environment"), ::testing::StartsWith("C /"));
  EXPECT_THAT(Noted("metrics"),
              AllOf(HasSubstr(std::string(metric::kCycles)), HasSubstr("stalled_gmma")));
  // What it wrote for the run is gone.
  const std::string used = Noted("environment");
  EXPECT_FALSE(fs::exists(used.substr(2, used.find(' ', 2) - 2)));
}

TEST_F(NcuProfilerTest, LeavesClocksAloneAndFlushesCaches) {
  NcuOptions options;
  options.ncu = "ncu";
  const auto argv = NcuCommand(options, {"a__b", "c__d"}, "/tmp/log", {"solo", "dir"});
  std::string line;
  for (const std::string& word : argv) line += word + " ";
  EXPECT_THAT(line, AllOf(HasSubstr("--clock-control none "), HasSubstr("--cache-control all "),
                          HasSubstr("--print-units base "), HasSubstr("--metrics a__b,c__d "),
                          HasSubstr("--profile-from-start off "), HasSubstr("-- solo dir ")));
}

TEST_F(NcuProfilerTest, AnEmptyReportIsAnErrorThoughItExitsWithZero) {
  const auto none = Take("echo '==WARNING== No kernels were profiled.' > \"$log\"");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNothingMeasured);
  const auto nothing = Take("true");
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().code, ErrorCode::kNothingMeasured);
}

TEST_F(NcuProfilerTest, SeesDeniedCountersInLogAndOutput) {
  for (const char* where : {"> \"$log\"", ""}) {
    const auto denied = Take("echo '==ERROR== ERR_NVGPUCTRPERM - The user does not' " +
                             std::string(where) + "; exit 1");
    ASSERT_FALSE(denied.ok());
    EXPECT_EQ(denied.error().code, ErrorCode::kPermission);
  }
}

TEST_F(NcuProfilerTest, AsksAgainWithoutMetricsThatAreUnknown) {
  const auto profile = Take(
      "case \"$metrics\" in *stalled_gmma*)\n"
      "echo '==ERROR== Failed to find metric " +
      std::string(metric::kStallGmma) + "' > \"$log\"; exit 1;;\nesac\n" + kOneKernel);
  ASSERT_TRUE(profile.ok()) << profile.error().Line();
  EXPECT_THAT(profile->kernels, SizeIs(1));
  // Twice the same answer is one.
  const auto stubborn = Take("echo '==ERROR== Failed to find metric sm__x.avg' > \"$log\"; exit 1");
  ASSERT_FALSE(stubborn.ok());
  EXPECT_EQ(stubborn.error().code, ErrorCode::kNothingMeasured);
}

TEST_F(NcuProfilerTest, TellsHowItFailed) {
  const auto failed = Take(std::string(kOneKernel) +
                           "echo '==ERROR== The application returned an error code (70).' >> "
                           "\"$log\"; exit 70");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kNothingMeasured);
  EXPECT_THAT(failed.error().message, HasSubstr("error code (70)"));
  const auto killed = Take("kill -9 $$");
  ASSERT_FALSE(killed.ok());
  EXPECT_THAT(killed.error().message, HasSubstr("signal 9"));
}

TEST_F(NcuProfilerTest, WhatItPrintsIsSafeToShow) {
  const auto message = Take("printf '==ERROR== a\\033[2Jb\\n' > \"$log\"; exit 1");
  ASSERT_FALSE(message.ok());
  EXPECT_THAT(message.error().message, AllOf(HasSubstr("a?[2Jb"), Not(HasSubstr("\x1b"))));
  const auto output = Take("printf 'c\\033[2Jd\\n'; exit 1");
  ASSERT_FALSE(output.ok());
  EXPECT_THAT(output.error().message, AllOf(HasSubstr("c?[2Jd"), Not(HasSubstr("\x1b"))));
}

TEST_F(NcuProfilerTest, ProgramsAreProfiledConfined) {
  NcuOptions options =
      Options(std::string(kOneKernel) + "echo $outside > '" + NotePath("confined") + "'");
  options.confine = [](const fs::path& folder,
                       std::vector<std::string> command) -> Result<std::vector<std::string>> {
    EXPECT_TRUE(fs::exists(folder / "job" / "image"));
    command.insert(command.begin(), {"/usr/bin/env", "outside=no"});
    return command;
  };
  ProfileJob job = Job();
  ASSERT_TRUE(MakeNcuProfiler(options)->Take(job).ok());
  EXPECT_EQ(Noted("confined"), "\n");  // a kernel has no code of its own on the host
  job.candidate.form = Form::kProgram;
  ASSERT_TRUE(MakeNcuProfiler(options)->Take(job).ok());
  EXPECT_EQ(Noted("confined"), "no\n");
}

TEST_F(NcuProfilerTest, WaitsForNothingInItsReportsPlace) {
  const auto piped = Take("rm -f \"$log\"; mkfifo \"$log\"");
  ASSERT_FALSE(piped.ok());
  EXPECT_EQ(piped.error().code, ErrorCode::kBadInput);
}

TEST_F(NcuProfilerTest, EndsARunThatNeverEnds) {
  NcuOptions options = Options("sleep 600");
  options.wall = std::chrono::milliseconds(300);
  const auto endless = MakeNcuProfiler(options)->Take(Job());
  ASSERT_FALSE(endless.ok());
  EXPECT_EQ(endless.error().code, ErrorCode::kTimeout);
}

TEST_F(NcuProfilerTest, RefusesAReportThatIsTooLarge) {
  NcuOptions options = Options("head -c 5000 /dev/zero > \"$log\"");
  options.report_bytes = 4096;
  const auto large = MakeNcuProfiler(options)->Take(Job());
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::kBadInput);
}

TEST_F(NcuProfilerTest, WithoutAProgramOrAVersionItIsUnavailable) {
  NcuOptions options = Options("true");
  options.ncu = "";
  EXPECT_EQ(MakeNcuProfiler(options)->Take(Job()).error().code, ErrorCode::kUnavailable);
  options.ncu = (folder_.path() / "nothing-here").string();
  EXPECT_EQ(MakeNcuProfiler(options)->Take(Job()).error().code, ErrorCode::kUnavailable);
  options.ncu = Fake("true", "some other program");
  EXPECT_EQ(MakeNcuProfiler(options)->Take(Job()).error().code, ErrorCode::kUnavailable);
}

TEST(CounterSet, IsTheArchitecturesOwn) {
  EXPECT_THAT(CounterSet("sm_90a"), Contains(std::string(metric::kStallGmma)));
  EXPECT_THAT(CounterSet("sm_90"), Contains(std::string(metric::kStallGmma)));
  for (const char* other : {"sm_80", "sm_89", "sm_100a", "sm_120", "", "sm_9", "sm_900"}) {
    EXPECT_THAT(CounterSet(other), Not(Contains(std::string(metric::kStallGmma)))) << other;
  }
}

// Answers always the same and counts how often it was asked.
class Fixed : public Profiler {
 public:
  Fixed(Result<Profile> answer, int* asked) : answer_(std::move(answer)), asked_(asked) {}
  Result<Profile> Take(const ProfileJob&) override {
    ++*asked_;
    return answer_;
  }

 private:
  Result<Profile> answer_;
  int* asked_;
};

class BestProfilerTest : public testing::Test {
 protected:
  std::unique_ptr<Profiler> Make(Result<Profile> answer, const std::string& driver = "580.95",
                                 const std::string& boot = "boot-1") {
    BestOptions options;
    options.programs_confined = programs_confined_;
    options.say = [this](const std::string& line) { said_.push_back(line); };
    options.notices = folder_.path() / "state" / "profiler.json";
    options.driver = driver;
    options.boot_id = boot;
    return MakeBestProfiler(std::make_unique<Fixed>(std::move(answer), &asked_), options);
  }
  static Error Denied() { return {ErrorCode::kPermission, "no rights", "ask for them"}; }
  static ProfileJob Job() {
    ProfileJob job;
    job.candidate.form = Form::kProgram;
    job.artifact.kernels = {{"k", 40, 0, 0, 8, 8}};
    return job;
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("best-test").value();
  std::vector<std::string> said_;
  int asked_ = 0;
  bool programs_confined_ = false;
};

TEST_F(BestProfilerTest, PassesCountersOn) {
  const auto profile = Make(Profile{"ncu 2025.3.1", {}})->Take(Job());
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->source, "ncu 2025.3.1");
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(BestProfilerTest, DeniedIsSaidOnceABootAndDriver) {
  for (int run = 0; run < 3; ++run) {  // three processes
    const auto profile = Make(Denied())->Take(Job());
    ASSERT_TRUE(profile.ok());
    EXPECT_EQ(profile->source, "static");
    EXPECT_EQ(Find(profile->kernels.at(0), metric::kSpillBytes), 16);
  }
  EXPECT_THAT(said_, ElementsAre(HasSubstr("no rights (ask for them)")));
  EXPECT_EQ(asked_, 1);  // nor is ncu started again
  EXPECT_TRUE(Make(Denied(), "590.1")->Take(Job()).ok());
  EXPECT_EQ(asked_, 2);
  EXPECT_TRUE(Make(Denied(), "590.1", "boot-2")->Take(Job()).ok());
  EXPECT_EQ(asked_, 3);
  EXPECT_EQ(said_.size(), 3U);
}

TEST_F(BestProfilerTest, DeniedInTheSandboxSaysNothingOfKernels) {
  programs_confined_ = true;
  ASSERT_TRUE(Make(Denied())->Take(Job()).ok());
  ASSERT_TRUE(Make(Denied())->Take(Job()).ok());
  EXPECT_EQ(asked_, 1);
  ProfileJob kernel = Job();
  kernel.candidate.form = Form::kKernel;
  EXPECT_EQ(Make(Profile{"ncu 2025.3.1", {}})->Take(kernel)->source, "ncu 2025.3.1");
}

TEST_F(BestProfilerTest, AMissingToolIsSaidOnceButLookedForAgain) {
  const Error missing = {ErrorCode::kUnavailable, "no ncu", ""};
  EXPECT_TRUE(Make(missing)->Take(Job()).ok());
  EXPECT_TRUE(Make(missing)->Take(Job()).ok());
  EXPECT_EQ(said_.size(), 1U);
  EXPECT_EQ(Make(Profile{"ncu 2025.3.1", {}})->Take(Job())->source, "ncu 2025.3.1");
}

TEST_F(BestProfilerTest, OtherErrorsArePassedOn) {
  for (const ErrorCode code : {ErrorCode::kNothingMeasured, ErrorCode::kTimeout}) {
    EXPECT_EQ(Make(Error{code, "failed", ""})->Take(Job()).error().code, code);
  }
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(BestProfilerTest, ADamagedMemoryIsForgotten) {
  ASSERT_TRUE(Make(Denied())->Take(Job()).ok());
  ASSERT_TRUE(WriteFileAtomic(folder_.path() / "state" / "profiler.json", "{\"version\":1").ok());
  ASSERT_TRUE(Make(Denied())->Take(Job()).ok());
  EXPECT_EQ(asked_, 2);
}

}  // namespace

}  // namespace warpsmith::profile
