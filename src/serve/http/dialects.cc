// The same rewards in the words of others: OpenRLHF 0.11's remote reward, NeMo Gym 0.7's resources
// server (which verifiers and prime-rl speak, too).
#include "serve/http/service.h"

namespace warpsmith::serve {

using nlohmann::json;

// There is no word for "could not be measured": such a request is refused, to be asked again.
void Service::PostGetReward(const Target&, const HttpRequest& request, const Respond& respond) {
  const auto read = OpenRlhfRequestFrom(request.body);
  if (!read.ok()) return respond(Failure(read.error()));
  const auto batch = std::make_shared<Batch>();
  batch->shape = options_.reward;
  batch->answer = [this](const std::vector<json>& rewards) {
    json values = json::array();
    json logs = json::object();
    for (const json& reward : rewards) {
      if (reward["reward"].is_null()) {
        HttpResponse response = ErrorResponse(503, "inconclusive", reward["words"]);
        response.retry_after_s = queue_.RetryAfterSeconds();
        return response;
      }
      values.push_back(reward["reward"]);
    }
    if (rewards.size() == 1) {
      for (const auto& [name, value] : rewards.front()["terms"].items()) logs[name] = value;
      if (rewards.front().contains("ratio")) logs["ratio"] = rewards.front()["ratio"];
      values = values.front();
    }
    const json answer = {{"rewards", values}, {"scores", values}, {"extra_logs", logs}};
    return JsonResponse(answer);
  };
  Reward("openrlhf", Level::kScreened, kDeadlineSeconds, *read, batch, respond);
}

void Service::PostVerify(const Target&, const HttpRequest& request, const Respond& respond) {
  auto read = VerifyRequestFrom(request.body);
  if (!read.ok()) return respond(Failure(read.error()));
  const auto batch = std::make_shared<Batch>();
  batch->shape = options_.reward;
  batch->answer = [row = std::move(read->row)](const std::vector<json>& rewards) {
    const json& reward = rewards.front();
    const bool is_masked = reward["reward"].is_null();
    json answer = row;
    answer["reward"] = is_masked ? json(0.0) : reward["reward"];
    answer["mask_sample"] = is_masked;
    const bool has_passed = reward["outcome"] == "passed";
    answer["failure_kind"] = has_passed ? json() : reward["outcome"];
    answer["failure_reason"] = has_passed ? json() : reward["words"];
    for (const auto& [name, value] : reward["terms"].items()) answer[name] = value;
    if (reward.contains("ratio")) {
      answer["ratio"] = reward["ratio"];
      answer["interval_lo"] = reward["interval"][0];
      answer["interval_hi"] = reward["interval"][1];
    }
    return JsonResponse(answer);
  };
  Reward("nemo-gym", Level::kScreened, kDeadlineSeconds, {read->asked}, batch, respond);
}

// Nothing is kept between requests.
void Service::PostSession(const Target&, const HttpRequest&, const Respond& respond) {
  respond({200, "{}"});
}

void Service::GetReverifyMode(const Target&, const HttpRequest&, const Respond& respond) {
  respond({200, R"({"mode":"stateless"})"});
}

}  // namespace warpsmith::serve
