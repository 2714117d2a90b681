#include "judge/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  const auto baseline = RoundTrip(BaselineCommand{"cublas", R"({"algo": 3})"});
  EXPECT_EQ(baseline.name, "cublas");
  EXPECT_EQ(baseline.choice, R"({"algo": 3})");
  const auto entrants = RoundTrip(EntrantsCommand{"cublaslt-auto", 1.5});
  EXPECT_EQ(entrants.name, "cublaslt-auto");
  EXPECT_EQ(entrants.exhaustive_seconds, 1.5);
  EXPECT_EQ(RoundTrip(CheckCommand{"candidate", 0x7e55}).poison, 0x7e55);
  CandidateCommand candidate;
  candidate.name = "rival";
  candidate.plan.workspaces = {{"partial", Expression::Literal("4 * M"), true}};
  candidate.replicas = 7;
  const auto loaded = RoundTrip(candidate);
  EXPECT_EQ(loaded.name, "rival");
  EXPECT_EQ(loaded.replicas, 7);
  EXPECT_EQ(loaded.plan.workspaces.at(0).bytes.text(), "4 * M");
}

TEST(Wire, ArenasRoundTrip) {
  const ArenaCommand arena{SmallTask(), {"w", {{"M", 64}}, 1, false}, {1, 2, 3, 4, 5, 6}, 8, 9};
  const auto read = RoundTrip(arena);
  EXPECT_EQ(read.mapped_bytes, arena.mapped_bytes);
  EXPECT_EQ(read.input_slots, 8);
  EXPECT_EQ(read.output_slots, 9);
  EXPECT_EQ(read.workload.sizes, arena.workload.sizes);
  EXPECT_EQ(TaskId(read.task), TaskId(arena.task));
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
  const auto reply = ReplyFromText(ReplyToText(Reply{{1.25}, "choice"}));
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
  EXPECT_FALSE(CommandFromText(R"({"version": 1, "command": "check", "contender": 3})").ok());
  const auto other = CommandFromText(R"({"version": 2, "command": "start"})");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, ErrorCode::kVersion);
  EXPECT_FALSE(ReplyFromText(R"({"version": 1})").ok());
  EXPECT_FALSE(ReplyFromText("[1, 2]").ok());
}

TEST(Wire, RefusesABatchWithoutItsIdleTimes) {
  const SampleCommand sample{"candidate", Mode::kServer, 0x7e01, {}, {{4, 5, 6}}, {}, false};
  EXPECT_FALSE(CommandFromText(CommandToText(sample)).ok());
}

}  // namespace
}  // namespace warpsmith::judge
