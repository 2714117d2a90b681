// dtype, task, candidate, protocol, verdict, step, space and the ids made of them.

#include "core/device.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

#include "core/dtype.h"
#include "core/reward.h"
#include "core/space.h"
#include "core/step.h"
#include "core/tests/gemm_example.h"
#include "core/verdict.h"

namespace warpsmith {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DType, NamesRoundTrip) {
  for (const char* name : {"f16", "bf16", "f32", "f64", "i8", "i32", "i64"}) {
    const auto dtype = DTypeFromName(name);
    ASSERT_TRUE(dtype.has_value());
    EXPECT_EQ(Name(*dtype), name);
    EXPECT_GE(ElementBytes(*dtype), 1);
  }
  EXPECT_FALSE(DTypeFromName("float").has_value());
}

TEST(Extents, AreCheckedAgainstZeroNegativeAndHuge) {
  TensorSpec tensor{
      "A", DType::kF16, Role::kInput, {Expression::Literal("M"), Expression::Literal("K")}};
  EXPECT_THAT(Extents(tensor, {{"M", 3}, {"K", 5}}).value(), ElementsAre(3, 5));
  EXPECT_EQ(TensorBytes(tensor, {{"M", 3}, {"K", 5}}).value(), 30);
  EXPECT_THAT(Extents(tensor, {{"M", 0}, {"K", 5}}).error().message,
              HasSubstr("tensor A: extent \"M\" is 0, must be at least 1"));
  EXPECT_FALSE(Extents(tensor, {{"M", -1}, {"K", 5}}).ok());
  EXPECT_FALSE(Extents(tensor, {{"M", 1}}).ok());
  EXPECT_FALSE(Extents(tensor, {{"M", int64_t{1} << 20}, {"K", int64_t{1} << 19}}).ok());
  EXPECT_TRUE(Extents(tensor, {{"M", int64_t{1} << 20}, {"K", (int64_t{1} << 19) - 1}}).ok());
  EXPECT_FALSE(Extents(tensor, {{"M", int64_t{1} << 62}, {"K", int64_t{1} << 62}}).ok());
}

TEST(Ids, FollowWhatTheyAreMadeOf) {
  const Candidate candidate = GemmCandidate();
  EXPECT_EQ(CandidateId(candidate).size(), 64U);
  Candidate same = candidate;
  same.provenance.technique = "other";
  EXPECT_EQ(CandidateId(same), CandidateId(candidate));
  std::set<std::string> ids{CandidateId(candidate)};
  const auto differs = [&](auto change) {
    Candidate changed = candidate;
    change(changed);
    return ids.insert(CandidateId(changed)).second;
  };
  EXPECT_TRUE(differs([](Candidate& c) { c.sources.begin()->second += "\n"; }));
  EXPECT_TRUE(differs([](Candidate& c) { c.flags.emplace_back("-DX=1"); }));
  EXPECT_TRUE(differs([](Candidate& c) { c.toolchain = "nvcc"; }));
  EXPECT_TRUE(differs([](Candidate& c) { c.entry = "other.cu"; }));
  EXPECT_TRUE(differs([](Candidate& c) { c.form = Form::kProgram; }));
  EXPECT_TRUE(differs([](Candidate& c) { c.plan.valid_when = Expression::Literal("M > 1"); }));
  EXPECT_EQ(CodeLength(candidate), static_cast<int64_t>(candidate.sources.begin()->second.size()));
}

// Recordings are looked up by these: a change here makes every recording unreadable, so it needs a
// new kJudgeProtocolVersion or recording version.
TEST(Ids, AreWhatRecordingsHold) {
  EXPECT_EQ(CandidateId(GemmCandidate()),
            "f366159846f35c4e04b05e723feb609b8d99a01831f3971f1a81807f762f38a9");
  EXPECT_EQ(TaskId(GemmTask()), "fb6dcbd2dbd2b31020a679f0acdc652b3e8c7dfaf51484f538bed70caf641919");
  EXPECT_EQ(
      MeasurementKey(GemmCandidate(), GemmTask(), GemmTask().workloads[0], Protocol::Screened()),
      "4b7404ce27fee57424b6b196a0db24a0fc67e3abf1e2fc5688369037d403f1bb");
}

TEST(TaskId, IgnoresNamesAndWorkloads) {
  const Task task = GemmTask();
  Task renamed = task;
  renamed.name = "other";
  renamed.workloads.clear();
  EXPECT_EQ(TaskId(renamed), TaskId(task));
  Task looser = task;
  looser.tolerance.accumulate = DType::kF16;
  EXPECT_NE(TaskId(looser), TaskId(task));
}

TEST(MeasurementKey, DiffersBySizesAndProtocol) {
  const Task task = GemmTask();
  Workload workload = task.workloads[0];
  const auto key = [&](const Protocol& protocol) {
    return MeasurementKey(GemmCandidate(), task, workload, protocol);
  };
  const std::string screened = key(Protocol::Screened());
  EXPECT_NE(key(Protocol::Certified()), screened);
  workload.name = "renamed";
  EXPECT_EQ(key(Protocol::Screened()), screened);
  workload.sizes["M"] += 1;
  EXPECT_NE(key(Protocol::Screened()), screened);
}

TEST(Protocol, PresetsAndTheirIds) {
  EXPECT_EQ(ProtocolId(Protocol::Screened()), "j1/screened/device/r3x2p1/c0.99/b0.01/t10000");
  const Protocol wall = Protocol::Screened().For(Form::kProgram);
  EXPECT_EQ(wall.modes, std::vector{Mode::kWall});
  EXPECT_EQ(ProtocolId(wall), "j1/screened/wall4/r3x2p1/c0.99/b0.01/h0.15m8/t60000");
  EXPECT_GT(wall.max_rounds, wall.rounds);
  EXPECT_GT(wall.target_half_width, Protocol::Certified().For(Form::kProgram).target_half_width);
  Protocol all = Protocol::Screened();
  all.every_baseline = true;
  EXPECT_EQ(ProtocolId(all), "j1/screened/device/r3x2p1/all/c0.99/b0.01/t10000");
  EXPECT_EQ(ProtocolId(Protocol::Certified()),
            "j1/certified/device+device-cold+offline+server/r6x3p3/renew/c0.99/b0.01/h0.01m24/"
            "t10000");
  EXPECT_EQ(ProtocolId(Protocol::Paper()),
            "j1/certified/offline+server/r6x3p3/renew/c0.99/b0.01/h0.01m24/warm10/for30/t10000");
  for (const char* name : {"device", "device-cold", "offline", "server"}) {
    EXPECT_EQ(Name(ModeFromName(name).value()), name);
  }
  EXPECT_FALSE(ModeFromName("hot").has_value());
}

TEST(Verdict, IsDescribedInOneLine) {
  EXPECT_EQ(Describe(CompileFailed{"line 3:\nexpected ;", "", false}),
            "does not compile: line 3: expected ;");
  EXPECT_EQ(Describe(CompileFailed{"\x1b[1A\x1b[2Kmine: passed\xe2\x80\xae\t!", "", false}),
            "does not compile: ?[1A?[2Kmine: passed? !");
  EXPECT_EQ(Describe(Rejected{"writable-globals", "4 bytes"}),
            "rejected: writable-globals: 4 bytes");
  EXPECT_EQ(Describe(RunFailed{"cuLaunchKernelEx", "CUDA_ERROR_INVALID_VALUE", "block 2048"}),
            "failed to run: cuLaunchKernelEx: CUDA_ERROR_INVALID_VALUE, block 2048");
  EXPECT_EQ(Describe(TimedOut{"launch", 500}), "timed out: launch took longer than 500 ms");
  EXPECT_EQ(Describe(Incorrect{"bound", "", 0.5, 0.25, 7}),
            "incorrect (bound): element 7 is off by 0.5, bound 0.25");
  EXPECT_EQ(Describe(Inconclusive{"noise"}), "inconclusive: noise");
  EXPECT_EQ(Describe(GemmVerdict().outcome),
            "passed, screened: 10 us (device), 1.1x cublaslt-auto [1.05, 1.15] faster");
  Passed remarkable = std::get<Passed>(GemmVerdict().outcome);
  remarkable.timings.front().modes.front().comparisons.clear();
  remarkable.timings.front().modes.front().below_roofline = true;
  remarkable.correctness.bias = Bias{100, {-0.98, {-1, -0.96}}, {0, {-0.1, 0.1}}};
  remarkable.correctness.rare_errors = {{1'000, 0.99}, {10'000, 0.632}};
  EXPECT_EQ(Describe(remarkable),
            "passed, screened: 10 us (device) BELOW ITS FLOOR of 4 us; BIASED: outputs lie -0.98 "
            "halves of a last place beside the reference on average; wrong once in 10000 launches "
            "would be caught with 63.2 %");
  remarkable.correctness.bias->magnitude.interval = {-0.9, -0.4};
  EXPECT_EQ(Describe(remarkable).find("BIASED"), std::string::npos);
  EXPECT_EQ(OutcomeName(GemmVerdict().outcome), "passed");
  EXPECT_EQ(OutcomeName(Inconclusive{}), "inconclusive");
}

TEST(Verdict, FindsTheBar) {
  EXPECT_EQ(RatioToPrimary(GemmVerdict(), Mode::kDeviceHot), 1.1);
  EXPECT_FALSE(RatioToPrimary(GemmVerdict(), Mode::kServer).has_value());
  EXPECT_FALSE(RatioToPrimary({Inconclusive{}, {}}, Mode::kDeviceHot).has_value());
  Verdict on_the_wall = GemmVerdict();
  ModeTiming& timing = std::get<Passed>(on_the_wall.outcome).timings.front().modes.front();
  timing.mode = Mode::kWall;
  std::get<Passed>(on_the_wall.outcome).timings.front().modes.emplace_back();
  EXPECT_EQ(RatioToPrimary(on_the_wall, Mode::kDeviceHot), 1.1);
  EXPECT_EQ(FindTiming({Passed{}, {}}, Mode::kDeviceHot), nullptr);
}

TEST(RewardTerms, PairSamplesByRound) {
  const RewardTerms terms = TermsOf(GemmCandidate(), GemmVerdict(), Mode::kDeviceHot);
  EXPECT_THAT(terms.ratios, ElementsAre(DoubleEq(1.0), DoubleEq(1.2)));
  EXPECT_THAT(terms.deviations, ElementsAre(0.25, 0.75));
  EXPECT_EQ(terms.code_length_bytes, CodeLength(GemmCandidate()));
}

TEST(RewardTerms, OfAFailureAreNone) {
  const RewardTerms terms = TermsOf(GemmCandidate(), {Rejected{}, {}}, Mode::kDeviceHot);
  EXPECT_TRUE(terms.ratios.empty());
  EXPECT_EQ(TermsOf(GemmCandidate(), GemmVerdict(), Mode::kServer).ratios.size(), 0U);
}

TEST(Budget, ReadsEveryForm) {
  const auto budget = ParseBudget("evals=200,gpu=30s,time=10m,tokens=1e6,money=5.5");
  EXPECT_EQ(budget->evaluations, 200);
  EXPECT_EQ(budget->gpu_seconds, 30);
  EXPECT_EQ(budget->wall_seconds, 600);
  EXPECT_EQ(budget->tokens, 1'000'000);
  EXPECT_EQ(budget->money, 5.5);
  EXPECT_EQ(ParseBudget("gpu=1.5h")->gpu_seconds, 5400);
  EXPECT_EQ(ParseBudget("gpu=7")->gpu_seconds, 7);
  EXPECT_TRUE(std::isinf(ParseBudget("evals=1")->gpu_seconds));
}

TEST(Budget, NamesEveryBadPiece) {
  const auto budget = ParseBudget("evals=many,gpu=3d,tim=5,tokens=1.5,evals=3,money=-1");
  EXPECT_EQ(budget.error().code, ErrorCode::kUsage);
  for (const char* piece : {"'evals=many'", "'gpu=3d'", "'tim=5'", "'tokens=1.5'",
                            "'evals=3': expected each limit once", "'money=-1'"}) {
    EXPECT_THAT(budget.error().message, HasSubstr(piece));
  }
  for (const char* text : {"", ",", "evals", "evals=", "evals=0", "evals=1,", "evals=1e300",
                           "gpu=nan", "gpu=inf", "gpu=-5", "money=1e999", "evals==3"}) {
    EXPECT_FALSE(ParseBudget(text).ok()) << text;
  }
}

TEST(Budget, SaysWhichLimitIsReached) {
  const Budget budget = ParseBudget("evals=10,gpu=5").value();
  EXPECT_FALSE(ReachedLimit(budget, {}).has_value());
  EXPECT_EQ(ReachedLimit(budget, {.evaluations = 10}), "evals");
  EXPECT_EQ(ReachedLimit(budget, {.gpu_seconds = 5.1}), "gpu");
  const Cost sum = Cost{1, 2, 3, 4, 5} + Cost{10, 20, 30, 40, 50};
  EXPECT_EQ(sum.evaluations, 11);
  EXPECT_EQ(sum.money, 55);
}

TEST(Space, FindsPointsAndNeighbours) {
  const Space space("s", {{"mma", {{"bm", 64}, {"bn", 64}}},
                          {"mma", {{"bm", 128}, {"bn", 64}}},
                          {"mma", {{"bm", 256}, {"bn", 64}}},
                          {"mma", {{"bm", 128}, {"bn", 128}}},
                          {"tiny", {}}});
  EXPECT_EQ(PointName(space.points()[0]), "mma bm=64 bn=64");
  EXPECT_EQ(space.Find({"mma", {{"bm", 256}, {"bn", 64}}}), 2);
  EXPECT_EQ(space.Find({"mma", {{"bm", 256}, {"bn", 128}}}), -1);
  EXPECT_THAT(space.Neighbours(1), ElementsAre(0, 2, 3));
  EXPECT_THAT(space.Neighbours(0), ElementsAre(1));  // two steps away is not next to it
  EXPECT_TRUE(space.Neighbours(4).empty());
}

TEST(SpaceDeathTest, PointsMustBeDistinct) {
  EXPECT_DEATH(Space("s", {{"a", {}}, {"a", {}}}), "distinct");
}

Verdict Measured(double us, double primary_us, double ratio) {
  ModeTiming timing;
  timing.mode = Mode::kDeviceHot;
  timing.candidate.median_us = us;
  ContenderTiming primary;
  primary.name = "cublaslt-auto";
  primary.median_us = primary_us;
  timing.baselines = {ContenderTiming{}, primary};
  Comparison comparison;
  comparison.baseline = primary.name;
  comparison.ratio = ratio;
  timing.comparisons = {comparison};
  Passed passed;
  passed.timings = {{"", {timing}}};
  return {passed, {}};
}

TEST(RankingRatio, IsNotMovedByOneDisturbedRoundOfTheBar) {
  EXPECT_DOUBLE_EQ(*RankingRatio(Measured(75, 50, 1.05), Mode::kDeviceHot), 50.0 / 75);
  EXPECT_DOUBLE_EQ(*RankingRatio(Measured(50, 51, 1.01), Mode::kDeviceHot), 1.01);
  EXPECT_DOUBLE_EQ(*RankingRatio(Measured(0, 51, 1.01), Mode::kDeviceHot), 1.01);
}

TEST(RankingRatio, NeedsAComparison) {
  EXPECT_FALSE(RankingRatio({Inconclusive{}, {}}, Mode::kDeviceHot).has_value());
}

TEST(StepReferenceTest, ReadsWhatItWrites) {
  for (const StepReference& reference : {StepReference{"softmax", 0}, {"a#b/certify-1", 12}}) {
    const auto read = StepReferenceFrom(TextOf(reference));
    ASSERT_TRUE(read.has_value()) << TextOf(reference);
    EXPECT_EQ(read->run, reference.run);
    EXPECT_EQ(read->index, reference.index);
  }
  EXPECT_EQ(TextOf({"softmax", 3}), "run:softmax#3");
}

TEST(StepReferenceTest, TakesNothingElseForAStep) {
  for (const char* text : {"", "run:", "run:a", "run:a#", "run:a#-1", "run:a#1x", "a#1",
                           "verdict:a#1", "run:a#99999999999999999999"}) {
    EXPECT_FALSE(StepReferenceFrom(text).has_value()) << text;
  }
}

TEST(ShortUuid, TellsOneGpuFromAnother) {
  EXPECT_EQ(ShortUuid("GPU-1a2b3c4d-5e6f-7081-92a3-b4c5d6e7f809"), "GPU-1a2b3c4d");
  EXPECT_EQ(ShortUuid("GPU-1"), "GPU-1");
  EXPECT_EQ(ShortUuid(""), "none");
}

TEST(CommandText, LeavesFoldersOut) {
  EXPECT_EQ(CommandText({"/opt/bin/warpsmith", "hgemm", "bench", "--csv", "/data/x/a.csv",
                         "--against=/lib/b.so", "--slice", "1/2", "data/c.csv"}),
            "warpsmith hgemm bench --csv a.csv --against=b.so --slice 1/2 data/c.csv");
  EXPECT_EQ(CommandText({"a\nb", "--x"}), "a b --x");
  EXPECT_EQ(CommandText({"tune", "--store", "postgresql://me:secret@host/db"}),
            "tune --store postgresql:");
  EXPECT_EQ(CommandText({"tune", "--store=postgres://me:secret@host/db"}),
            "tune --store=postgres:");
}

TEST(ProvenanceText, SaysWhereWhenAndByWhat) {
  DeviceInfo device;
  device.name = "NVIDIA H200";
  device.uuid = "GPU-1a2b3c4d-5e6f";
  device.driver = "580.95";
  EXPECT_THAT(ProvenanceText(device, "warpsmith x"),
              testing::MatchesRegex("NVIDIA H200, GPU-1a2b3c4d, driver 580.95, "
                                    "20..-..-..T..:..:..Z, commit [^ ]+, warpsmith x"));
}

}  // namespace

}  // namespace warpsmith
