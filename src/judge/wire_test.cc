#include "judge/wire.h"

#include <gmock/gmock.h>

namespace warpsmith::judge {
namespace {

template <typename T>
T RoundTrip(const T& command) {
  Result<Command> read = CommandFromText(CommandToText(command));
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message);
  return std::get<T>(*read);
}

Task SmallTask() {
  Task task;
  task.name = "small";
  const Expression edge = Expression::Literal("M");
  task.tensors = {{"A", DType::kF16, Role::kInput, {edge, edge}, Generator::kNormal},
                  {"B", DType::kF16, Role::kInput, {edge, edge}, Generator::kUniform},
                  {"C", DType::kF16, Role::kOutput, {edge, edge}, Generator::kNormal}};
  task.reference.kind = "gemm";
  task.reference.options["layout"] = "TN";
  task.tolerance.reduction_length = edge;
  return task;
}

TEST(Wire, CommandsRoundTrip) {
  EXPECT_EQ(RoundTrip(StartCommand{"GPU-1"}).device_uuid, "GPU-1");
  const std::vector<std::string> hidden = {"libcublas.so*", "libcudnn*"};
  EXPECT_EQ(RoundTrip(StartCommand{"GPU-1", "L2", hidden}).hidden, hidden);
  const auto baseline = RoundTrip(BaselineCommand{"cublas", R"({"algo": 3})"});
  EXPECT_EQ(baseline.name, "cublas");
  EXPECT_EQ(baseline.choice, R"({"algo": 3})");
  const auto entrants = RoundTrip(EntrantsCommand{"cublaslt-auto", 1.5});
  EXPECT_EQ(entrants.name, "cublaslt-auto");
  EXPECT_EQ(entrants.exhaustive_seconds, 1.5);
  EXPECT_EQ(RoundTrip(CheckCommand{"candidate", 0x7e55}).poison, 0x7e55);
  LoadCommand load;
  load.callee = "rival";
  load.plan.emplace();
  load.plan->workspaces = {{"partial", Expression::Literal("4 * M"), true}};
  load.replicas = 7;
  const auto loaded = RoundTrip(load);
  EXPECT_EQ(loaded.callee, "rival");
  EXPECT_EQ(loaded.replicas, 7);
  ASSERT_TRUE(loaded.plan.has_value());
  EXPECT_EQ(loaded.plan->workspaces.at(0).bytes.text(), "4 * M");
  EXPECT_FALSE(RoundTrip(LoadCommand{"program", "warpsmith_call"}).plan.has_value());
  const auto burst = RoundTrip(BurstCommand{"program", 100, true, true});
  EXPECT_EQ(burst.calls, 100);
  EXPECT_TRUE(burst.warmup && burst.trace);
  EXPECT_EQ(RoundTrip(DrawCommand{17}).seed, 17);
  RoundTrip(ExpectCommand{});
}

TEST(Wire, ArenasRoundTrip) {
  const WireRegion region{"A", Role::kInput, DType::kF16, {64, 64}, 8192, 1 << 21, 3, 8704, 512};
  const ArenaCommand arena{SmallTask(), {"w", {{"M", 64}}, 1, false}, {region}, {}};
  const auto read = RoundTrip(arena);
  ASSERT_EQ(read.regions.size(), 1U);
  EXPECT_EQ(read.regions[0].extents, region.extents);
  EXPECT_EQ(read.regions[0].stride_bytes, region.stride_bytes);
  EXPECT_EQ(read.workload.sizes, arena.workload.sizes);
  EXPECT_EQ(TaskId(read.task), TaskId(arena.task));
}

TEST(Wire, RefusesSlotsOutsideTheirMapping) {
  const WireRegion region{"A", Role::kInput, DType::kF16, {64, 64}, 8192, 16'384, 2, 8704, 512};
  const ArenaCommand arena{SmallTask(), {"w", {{"M", 64}}, 1, false}, {region}, {}};
  EXPECT_FALSE(CommandFromText(CommandToText(arena)).ok());
}

TEST(Wire, SamplesRoundTrip) {
  const SampleCommand sample{"candidate", Mode::kServer, 0x7e01, {{1, 2, 3}}, {{4, 5, 6}}, {17},
                             true,        true,          3};
  const auto read = RoundTrip(sample);
  EXPECT_EQ(read.mode, Mode::kServer);
  EXPECT_EQ(read.touch, sample.touch);
  EXPECT_EQ(read.timed, sample.timed);
  EXPECT_EQ(read.idle_us, sample.idle_us);
  EXPECT_TRUE(read.read_inputs);
  EXPECT_TRUE(read.late_inputs);
  EXPECT_EQ(read.free_sms, 3);
}

TEST(Wire, RepliesRoundTrip) {
  const auto reply = ReplyFromText(ReplyToText(Reply{{1.25}, "choice", "", 0}));
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(std::get<Reply>(*reply).elapsed_us, std::vector<double>{1.25});
  const Error sent{ErrorCode::kBadInput, "bytes \xff that are no UTF-8", "fix"};
  const auto error = ReplyFromText(ReplyToText(sent));
  ASSERT_TRUE(error.ok());
  EXPECT_EQ(std::get<Error>(*error).code, ErrorCode::kBadInput);
  EXPECT_EQ(std::get<Error>(*error).fix, "fix");
}

TEST(Wire, RefusesWhatItDoesNotKnow) {
  EXPECT_FALSE(CommandFromText("").ok());
  EXPECT_FALSE(CommandFromText(R"({"version": 1, "command": "format-disk"})").ok());
  EXPECT_FALSE(CommandFromText(R"({"version": 1, "command": "check", "callee": 3})").ok());
  const auto other = CommandFromText(R"({"version": 2, "command": "start"})");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kVersion);
  EXPECT_FALSE(ReplyFromText(R"({"version": 2})").ok());
  EXPECT_FALSE(ReplyFromText(R"({"version": 1, "gpu_busy_us": -1})").ok());
  EXPECT_TRUE(ReplyFromText(R"({"version": 1, "calls": 3, "precision": "f64"})").ok());
  EXPECT_FALSE(ReplyFromText("[1, 2]").ok());
}

TEST(Wire, RefusesABatchWithoutItsIdleTimes) {
  const SampleCommand sample{"candidate", Mode::kServer, 0x7e01, {}, {{4, 5, 6}}, {}, false};
  EXPECT_FALSE(CommandFromText(CommandToText(sample)).ok());
}

}  // namespace
}  // namespace warpsmith::judge
