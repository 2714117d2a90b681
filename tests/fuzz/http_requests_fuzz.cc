// What clients of `warpsmith serve` send: a target on the first line, a body behind it; and what
// servers answer, the body. Whatever it is, the readers end, keep to their limits, and give whole
// jobs the keys of their contents.
#include "core/reward.h"
#include "fuzz.h"
#include "search/machine/served_device.h"
#include "serve/http/access.h"
#include "serve/http/requests.h"

using namespace warpsmith;

namespace {

void CheckShape(const RewardShape& shape) { CHECK(CheckRewardShape(shape).ok()); }

void CheckSizes(const std::vector<serve::Asked>& asked) {
  CHECK(!asked.empty() && asked.size() <= serve::kMaxBatch);
}

void ReadAnswer(std::string_view body) {
  if (const auto facts = search::ServerFactsFrom(body); facts.ok()) {
    CHECK(facts->recordings.size() <= 1000);
  }
  if (const auto states = search::JobStatesFrom(body); states.ok()) {
    for (const search::ServedJobState& state : *states) {
      CHECK(state.completed.has_value() == (state.state == "done"));
      CHECK(!state.completed || state.completed->gpu_seconds >= 0);
    }
  }
  (void)search::KeysFrom(body);
  (void)search::ServedProfileFrom(body);
  for (const char c : search::ServerSaid(body)) CHECK(c != '\n' && c != '\x1b');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [line, body] = fuzz::CutLine(fuzz::TextOf(data, size));
  ReadAnswer(body);
  if (const auto target = serve::ReadTarget(line); target.ok()) {
    for (const char c : target->path) CHECK(static_cast<unsigned char>(c) >= 0x20);
    if (const auto wait = serve::WaitRequestFrom(*target); wait.ok()) {
      CHECK(wait->keys.size() <= serve::kMaxBatch && wait->wait_s <= serve::kMaxWaitSeconds);
      for (const std::string& key : wait->keys) CHECK(key.size() == 64);
    }
  }
  (void)serve::IsOwnHost(line, {"judge"});
  (void)serve::BearerToken(line);
  (void)serve::ReadListenAddress(line);
  if (const auto shape = ParseRewardShape(line); shape.ok()) CheckShape(*shape);
  if (const auto jobs = serve::JobsRequestFrom(body); jobs.ok()) {
    CHECK(jobs->asked.empty() != jobs->jobs.empty());
    for (const Job& job : jobs->jobs) {
      CHECK(job.key == MeasurementKey(job.candidate, job.task, job.workload, job.protocol));
    }
  }
  if (const auto reward = serve::RewardRequestFrom(body, {}); reward.ok()) {
    CheckShape(reward->shape);
    CheckSizes(reward->asked);
  }
  if (const auto again = serve::RescoreRequestFrom(body, {}); again.ok()) CheckShape(again->shape);
  if (const auto rlhf = serve::OpenRlhfRequestFrom(body); rlhf.ok()) CheckSizes(*rlhf);
  if (const auto nemo = serve::VerifyRequestFrom(body); nemo.ok()) {
    CHECK(nemo->asked.completion.has_value());
  }
  (void)serve::ProfileRequestFrom(body);
  if (const auto prompt = serve::PromptRequestFrom(body); prompt.ok()) {
    CHECK(!prompt->tasks.empty() && prompt->tasks.size() <= serve::kMaxBatch);
    CHECK(prompt->rule.tau > 0 && prompt->rule.bucket > 0);
  }
  return 0;
}
