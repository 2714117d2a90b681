#include "search/machine/served_device.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/tests/scripted_server.h"
#include "core/serialize.h"
#include "search/session.h"
#include "store/tests/facts.h"

namespace warpsmith::search {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::Not;

const Point kPoint{"test", {{"x", 1}, {"y", 2}}};

Answer Says(int status, const json& body, const std::string& headers = "") {
  return {{Http(status, headers, body.dump())}};
}
Answer Lost() { return {{"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"}}; }
Answer Facts(int protocol = kServeProtocolVersion) {
  DeviceInfo info = store::TestDevice();
  info.origin = "local";
  return Says(200, {{"protocol", protocol}, {"device", ToJson(info)}});
}
Answer TakenOn(const std::string& key) { return Says(202, {{"keys", {key}}}); }
Answer State(const std::string& key, const std::string& state) {
  return Says(200, {{"jobs", {{{"key", key}, {"state", state}}}}});
}
Answer Done(const std::string& key) {
  return Says(200, {{"jobs",
                     {{{"key", key},
                       {"state", "done"},
                       {"verdict", ToJson(store::TestVerdict(kPoint, 4))},
                       {"gpu_seconds", 0.5}}}}});
}

class ServedDeviceTest : public testing::Test {
 protected:
  void SetUp() override { setenv("no_proxy", "*", 1); }  // no proxy comes between

  static Result<std::unique_ptr<ServedDevice>> Connect(const ScriptedServer& server,
                                                       const std::string& token_file = "") {
    ServerOptions options;
    options.url = server.url() + "/";
    options.token_file = token_file;
    options.patience = milliseconds(20'000);
    options.first_patience = milliseconds(1);
    return ServedDevice::Connect(options);
  }
  static Result<Judged> Judge(ServedDevice& device) {
    Session session({store::TestTask(), store::TestWorkload(), Protocol::Screened()}, {device});
    return session.Evaluate(store::TestCandidate(kPoint));
  }
  static Error ErrorAfter(Answer answer) {
    const ScriptedServer server({Facts(), std::move(answer)});
    const auto device = Connect(server);
    EXPECT_TRUE(device.ok());
    const auto judged = Judge(**device);
    EXPECT_FALSE(judged.ok());
    return judged.ok() ? Error{} : judged.error();
  }

  const std::string key_ = store::TestJob(kPoint).key;
};

TEST_F(ServedDeviceTest, BringsTheServersVerdictAndNeedsNoCompiler) {
  const ScriptedServer server({Facts(), TakenOn(key_), State(key_, "running"), Done(key_)});
  const auto device = Connect(server).value();
  EXPECT_EQ((device)->Info().name, store::TestDevice().name);
  EXPECT_EQ((device)->Info().origin, "local");
  EXPECT_FALSE((device)->Info().needs_artifacts);
  EXPECT_EQ((device)->recorded(), nullptr);
  const auto judged = Judge(*device).value();
  EXPECT_EQ(judged.key, key_);
  EXPECT_EQ(ToJson(judged.step.verdict), ToJson(store::TestVerdict(kPoint, 4)));
  EXPECT_EQ(judged.step.cost.gpu_seconds, 0.5);
  const std::vector<std::string> requests = server.requests();
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_THAT(requests[0], HasSubstr("GET /v1/device "));
  EXPECT_THAT(requests[1], HasSubstr("POST /v1/jobs "));
  EXPECT_THAT(requests[2], HasSubstr("GET /v1/jobs?keys=" + key_ + "&wait=0."));
}

TEST_F(ServedDeviceTest, SendsTheSameAgainWhereAnAnswerWasLost) {
  const ScriptedServer server({Facts(), Lost(), TakenOn(key_), Lost(), Done(key_)});
  const auto device = Connect(server);
  ASSERT_TRUE(device.ok());
  ASSERT_TRUE(Judge(**device).ok());
  const std::vector<std::string> requests = server.requests();
  ASSERT_EQ(requests.size(), 5U);
  EXPECT_EQ(requests[1], requests[2]);
}

TEST_F(ServedDeviceTest, WaitsAsLongAsABusyServerAsks) {
  const ScriptedServer server(
      {Facts(), Says(429, {{"error", {{"message", "full"}}}}, "Retry-After-Ms: 600\r\n"),
       Says(503, {{"error", {{"message", "draining"}}}}), TakenOn(key_), Done(key_)});
  const auto device = Connect(server);
  ASSERT_TRUE(device.ok());
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(Judge(**device).ok());
  EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(600));
}

TEST_F(ServedDeviceTest, GivesAServerWithAnotherStoreTheJobAgain) {
  const ScriptedServer server(
      {Facts(), TakenOn(key_), State(key_, "unknown"), TakenOn(key_), Done(key_)});
  const auto device = Connect(server);
  ASSERT_TRUE(device.ok());
  ASSERT_TRUE(Judge(**device).ok());
  EXPECT_THAT(server.requests()[3], HasSubstr("POST /v1/jobs "));
}

TEST_F(ServedDeviceTest, ReplaysAskForWhatIsRecorded) {
  const auto folder = TemporaryDirectory::Create("served").value();
  const auto path = folder.path() / "r.wsrec";
  ASSERT_TRUE(store::WriteTestRecording(path, 2).ok());
  DeviceInfo info = store::TestDevice();
  info.needs_artifacts = false;
  info.origin = "r.wsrec";
  const Answer facts =
      Says(200, {{"protocol", 1}, {"device", ToJson(info)}, {"recordings", {"r.wsrec"}}});
  const ScriptedServer server({facts, Answer{{Http(200, "", ReadFile(path).value())}}});
  const auto device = Connect(server).value();
  ASSERT_NE((device)->recorded(), nullptr);
  EXPECT_EQ((device)->recorded()->Spaces().size(), 1U);
  // (1, 2) is no point of it: the server is not asked, and the error is a replay's.
  const auto judged = Judge(*device);
  ASSERT_FALSE(judged.ok());
  EXPECT_EQ(judged.error().code, ErrorCode::kNotRecorded);
  EXPECT_THAT(judged.error().message, HasSubstr("r.wsrec holds no verdict"));
  EXPECT_EQ(server.requests().size(), 2U);
}

TEST_F(ServedDeviceTest, SaysInOneLineWhatIsWrong) {
  const Error other = Connect(ScriptedServer({Facts(2)})).error();
  EXPECT_EQ(other.code, ErrorCode::kVersion);
  EXPECT_EQ(other.message, "the server speaks protocol 2, this warpsmith speaks 1");
  EXPECT_EQ(Connect(ScriptedServer({Says(404, json::object())})).error().code, ErrorCode::kVersion);
  EXPECT_EQ(Connect(ScriptedServer({Answer{{Http(200, "", "<html>")}}})).error().code,
            ErrorCode::kBadInput);
  EXPECT_EQ(Connect(ScriptedServer({Lost()})).error().code, ErrorCode::kUnavailable);
  ServerOptions away;
  away.url = "http://192.0.2.1:8321";
  EXPECT_EQ(ServedDevice::Connect(away).error().code, ErrorCode::kConfig);
  const Error keys = ErrorAfter(TakenOn(std::string(64, '0')));
  EXPECT_EQ(keys.code, ErrorCode::kVersion);
  const Error task =
      ErrorAfter(Says(400, {{"error", {{"message", "task \"gemm\" is not\nthis server's"}}}}));
  EXPECT_EQ(task.code, ErrorCode::kBadInput);
  EXPECT_THAT(task.message, HasSubstr("answered 400: task \"gemm\" is not?this server's"));
}

TEST_F(ServedDeviceTest, TheTokenIsSentAndNeverShown) {
  const auto folder = TemporaryDirectory::Create("served").value();
  const std::string token = "0123456789abcdef", path = (folder.path() / "token").string();
  ASSERT_TRUE(WriteFileAtomic(path, token + "\n").ok());
  const ScriptedServer server({Says(401, {{"error", {{"message", "not " + token}}}})});
  const auto refused = Connect(server, path);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kPermission);
  EXPECT_THAT(refused.error().Line(), Not(HasSubstr(token)));
  EXPECT_THAT(refused.error().Line(), HasSubstr(path));
  EXPECT_THAT(server.requests()[0], HasSubstr("Authorization: Bearer " + token));
  const auto without = Connect(server);
  ASSERT_FALSE(without.ok());
  EXPECT_THAT(without.error().fix, HasSubstr("--token-file"));
}

TEST_F(ServedDeviceTest, AfterARefusalNothingIsLeftOver) {
  const ScriptedServer server(
      {Facts(), Says(400, {{"error", {{"message", "no"}}}}), TakenOn(key_), Done(key_)});
  const auto device = Connect(server);
  ASSERT_TRUE(device.ok());
  EXPECT_FALSE(Judge(**device).ok());
  EXPECT_TRUE(Judge(**device).ok());
}

// Whatever a server says, its answers are read or refused.
TEST(ServedAnswers, DamagedOnesAreRefused) {
  const std::vector<std::string> whole = {
      json{{"protocol", 1}, {"device", ToJson(store::TestDevice())}, {"recordings", {"r"}}}.dump(),
      json{{"jobs",
            {{{"key", "k"},
              {"state", "done"},
              {"verdict", ToJson(store::TestVerdict(kPoint, 4))},
              {"gpu_seconds", 0.5}}}}}
          .dump(),
      json{{"source", "ncu"}, {"kernels", {{{"kernel", "k"}, {"metrics", {{"cycles", 1}}}}}}}
          .dump(),
      json{{"error", {{"message", "no\x1b[2J"}}}}.dump()};
  EXPECT_TRUE(ServerFactsFrom(whole[0]).ok());
  EXPECT_TRUE(JobStatesFrom(whole[1]).ok());
  EXPECT_TRUE(ServedProfileFrom(whole[2]).ok());
  EXPECT_EQ(ServerSaid(whole[3]), "no?[2J");
  for (const std::string& text : whole) {
    for (size_t at = 0; at < text.size(); at += 7) {
      for (std::string bad : {text.substr(0, at), text}) {
        if (bad.size() == text.size()) bad[at] = bad[at] == '"' ? '[' : '"';
        EXPECT_FALSE(ServerFactsFrom(bad).ok() && bad.size() < text.size());
        EXPECT_FALSE(JobStatesFrom(bad).ok() && bad.size() < text.size());
        (void)KeysFrom(bad);
        (void)ServedProfileFrom(bad);
        (void)ServerSaid(bad);
      }
    }
  }
  const auto state = [](const json& job) {
    return JobStatesFrom(json{{"jobs", {job}}}.dump()).ok();
  };
  EXPECT_TRUE(state({{"key", "k"}, {"state", "queued"}}));
  EXPECT_FALSE(state({{"key", "k"}, {"state", "won"}}));
  EXPECT_FALSE(state({{"key", "k"}, {"state", "done"}}));
}

}  // namespace
}  // namespace warpsmith::search
