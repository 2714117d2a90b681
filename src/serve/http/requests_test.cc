#include "serve/http/requests.h"

#include <gtest/gtest.h>

#include <map>

#include "core/serialize.h"
#include "core/tests/gemm_example.h"
#include "serve/http/service.h"
#include "store/tests/facts.h"

namespace warpsmith::serve {
namespace {

using nlohmann::json;

json WholeJobJson(const Protocol& protocol) {
  return {{"task", ToJson(store::TestTask())},
          {"workload", ToJson(store::TestWorkload())},
          {"candidate", ToJson(store::TestCandidate({"test", {{"x", 1}, {"y", 2}}}))},
          {"protocol", ToJson(protocol)}};
}

TEST(JobsRequest, IsRead) {
  const auto request = JobsRequestFrom(
      R"({"run":"r","task":"t","workload":"w","level":"certified","deadline_s":2,
          "candidates":[{"values":{"a":1}},{"source":"x"}]})");
  ASSERT_TRUE(request.ok()) << request.error().Line();
  EXPECT_EQ(request->run, "r");
  EXPECT_EQ(request->level, Level::kCertified);
  EXPECT_EQ(request->deadline_s, 2);
  ASSERT_EQ(request->asked.size(), 2U);
  EXPECT_EQ(request->asked[1].task, "t");
  EXPECT_EQ(request->asked[1].candidate["source"], "x");
}

TEST(JobsRequest, AWholeJobsKeyIsItsContents) {
  const json whole = {{"jobs", {WholeJobJson(Protocol::Screened())}}};
  const auto request = JobsRequestFrom(whole.dump());
  ASSERT_TRUE(request.ok()) << request.error().Line();
  const Job& job = request->jobs.at(0);
  EXPECT_EQ(job.key,
            MeasurementKey(store::TestCandidate({"test", {{"x", 1}, {"y", 2}}}), store::TestTask(),
                           store::TestWorkload(), Protocol::Screened()));
}

TEST(JobsRequest, AProtocolThatHoldsTheDeviceForeverIsRefused) {
  Protocol endless = Protocol::Screened();
  endless.measure_seconds = 1e9;
  Protocol many = Protocol::Screened();
  many.rounds = 1'000'000;
  for (const Protocol& protocol : {endless, many}) {
    EXPECT_FALSE(JobsRequestFrom(json{{"jobs", {WholeJobJson(protocol)}}}.dump()).ok());
  }
}

TEST(Requests, RefuseWhatTheyDoNotKnow) {
  const std::string deep = std::string(100'000, '[');
  const std::string many = [] {
    json samples = json::array();
    for (int i = 0; i < 257; ++i) samples.push_back({{"task", "t"}, {"completion", ""}});
    return json{{"samples", samples}}.dump();
  }();
  for (const std::string& bad : std::vector<std::string>{
           "", "null", "[]", "{", deep, many, R"({"samples":[]})", R"({"samples":[{"task":"t"}]})",
           R"({"samples":[{"task":1,"completion":""}]})",
           R"({"samples":[{"task":"t","completion":"","candidate":{}}]})",
           R"({"samples":[{"task":"t","completion":"","code":""}]})",
           R"({"samples":[{"task":"t","completion":""}],"deadline_s":-1})",
           R"({"samples":[{"task":"t","completion":""}],"deadline_s":"nan"})",
           R"({"samples":[{"task":"t","completion":""}],"reward":{"alpha":-1}})",
           R"({"samples":[{"task":"t","completion":""}],"reward":{"form":"x"}})",
           R"({"samples":[{"task":"t","completion":""}],"level":"best"})"}) {
    EXPECT_FALSE(RewardRequestFrom(bad, {}).ok()) << bad.substr(0, 80);
    EXPECT_FALSE(JobsRequestFrom(bad).ok()) << bad.substr(0, 80);
    EXPECT_FALSE(OpenRlhfRequestFrom(bad).ok()) << bad.substr(0, 80);
    EXPECT_FALSE(VerifyRequestFrom(bad).ok()) << bad.substr(0, 80);
  }
}

TEST(RewardRequest, TakesTheServersShapeWhereItSaysNothing) {
  const RewardShape usual{RewardForm::kLog, 0.5, 0, 4};
  const std::string samples = R"("samples":[{"task":"t","completion":"c","group":"g"}])";
  const auto plain = RewardRequestFrom("{" + samples + "}", usual);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->shape.form, RewardForm::kLog);
  EXPECT_EQ(plain->asked[0].group, "g");
  EXPECT_EQ(plain->deadline_s, kDeadlineSeconds);
  const auto own = RewardRequestFrom(R"({"reward":{"alpha":0.25},)" + samples + "}", usual);
  EXPECT_EQ(own->shape.alpha, 0.25);
  EXPECT_EQ(own->shape.clip, 4);
}

TEST(RewardRequest, TakesWhatATrainerKnowsItsSampleBy) {
  const std::string key(64, 'a');
  const auto read = RewardRequestFrom(R"({"samples":[{"task":"t","completion":"c","group":"g",
      "sample_id":"s","prompt_sha256":"p","logprob_sum":-12.5,"shown":[")" +
                                          key + R"("]}]})",
                                      {});
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(read->asked[0].sample_id, "s");
  EXPECT_EQ(read->asked[0].prompt_sha256, "p");
  EXPECT_EQ(read->asked[0].logprob_sum, -12.5);
  EXPECT_EQ(read->asked[0].shown, std::vector<std::string>{key});
  for (const char* bad : {R"("shown":["x"])", R"("shown":"x")", R"("logprob_sum":"x")"}) {
    const std::string body =
        R"({"samples":[{"task":"t","completion":"c",)" + std::string(bad) + "}]}";
    EXPECT_FALSE(RewardRequestFrom(body, {}).ok()) << bad;
  }
}

TEST(PromptRequest, HoldsToItsLimits) {
  const auto read = PromptRequestFrom(
      R"({"tasks":["softmax#odd","t"],"stage":3,"exemplars":5,"tau":0.5,"bucket":0.2,"seed":7,
          "from":"recording","documents":"d","level":"certified"})");
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(read->tasks[0].task, "softmax");
  EXPECT_EQ(read->tasks[0].workload, "odd");
  EXPECT_EQ(read->tasks[1].workload, "");
  EXPECT_EQ(read->rule.most, 5U);
  EXPECT_EQ(read->rule.tau, 0.5);
  EXPECT_EQ(read->seed, 7U);
  EXPECT_TRUE(read->draws_recorded);
  EXPECT_FALSE(PromptRequestFrom(R"({"tasks":["t"]})")->seed.has_value());
  EXPECT_EQ(PromptRequestFrom(R"({"task":"softmax#odd"})")->tasks[0].workload, "odd");
  for (const char* bad : {R"({})", R"({"task":["t"]})", R"({"task":"t","tasks":["t"]})",
                          R"({"tasks":[]})", R"({"tasks":[1]})", R"({"tasks":["t"],"stage":1})",
                          R"({"tasks":["t"],"exemplars":17})", R"({"tasks":["t"],"tau":0})",
                          R"({"tasks":["t"],"tau":-1})", R"({"tasks":["t"],"bucket":1e9})",
                          R"({"tasks":["t"],"seed":-1})", R"({"tasks":["t"],"seed":0.5})",
                          R"({"tasks":["t"],"from":"disk"})", R"({"tasks":["t"],"more":1})"}) {
    EXPECT_FALSE(PromptRequestFrom(bad).ok()) << bad;
  }
  const std::string body = R"({"tasks":["t"],"documents":")" + std::string(70'000, 'x') + "\"}";
  EXPECT_FALSE(PromptRequestFrom(body).ok());
}

TEST(WaitRequest, TakesKeysAndNothingElse) {
  const std::string key(64, 'a');
  const auto read = [](const std::string& target) {
    return WaitRequestFrom(ReadTarget(target).value());
  };
  EXPECT_EQ(read("/v1/jobs?keys=" + key + "," + key + "&wait=1e9")->wait_s, kMaxWaitSeconds);
  EXPECT_EQ(read("/v1/jobs?keys=" + key)->keys.size(), 1U);
  for (const std::string& bad :
       {std::string("/v1/jobs"), std::string("/v1/jobs?keys="), "/v1/jobs?keys=" + key + "x",
        "/v1/jobs?keys=" + key.substr(1) + "A", "/v1/jobs?keys=" + key + "&wait=-1",
        "/v1/jobs?keys=" + key + "&wait=x",
        "/v1/jobs?keys=" + key + "&wait=", "/v1/jobs?keys=" + key + "&why=1"}) {
    EXPECT_FALSE(read(bad).ok()) << bad;
  }
}

TEST(Dialects, AreRead) {
  const auto rlhf = OpenRlhfRequestFrom(
      R"({"query":["PROMPTreply"],"prompts":["PROMPT"],"labels":["task#small"],"more":1})");
  ASSERT_TRUE(rlhf.ok()) << rlhf.error().Line();
  EXPECT_EQ(rlhf->at(0).completion, "reply");
  EXPECT_EQ(rlhf->at(0).task, "task");
  EXPECT_EQ(rlhf->at(0).workload, "small");
  EXPECT_FALSE(OpenRlhfRequestFrom(R"({"query":["a","b"],"labels":["t"]})").ok());

  const auto nemo = VerifyRequestFrom(
      R"({"task":"t","id":7,"responses_create_params":{},"response":{"output":[
          {"type":"message","content":[{"type":"output_text","text":"old"}]},{"type":"reasoning"},
          {"type":"message","content":[{"text":"a"},{"text":"b"}]}]}})");
  ASSERT_TRUE(nemo.ok()) << nemo.error().Line();
  EXPECT_EQ(nemo->asked.completion, "ab");
  EXPECT_EQ(nemo->row["id"], 7);
  EXPECT_TRUE(nemo->row.contains("response"));
}

TEST(Signs, SayWhatTimeMayBeGainedBy) {
  const auto signs_of = [](const Verdict& verdict) {
    const GainSigns signs = SignsOf(GemmCandidate(), verdict);
    return std::map<std::string_view, double>(signs.begin(), signs.end());
  };
  Verdict verdict = GemmVerdict();
  Passed& passed = std::get<Passed>(verdict.outcome);
  passed.correctness = Correctness{};
  passed.correctness.worst_bound_fraction = 0.25;
  auto signs = signs_of(verdict);
  EXPECT_EQ(signs["launches"], GemmCandidate().plan.operations.size());
  EXPECT_EQ(signs["bound_share"], 0.25);
  EXPECT_EQ(signs["below_floor"] + signs["bias"] + signs["weak_check"], 0);
  passed.timings.front().modes.front().below_roofline = true;
  passed.correctness.bias.emplace().magnitude.value = -0.75;
  passed.correctness.degenerate = "zeros";
  signs = signs_of(verdict);
  EXPECT_EQ(signs["below_floor"], 1);
  EXPECT_EQ(signs["bias"], 0.75);
  EXPECT_EQ(signs["weak_check"], 1);
  EXPECT_TRUE(signs_of({Rejected{}, {}}).empty());
}

}  // namespace
}  // namespace warpsmith::serve
