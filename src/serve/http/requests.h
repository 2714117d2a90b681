// What clients ask, as values: the protocol's readers. They refuse what they do not know, because a
// misspelt field must not be silently ignored. openapi.json describes them.
#ifndef WARPSMITH_SERVE_HTTP_REQUESTS_H_
#define WARPSMITH_SERVE_HTTP_REQUESTS_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/prompts/prompt_values.h"
#include "base/result.h"
#include "core/device.h"
#include "core/reward.h"
#include "serve/http/access.h"

namespace warpsmith::serve {

inline constexpr size_t kMaxBatch = 256;
inline constexpr size_t kMaxBodyBytes = size_t{4} << 20;
inline constexpr double kMaxDeadlineSeconds = 600, kDeadlineSeconds = 170;
inline constexpr double kMaxWaitSeconds = 60;

// What is asked to be judged, before it is looked up what task that is.
struct Asked {
  std::string task, workload;
  std::optional<std::string> completion;  // a model's reply; else `candidate`
  nlohmann::json candidate;
  std::string group;
  // What a trainer knows its sample by; kept with what came of it. Empty: not given.
  std::string sample_id, prompt_sha256;
  std::optional<double> logprob_sum;
  // Keys of the variants in its prompt: a copy of one gains nothing.
  std::vector<std::string> shown;
};

struct JobsRequest {
  std::string run;
  std::optional<double> deadline_s;
  Level level = Level::kScreened;
  std::vector<Asked> asked;
  std::vector<Job> jobs;  // whole ones, instead of `asked`
};
Result<JobsRequest> JobsRequestFrom(std::string_view body);

struct RewardRequest {
  std::string run;
  double deadline_s = kDeadlineSeconds;
  Level level = Level::kScreened;
  RewardShape shape;
  std::vector<Asked> asked;
};
// `usual`: the shape where the request gives none, and of the fields that it leaves out.
Result<RewardRequest> RewardRequestFrom(std::string_view body, const RewardShape& usual);

// One prompt, for one of the tasks.
struct PromptRequest {
  struct Wanted {
    std::string task, workload;
  };
  std::vector<Wanted> tasks;  // at least one; of several the server chooses by their difficulty
  Level level = Level::kScreened;
  int stage = 2;  // 3: with a profile of the best variant
  prompts::ExemplarRule rule;
  std::optional<uint64_t> seed;  // none: another draw each time
  bool draws_recorded = false;   // from a recorded space, not from samples
  std::string documents;         // passages to show
};
Result<PromptRequest> PromptRequestFrom(std::string_view body);

struct RescoreRequest {
  RewardShape shape;
  std::vector<std::string> keys;
};
Result<RescoreRequest> RescoreRequestFrom(std::string_view body, const RewardShape& usual);

struct WaitRequest {
  std::vector<std::string> keys;
  double wait_s = 0;
};
Result<WaitRequest> WaitRequestFrom(const Target& target);

// {"task", "workload"?, "candidate"}, or {"job": a whole one}
struct ProfileRequest {
  std::optional<Job> job;
  Asked asked;
};
Result<ProfileRequest> ProfileRequestFrom(std::string_view body);

// OpenRLHF's {"query", "prompts", "labels"}: a label is "TASK" or "TASK#WORKLOAD".
Result<std::vector<Asked>> OpenRlhfRequestFrom(std::string_view body);

// NeMo Gym's row: everything comes back as it was sent.
struct VerifyRequest {
  nlohmann::json row;
  Asked asked;
};
Result<VerifyRequest> VerifyRequestFrom(std::string_view body);

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_HTTP_REQUESTS_H_
