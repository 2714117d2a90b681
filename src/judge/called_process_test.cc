// The oracle's end of a runner, against children that misbehave. They are this program, started
// again with "fake-runner <behaviour>".
#include "judge/called_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/file.h"
#include "base/frame.h"
#include "cuda/failure.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::milliseconds kPatient{20'000}, kShort{200};

void SendReply(int socket, const ReplyOrError& reply) {
  if (!SendFrame(socket, ReplyToText(reply)).ok()) _exit(1);
}

// Answers the start command well, then the next one as `behaviour` says.
int FakeRunner(std::string_view behaviour, int socket) {
  if (!ReceiveFrame(socket, kPatient).ok()) return 1;
  if (behaviour == "never-starts") pause();
  if (behaviour == "fails-to-start") {
    SendReply(socket, Error{ErrorCode::kUnavailable, "no such device", ""});
    pause();
  }
  SendReply(socket, Reply{});
  if (!ReceiveFrame(socket, kPatient).ok()) return 1;
  if (behaviour == "answers") SendReply(socket, Reply{{1.5, 2.5}, "text", "", 0});
  if (behaviour == "cuda-fault") {
    SendReply(socket, cuda::ErrorFrom({"cuCtxSynchronize", "CUDA_ERROR_ILLEGAL_ADDRESS",
                                       "an illegal memory access", "stream 1"}));
  }
  if (behaviour == "refused-launch") {
    SendReply(socket, cuda::ErrorFrom({"cuLaunchKernelEx", "CUDA_ERROR_INVALID_VALUE",
                                       "invalid argument", "kernel 'x'"}));
  }
  if (behaviour == "bad-plan") {
    SendReply(socket, Error{ErrorCode::kBadInput, "operations[0].grid: overflow", ""});
  }
  if (behaviour == "dies-mid-frame") {
    const std::string_view half = "WSF1\x20\x00";
    if (write(socket, half.data(), half.size()) < 0) return 1;
    return 0;
  }
  if (behaviour == "garbage") {
    const std::string_view garbage = "HTTP/1.1 200 OK\r\n\r\nhello";
    if (write(socket, garbage.data(), garbage.size()) < 0) return 1;
  }
  if (behaviour == "not-json") (void)SendFrame(socket, "{\"version\": 1, ");
  if (behaviour == "wrong-fields") (void)SendFrame(socket, R"({"version": 1, "elapsed_us": "x"})");
  if (behaviour == "exits") return 3;
  if (behaviour == "aborts") std::abort();
  pause();  // "hangs", and whoever has answered
  return 0;
}

std::unique_ptr<CalledProcess> StartFake(const std::string& behaviour) {
  ProcessOptions options;
  options.argv = {ThisExecutable().string(), "fake-runner", behaviour};
  auto runner = CalledProcess::Start(options);
  EXPECT_TRUE(runner.ok());
  return std::move(runner).value();
}

const Command kAnyCommand = CheckCommand{"candidate", 0x7e01};

Outcome OutcomeWith(const std::string& behaviour, std::chrono::milliseconds limit) {
  const auto runner = StartFake(behaviour);
  return runner->OutcomeOf(runner->Call(kAnyCommand, limit), "check");
}

TEST(CalledProcess, HandsBackAReply) {
  const auto runner = StartFake("answers");
  const CallResult call = runner->Call(kAnyCommand, kPatient);
  const auto* reply = std::get_if<Reply>(&call);
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->elapsed_us, (std::vector<double>{1.5, 2.5}));
  EXPECT_EQ(reply->text, "text");
  EXPECT_TRUE(runner->alive());
}

TEST(CalledProcess, KillsOneThatHangsInTime) {
  const auto runner = StartFake("hangs");
  ASSERT_TRUE(runner->AwaitReady(kPatient).ok());
  const double begin = MonotonicSeconds();
  const Outcome outcome = runner->OutcomeOf(runner->Call(kAnyCommand, kShort), "check");
  EXPECT_LT(MonotonicSeconds() - begin, 5);
  const auto* late = std::get_if<TimedOut>(&outcome);
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->limit_ms, kShort.count());
  EXPECT_EQ(late->step, "check");
  EXPECT_FALSE(runner->alive());
}

TEST(CalledProcess, CallsACudaFaultTheCandidates) {
  const auto runner = StartFake("cuda-fault");
  const Outcome outcome = runner->OutcomeOf(runner->Call(kAnyCommand, kPatient), "check");
  const auto* failed = std::get_if<RunFailed>(&outcome);
  ASSERT_NE(failed, nullptr);
  EXPECT_EQ(failed->call, "cuCtxSynchronize");
  EXPECT_EQ(failed->code, "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_FALSE(runner->alive()) << "its context is lost";
}

TEST(CalledProcess, KeepsOneWhoseLaunchWasMerelyRefused) {
  const auto runner = StartFake("refused-launch");
  const Outcome outcome = runner->OutcomeOf(runner->Call(kAnyCommand, kPatient), "check");
  EXPECT_TRUE(std::holds_alternative<RunFailed>(outcome));
  EXPECT_TRUE(runner->alive());
}

TEST(CalledProcess, RejectsAPlanThatDoesNotFit) {
  const Outcome outcome = OutcomeWith("bad-plan", kPatient);
  const auto* rejected = std::get_if<Rejected>(&outcome);
  ASSERT_NE(rejected, nullptr);
  EXPECT_EQ(rejected->rule, "plan");
}

class BrokenRunner : public testing::TestWithParam<const char*> {};

TEST_P(BrokenRunner, HasFailedAndIsGone) {
  const auto runner = StartFake(GetParam());
  const Outcome outcome = runner->OutcomeOf(runner->Call(kAnyCommand, kPatient), "check");
  const auto* failed = std::get_if<RunFailed>(&outcome);
  ASSERT_NE(failed, nullptr) << Describe(outcome);
  EXPECT_EQ(failed->code, "RUNNER_DIED");
  EXPECT_FALSE(runner->alive());
  EXPECT_TRUE(std::holds_alternative<CallDied>(runner->Call(kAnyCommand, kShort)));
}

INSTANTIATE_TEST_SUITE_P(Ways, BrokenRunner,
                         testing::Values("dies-mid-frame", "garbage", "not-json", "wrong-fields",
                                         "exits", "aborts"));

TEST(CalledProcess, SaysWhyOneDidNotStart) {
  const auto runner = StartFake("fails-to-start");
  const Status ready = runner->AwaitReady(kPatient);
  ASSERT_FALSE(ready.ok());
  EXPECT_EQ(ready.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(StartFake("never-starts")->AwaitReady(kShort).ok());
}

TEST(RunnerPool, GivesOneThatStartsBesideOthers) {
  RunnerPool pool({{ThisExecutable().string(), "fake-runner", "answers"}, {}});
  ASSERT_TRUE(pool.Prepare(2).ok());
  const auto first = pool.Next();
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE((*first)->AwaitReady(kPatient).ok());
  EXPECT_TRUE(pool.Settle().ok());
  EXPECT_NE(*pool.Next(), nullptr);
  EXPECT_TRUE((*pool.Next())->AwaitReady(kPatient).ok()) << "none was left: it starts another";
}

TEST(RunnerPool, ForgetsOneThatDidNotStart) {
  RunnerPool pool({{ThisExecutable().string(), "fake-runner", "fails-to-start"}, {}});
  EXPECT_FALSE(pool.Take().ok());
  ASSERT_TRUE(pool.Prepare(1).ok());
  EXPECT_FALSE(pool.Settle().ok());
  EXPECT_TRUE(pool.Settle().ok());
}

TEST(RunnerPool, HandsOutReadyRunners) {
  RunnerPool pool({{ThisExecutable().string(), "fake-runner", "answers"}, {}});
  ASSERT_TRUE(pool.Prepare(2).ok());
  auto first = pool.Take(), second = pool.Take(), third = pool.Take();
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  EXPECT_TRUE(std::holds_alternative<Reply>((*third)->Call(kAnyCommand, kPatient)));
}

}  // namespace
}  // namespace warpsmith::judge

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "fake-runner") {
    return warpsmith::judge::FakeRunner(argv[2], std::atoi(argv[3]));
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
