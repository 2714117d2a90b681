// What shows in the mean of many outputs, in many launches, or behind a slow producer alone.

#include "judge/tests/local_device_fixture.h"

namespace warpsmith::judge {
namespace {

TEST_F(JudgeOverFakeDriver, ShortKernelsAreVerifiedUntilRareErrorsShow) {
  Job job = MakeJob("short", 8, 8, 16);
  job.protocol = Protocol::Certified();
  job.protocol.modes = {Mode::kDeviceHot};
  job.protocol.max_rounds = job.protocol.rounds;
  Job wrong = MakeJob("short-and-rarely-wrong", 8, 8, 16);
  Job knows_few = MakeJob("short-and-knows-few-inputs", 8, 8, 16);
  wrong.protocol = knows_few.protocol = job.protocol;
  const auto completed = JudgeAll({job, wrong, knows_few});
  const auto* passed = std::get_if<Passed>(&completed.at(0).verdict.outcome);
  ASSERT_NE(passed, nullptr) << Describe(completed.at(0).verdict.outcome);
  EXPECT_GE(passed->correctness.outputs_verified, 10'000);
  EXPECT_GT(passed->correctness.rare_errors.at(1).caught, 0.63);
  EXPECT_THAT(Describe(*passed), testing::HasSubstr("wrong once in 100000 launches"));
  for (const int bad : {1, 2}) {
    EXPECT_TRUE(std::holds_alternative<Incorrect>(completed.at(bad).verdict.outcome))
        << Describe(completed.at(bad).verdict.outcome);
  }
}

TEST_F(JudgeOverFakeDriver, DigitsCutOffAreSeenThoughEachIsWithinTheBound) {
  ExpectIncorrect(JudgeAll({MakeJob("cuts-off", 8, 8, 4096)}).at(0).verdict.outcome, "bias");
  ExpectIncorrect(JudgeAll({MakeJob("cuts-off-when-timed", 8, 8, 4096)}).at(0).verdict.outcome,
                  "bias");
  const Outcome honest = JudgeAll({MakeJob("honest", 8, 8, 4096)}).at(0).verdict.outcome;
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
  const Outcome found = JudgeAll({timed}).at(0).verdict.outcome;
  EXPECT_TRUE(std::holds_alternative<Incorrect>(found));
  EXPECT_THAT(Describe(found), testing::HasSubstr("griddepcontrol.wait"));
}

}  // namespace
}  // namespace warpsmith::judge
