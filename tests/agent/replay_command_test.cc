// A recorded run that is replayed and recorded again gives the same file: the same trajectory, bit
// for bit, with nobody to ask and no GPU. True of the real runs that come with the program, and of
// scripted ones that end in each of the ways in which runs end.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/compression.h"
#include "base/file.h"
#include "commands.h"
#include "recorded_world.h"

namespace warpsmith::cli {
namespace {

// At least so many recordings lie in data/recordings/agent, each of at least so many steps.
constexpr size_t kShippedRuns = 3;
constexpr int64_t kStepsOfAShippedRun = 20;

int RunProgram(std::vector<std::string> words) {
  words.insert(words.begin(), "warpsmith");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  return Main(static_cast<int>(words.size()), arguments.data());
}

// Where two texts part, with what each says there; empty: they are the same.
std::string Difference(const std::string& a, const std::string& b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (in_a == a.end() && in_b == b.end()) return "";
  constexpr size_t kBefore = 60, kShown = 240;
  const auto at = static_cast<size_t>(in_a - a.begin());
  const size_t from = at - std::min(at, kBefore);
  return "line " + std::to_string(1 + std::count(a.begin(), in_a, '\n')) + "\n  recorded ..." +
         a.substr(from, kShown) + "\n  replayed ..." + b.substr(from, kShown);
}

class ReplayCommandTest : public testing::Test {
 protected:
  std::filesystem::path At(const std::string& name) const { return folder_.path() / name; }

  // Replays the recording on the task that it is of, recording that as `again`.
  void Replay(const std::filesystem::path& recording, const std::string& task,
              const std::filesystem::path& again) const {
    ReplayWith(again.string() + ".db", recording, task, again);
  }
  void ReplayWith(const std::filesystem::path& store, const std::filesystem::path& recording,
                  const std::string& task, const std::filesystem::path& again) const {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int status = RunProgram({"optimize", task, "--proposer", "agent", "--model",
                                   "recorded:" + recording.string(), "--device", recording.string(),
                                   "--record", again.string(), "--store", store.string()});
    testing::internal::GetCapturedStdout();
    const std::string told = testing::internal::GetCapturedStderr();
    ASSERT_EQ(status, 0) << recording << ": " << told;
  }

  // What is compared of a shipped recording is what its compressed frame holds: the frame's own
  // bytes depend on the version of zstd.
  static std::string ContentOf(const std::filesystem::path& recording) {
    return Decompress(recording.string(), ReadFile(recording).value()).value();
  }

  void ExpectExactReplay(RecordedWorld& run, const std::string& name) const {
    const std::filesystem::path first = At(name + ".wsrec"), again = At(name + "-again.wsrec");
    const Status recorded = run.Record(first);
    ASSERT_TRUE(recorded.ok()) << name << ": " << recorded.error().Line();
    Replay(first, kScriptedTask, again);
    if (HasFatalFailure()) return;
    EXPECT_EQ(Difference(ContentOf(first), ContentOf(again)), "") << name;
    EXPECT_TRUE(ReadFile(again).value() == ReadFile(first).value()) << name;
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create("replay").value();
};

TEST_F(ReplayCommandTest, ShippedRunsReplayToTheSameBytes) {
  std::vector<std::filesystem::path> recordings;
  if (const auto shipped = FindShippedFile("data/recordings/agent"); shipped.ok()) {
    for (const auto& entry : std::filesystem::directory_iterator(*shipped)) {
      if (entry.path().extension() == ".wsrec") recordings.push_back(entry.path());
    }
  }
  EXPECT_GE(recordings.size(), kShippedRuns);
  for (const std::filesystem::path& recording : recordings) {
    const std::string name = recording.stem();
    const auto task = FindShippedFile("tasks/" + name);
    ASSERT_TRUE(task.ok()) << recording << " is named after no task in tasks/";
    const auto runs = agent::RecordedRuns(*store::RecordedDevice::Open(recording).value());
    ASSERT_TRUE(runs.ok()) << runs.error().Line();
    EXPECT_GE(runs->front().steps, kStepsOfAShippedRun) << recording;
    Replay(recording, task->string(), At(name + ".wsrec"));
    if (HasFatalFailure()) return;
    EXPECT_EQ(Difference(ContentOf(recording), ContentOf(At(name + ".wsrec"))), "") << recording;
  }
  if (recordings.empty()) GTEST_SKIP() << "no recorded run is shipped yet";
}

TEST_F(ReplayCommandTest, OneThatItsEvaluationsEnded) {
  for (const int64_t evaluations : {7, 8, 24}) {
    RecordedWorld run;
    run.world.budget.evaluations = evaluations;
    ExpectExactReplay(run, "evals-" + std::to_string(evaluations));
  }
}

// A replay knows neither the budget nor the prices.
TEST_F(ReplayCommandTest, OneThatTokensOrMoneyEnded) {
  for (const int64_t tokens : {5'000, 20'000, 23'000, 30'000}) {
    RecordedWorld run;
    run.world.budget.tokens = tokens;
    ExpectExactReplay(run, "tokens-" + std::to_string(tokens));
  }
  RecordedWorld run;
  run.world.price = [](const std::string& role, const ChatUsage& usage) -> std::optional<double> {
    const double each = role == "lowering" ? 1e-3 : 1e-4;
    return each * static_cast<double>(usage.prompt_tokens + usage.completion_tokens);
  };
  run.world.budget.money = 20;
  ExpectExactReplay(run, "money");
}

// Stopped at any place within a round, and between two, where the next was asked for already.
TEST_F(ReplayCommandTest, OneThatTimeEnded) {
  for (int verdicts = 2; verdicts < 9; ++verdicts) {  // of 0.25 s each
    RecordedWorld run;
    run.world.budget.gpu_seconds = 0.25 * verdicts + 0.1;
    ExpectExactReplay(run, "gpu-" + std::to_string(verdicts));
  }
}

// Kernels that pass get verdicts of an H200, with all their samples and evidence.
TEST_F(ReplayCommandTest, OneWithRealVerdicts) {
  const auto real =
      store::Recording::Read(FindShippedFile("data/recordings/h200-hgemm.wsrec").value()).value();
  std::map<Level, std::vector<std::string>> keys;
  for (const store::LineStart& start : real->verdict_starts()) {
    keys[real->protocols()[static_cast<size_t>(start.protocol)].level].emplace_back(start.name);
  }
  RecordedWorld run;
  run.world.budget.evaluations = 24;
  run.world.judge = [&](const Job& job) {
    Verdict verdict = agent::VerdictIn(job);
    if (!std::holds_alternative<Passed>(verdict.outcome)) return verdict;
    const std::vector<std::string>& some = keys.at(job.protocol.level);
    const size_t at = std::stoul(job.key.substr(0, 8), nullptr, 16) % some.size();
    return real->ReadVerdict(some[at]).value().verdict;
  };
  ExpectExactReplay(run, "real-verdicts");
}

// Before anything that costs something: a run's file is written when all of it is over.
TEST_F(ReplayCommandTest, AFileThatIsThereIsRefusedAtOnce) {
  RecordedWorld run;
  const std::string recording = At("run.wsrec");
  ASSERT_TRUE(run.Record(recording).ok());
  testing::internal::CaptureStderr();
  const int status = RunProgram({"optimize", kScriptedTask, "--proposer", "agent", "--model",
                                 "recorded:" + recording, "--device", recording, "--record",
                                 recording, "--run", "mine", "--store", At("store.db")});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("run.wsrec is there already"));
  EXPECT_EQ(status, 78);
  const auto store = store::DatabaseStore::Open(At("store.db"), store::Durability::kProcessDeath);
  ASSERT_TRUE(store.ok()) << store.error().Line();
  EXPECT_FALSE((*store)->FindRun("mine").value().has_value());
}

// The store knows every verdict then, and takes none from the recording.
TEST_F(ReplayCommandTest, OneThatWasReplayedIntoThisStoreBefore) {
  RecordedWorld run;
  ASSERT_TRUE(run.Record(At("run.wsrec")).ok());
  for (const char* again : {"first.wsrec", "second.wsrec"}) {
    ReplayWith(At("store.db"), At("run.wsrec"), kScriptedTask, At(again));
    EXPECT_EQ(Difference(ContentOf(At("run.wsrec")), ContentOf(At(again))), "") << again;
  }
}

TEST_F(ReplayCommandTest, ARecordingWithoutItsEndIsOneThatEvaluationsEnded) {
  RecordedWorld run;
  const agent::World::End end = run.world.Go("old");
  std::vector<agent::JudgedStep> steps;
  for (const Step& step : end.steps) steps.push_back({step, Protocol::Screened()});
  ASSERT_TRUE(
      agent::RecordRun(At("old.wsrec"), run.world.Request().run, steps, end.memos, nullptr).ok());
  Replay(At("old.wsrec"), kScriptedTask, At("again.wsrec"));
  EXPECT_EQ(Difference(ContentOf(At("old.wsrec")), ContentOf(At("again.wsrec"))), "");
}

}  // namespace
}  // namespace warpsmith::cli
