#include "judge/profile/best_profiler.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "judge/profile/metrics.h"

namespace warpsmith::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  BestProfiler Make(Result<Profile> answer, const std::string& driver = "580.95",
                    const std::string& boot = "boot-1") {
    BestOptions options;
    options.programs_confined = programs_confined_;
    options.say = [this](const std::string& line) { said_.push_back(line); };
    return {std::make_unique<Fixed>(std::move(answer), &asked_),
            NoticeCache(folder_.path() / "state" / "profiler.json", driver, boot), options};
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
  const auto profile = Make(Profile{"ncu 2025.3.1", {}}).Take(Job());
  ASSERT_TRUE(profile.ok());
  EXPECT_EQ(profile->source, "ncu 2025.3.1");
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(BestProfilerTest, DeniedIsSaidOnceABootAndDriver) {
  for (int run = 0; run < 3; ++run) {  // three processes
    const auto profile = Make(Denied()).Take(Job());
    ASSERT_TRUE(profile.ok());
    EXPECT_EQ(profile->source, "static");
    EXPECT_EQ(Find(profile->kernels.at(0), metric::kSpillBytes), 16);
  }
  EXPECT_THAT(said_, ElementsAre(HasSubstr("no rights (ask for them)")));
  EXPECT_EQ(asked_, 1);  // nor is ncu started again
  EXPECT_TRUE(Make(Denied(), "590.1").Take(Job()).ok());
  EXPECT_EQ(asked_, 2);
  EXPECT_TRUE(Make(Denied(), "590.1", "boot-2").Take(Job()).ok());
  EXPECT_EQ(asked_, 3);
  EXPECT_EQ(said_.size(), 3U);
}

TEST_F(BestProfilerTest, DeniedInTheSandboxSaysNothingOfKernels) {
  programs_confined_ = true;
  ASSERT_TRUE(Make(Denied()).Take(Job()).ok());
  ASSERT_TRUE(Make(Denied()).Take(Job()).ok());
  EXPECT_EQ(asked_, 1);
  ProfileJob kernel = Job();
  kernel.candidate.form = Form::kKernel;
  EXPECT_EQ(Make(Profile{"ncu 2025.3.1", {}}).Take(kernel)->source, "ncu 2025.3.1");
}

TEST_F(BestProfilerTest, AMissingToolIsSaidOnceButLookedForAgain) {
  const Error missing = {ErrorCode::kUnavailable, "no ncu", ""};
  EXPECT_TRUE(Make(missing).Take(Job()).ok());
  EXPECT_TRUE(Make(missing).Take(Job()).ok());
  EXPECT_EQ(said_.size(), 1U);
  EXPECT_EQ(Make(Profile{"ncu 2025.3.1", {}}).Take(Job())->source, "ncu 2025.3.1");
}

TEST_F(BestProfilerTest, OtherErrorsArePassedOn) {
  for (const ErrorCode code : {ErrorCode::kNothingMeasured, ErrorCode::kTimeout}) {
    EXPECT_EQ(Make(Error{code, "failed", ""}).Take(Job()).error().code, code);
  }
  EXPECT_THAT(said_, IsEmpty());
}

TEST_F(BestProfilerTest, ADamagedMemoryIsForgotten) {
  ASSERT_TRUE(Make(Denied()).Take(Job()).ok());
  ASSERT_TRUE(WriteFileAtomic(folder_.path() / "state" / "profiler.json", "{\"version\":1").ok());
  ASSERT_TRUE(Make(Denied()).Take(Job()).ok());
  EXPECT_EQ(asked_, 2);
}

}  // namespace
}  // namespace warpsmith::profile
