#include "serve/http/requests.h"

#include <algorithm>
#include <charconv>

#include "base/json_reader.h"
#include "core/json_fields.h"
#include "core/serialize.h"

namespace warpsmith::serve {
namespace {

using nlohmann::json;

constexpr size_t kMaxNameBytes = 1024;
constexpr size_t kMostExemplars = 16;
constexpr size_t kMaxDocumentBytes = size_t{64} << 10;
// Of a protocol that a client sends: what one job may cost.
constexpr int kMostRounds = 256, kMostProcesses = 32;
constexpr double kMostMeasureSeconds = 120;
constexpr int64_t kMostStepMs = 600'000;

Result<std::string> OptionalText(const JsonReader& object, std::string_view field) {
  if (!object.Has(field)) return std::string();
  const JsonReader value = object.At(field);
  std::string text = TRY(value.String());
  if (text.size() > kMaxNameBytes) return value.Bad("a shorter text");
  return text;
}

Result<double> Between(double least, const JsonReader& value, double most) {
  const double number = TRY(value.Number());
  if (number >= least && number <= most) return number;
  return value.Bad("a number from " + JsonText(json(least)) + " to " + JsonText(json(most)));
}

Result<Level> LevelIn(const JsonReader& object) {
  Level level = Level::kScreened;
  if (object.Has("level")) TRY(json_fields::Read(object.At("level"), level));
  return level;
}

Result<std::vector<JsonReader>> Batch(const JsonReader& list) {
  std::vector<JsonReader> items = TRY(list.Items());
  if (!items.empty() && items.size() <= kMaxBatch) return items;
  return list.Bad("1 to " + std::to_string(kMaxBatch) + " items");
}

Result<RewardShape> ShapeIn(const JsonReader& object, RewardShape shape) {
  if (!object.Has("reward")) return shape;
  const JsonReader fields = object.At("reward");
  TRY(fields.OnlyFields({"form", "alpha", "beta", "clip"}));
  if (fields.Has("form")) shape.form = TRY(RewardFormFrom(TRY(fields.At("form").String())));
  if (fields.Has("alpha")) shape.alpha = TRY(fields.At("alpha").Number());
  if (fields.Has("beta")) shape.beta = TRY(fields.At("beta").Number());
  if (fields.Has("clip")) shape.clip = TRY(fields.At("clip").Number());
  TRY(CheckRewardShape(shape));
  return shape;
}

// Keys are named by clients: 64 hexadecimal digits and nothing else is looked up.
bool IsKey(std::string_view key) {
  return key.size() == 64 && std::ranges::all_of(key, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Result<std::string> KeyIn(const JsonReader& text) {
  std::string key = TRY(text.String());
  if (!IsKey(key)) return text.Bad("64 hex digits (the \"key\" of a reward's answer)");
  return key;
}

Result<Asked> AskedIn(const JsonReader& object) {
  Asked asked;
  asked.task = TRY(object.At("task").String());
  asked.workload = TRY(OptionalText(object, "workload"));
  asked.group = TRY(OptionalText(object, "group"));
  asked.sample_id = TRY(OptionalText(object, "sample_id"));
  asked.prompt_sha256 = TRY(OptionalText(object, "prompt_sha256"));
  if (object.Has("logprob_sum")) asked.logprob_sum = TRY(object.At("logprob_sum").Number());
  if (object.Has("shown")) {
    const std::vector<JsonReader> keys = TRY(object.At("shown").Items());
    if (keys.size() > kMostExemplars) return object.At("shown").Bad("at most 16 keys");
    for (const JsonReader& key : keys) asked.shown.push_back(TRY(KeyIn(key)));
  }
  if (object.Has("completion") == object.Has("candidate")) {
    return object.Bad("either \"completion\" or \"candidate\"");
  }
  if (object.Has("completion")) {
    asked.completion = TRY(object.At("completion").String());
  } else {
    asked.candidate = *object.At("candidate").json();
  }
  return asked;
}

// What a protocol must hold, ProtocolFrom has checked; here, what one job may cost the server.
Status CheckCost(const JsonReader& place, const Protocol& protocol) {
  const bool fits =
      protocol.max_rounds <= kMostRounds &&  // and so `rounds`
      protocol.samples_per_round <= kMostRounds && protocol.runner_processes <= kMostProcesses &&
      protocol.warmup_seconds <= kMostMeasureSeconds &&
      protocol.measure_seconds <= kMostMeasureSeconds && protocol.step_timeout_ms <= kMostStepMs;
  if (fits) return {};
  return place.Bad("a protocol within what a server allows for one job");
}

Result<Job> WholeJob(const JsonReader& object) {
  TRY(object.OnlyFields({"task", "workload", "candidate", "protocol"}));
  Job job;
  job.task = TRY(TaskFrom(object.At("task")));
  job.workload = TRY(WorkloadFrom(object.At("workload")));
  job.candidate = TRY(CandidateFrom(object.At("candidate")));
  job.protocol = TRY(ProtocolFrom(object.At("protocol")));
  TRY(CheckCost(object.At("protocol"), job.protocol));
  job.key = MeasurementKey(job.candidate, job.task, job.workload, job.protocol);
  return job;
}

Result<std::vector<std::string>> Texts(const JsonReader& list) {
  std::vector<std::string> texts;
  for (const JsonReader& item : TRY(Batch(list))) texts.push_back(TRY(item.String()));
  return texts;
}

}  // namespace

Result<JobsRequest> JobsRequestFrom(std::string_view body) {
  const json document = TRY(ParseJson("request", body));
  const JsonReader object("request", document);
  JobsRequest request;
  request.run = TRY(OptionalText(object, "run"));
  if (object.Has("deadline_s")) {
    request.deadline_s = TRY(Between(0, object.At("deadline_s"), kMaxDeadlineSeconds));
  }
  if (object.Has("jobs")) {
    TRY(object.OnlyFields({"run", "deadline_s", "jobs"}));
    for (const JsonReader& item : TRY(Batch(object.At("jobs")))) {
      request.jobs.push_back(TRY(WholeJob(item)));
    }
    return request;
  }
  TRY(object.OnlyFields({"run", "task", "workload", "level", "deadline_s", "candidates"}));
  request.level = TRY(LevelIn(object));
  Asked asked;
  asked.task = TRY(object.At("task").String());
  asked.workload = TRY(OptionalText(object, "workload"));
  for (const JsonReader& item : TRY(Batch(object.At("candidates")))) {
    asked.candidate = *item.json();
    request.asked.push_back(asked);
  }
  return request;
}

Result<RewardRequest> RewardRequestFrom(std::string_view body, const RewardShape& usual) {
  const json document = TRY(ParseJson("request", body));
  const JsonReader object("request", document);
  TRY(object.OnlyFields({"run", "deadline_s", "level", "reward", "samples"}));
  RewardRequest request;
  request.run = TRY(OptionalText(object, "run"));
  if (object.Has("deadline_s")) {
    request.deadline_s = TRY(Between(0, object.At("deadline_s"), kMaxDeadlineSeconds));
  }
  request.level = TRY(LevelIn(object));
  request.shape = TRY(ShapeIn(object, usual));
  for (const JsonReader& item : TRY(Batch(object.At("samples")))) {
    TRY(item.OnlyFields({"task", "workload", "completion", "candidate", "group", "sample_id",
                         "prompt_sha256", "logprob_sum", "shown"}));
    request.asked.push_back(TRY(AskedIn(item)));
  }
  return request;
}

namespace {

// "TASK" or "TASK#WORKLOAD".
PromptRequest::Wanted WantedFrom(const std::string& text) {
  const size_t hash = std::min(text.find('#'), text.size());
  return {text.substr(0, hash), text.substr(std::min(hash + 1, text.size()))};
}

}  // namespace

Result<PromptRequest> PromptRequestFrom(std::string_view body) {
  const json document = TRY(ParseJson("request", body));
  const JsonReader object("request", document);
  TRY(object.OnlyFields({"task", "tasks", "level", "stage", "exemplars", "bucket", "tau", "seed",
                         "from", "documents"}));
  PromptRequest request;
  const bool is_one = object.Has("task");
  if (is_one == object.Has("tasks")) {
    return Error{ErrorCode::kBadInput, "request: give either \"task\" or \"tasks\"",
                 "GET /v1/tasks lists them"};
  }
  const std::vector<std::string> texts =
      is_one ? std::vector{TRY(object.At("task").String())} : TRY(Texts(object.At("tasks")));
  for (const std::string& text : texts) {
    if (text.size() > kMaxNameBytes) return object.Bad("shorter names of tasks");
    request.tasks.push_back(WantedFrom(text));
  }
  request.level = TRY(LevelIn(object));
  if (object.Has("stage")) request.stage = static_cast<int>(TRY(object.At("stage").IntIn(2, 3)));
  if (object.Has("exemplars")) {
    request.rule.most = static_cast<size_t>(TRY(object.At("exemplars").IntIn(0, kMostExemplars)));
  }
  if (object.Has("bucket")) request.rule.bucket = TRY(Between(1e-3, object.At("bucket"), 10));
  if (object.Has("tau")) request.rule.tau = TRY(Between(1e-3, object.At("tau"), 1000));
  if (object.Has("seed")) {
    constexpr int64_t kMostSeed = int64_t{1} << 53;  // what JSON numbers hold exactly
    request.seed = static_cast<uint64_t>(TRY(object.At("seed").IntIn(0, kMostSeed)));
  }
  if (object.Has("from")) {
    const std::string from = TRY(object.At("from").String());
    if (from != "samples" && from != "recording")
      return object.At("from").Bad("samples or recording");
    request.draws_recorded = from == "recording";
  }
  if (object.Has("documents")) {
    request.documents = TRY(object.At("documents").String());
    if (request.documents.size() > kMaxDocumentBytes) {
      return object.At("documents").Bad("at most 64 KiB");
    }
  }
  return request;
}

Result<RescoreRequest> RescoreRequestFrom(std::string_view body, const RewardShape& usual) {
  const json document = TRY(ParseJson("request", body));
  const JsonReader object("request", document);
  TRY(object.OnlyFields({"reward", "keys"}));
  RescoreRequest request;
  request.shape = TRY(ShapeIn(object, usual));
  for (const auto& key : TRY(Batch(object.At("keys")))) request.keys.push_back(TRY(KeyIn(key)));
  return request;
}

Result<WaitRequest> WaitRequestFrom(const Target& target) {
  const auto bad = [](const std::string& what) {
    return Error{ErrorCode::kBadInput, what, "write /v1/jobs?keys=KEY,KEY&wait=SECONDS"};
  };
  WaitRequest request;
  for (const auto& [name, value] : target.query) {
    if (name == "wait") {
      const char* const end = value.data() + value.size();
      const auto read = std::from_chars(value.data(), end, request.wait_s);
      const bool fits = read.ec == std::errc() && read.ptr == end && request.wait_s >= 0;
      if (!fits || value.empty()) return bad("wait is no number of seconds");
      request.wait_s = std::min(request.wait_s, kMaxWaitSeconds);
    } else if (name == "keys") {
      for (size_t begin = 0; begin < value.size();) {
        const size_t end = std::min(value.find(',', begin), value.size());
        request.keys.push_back(value.substr(begin, end - begin));
        begin = end + 1;
      }
    } else {
      return bad("the query has no \"" + name.substr(0, 40) + "\"");
    }
  }
  const bool fits = !request.keys.empty() && request.keys.size() <= kMaxBatch;
  if (!fits || !std::ranges::all_of(request.keys, IsKey)) {
    return bad("keys are 1 to " + std::to_string(kMaxBatch) + " keys of jobs");
  }
  return request;
}

Result<ProfileRequest> ProfileRequestFrom(std::string_view body) {
  const json document = TRY(ParseJson("request", body));
  const JsonReader object("request", document);
  if (object.Has("job")) {
    TRY(object.OnlyFields({"job"}));
    return ProfileRequest{TRY(WholeJob(object.At("job"))), {}};
  }
  TRY(object.OnlyFields({"task", "workload", "candidate"}));
  return ProfileRequest{std::nullopt, TRY(AskedIn(object))};
}

Result<std::vector<Asked>> OpenRlhfRequestFrom(std::string_view body) {
  const json document = TRY(ParseJson("request", body));
  const JsonReader object("request", document);
  std::vector<std::string> queries = TRY(Texts(object.At("query")));
  const std::vector<std::string> labels = TRY(Texts(object.At("labels")));
  std::vector<std::string> prompts;
  if (object.Has("prompts")) prompts = TRY(Texts(object.At("prompts")));
  if (labels.size() != queries.size()) return object.At("labels").Bad("a label for each query");
  std::vector<Asked> samples;
  for (size_t i = 0; i < queries.size(); ++i) {
    std::string_view completion = queries[i];
    if (i < prompts.size() && completion.starts_with(prompts[i])) {
      completion.remove_prefix(prompts[i].size());
    }
    const auto [task, workload] = WantedFrom(labels[i]);
    samples.push_back({task, workload, std::string(completion), {}, {}, {}, {}, {}, {}});
  }
  return samples;
}

Result<VerifyRequest> VerifyRequestFrom(std::string_view body) {
  VerifyRequest request{TRY(ParseJson("request", body)), {}};
  const JsonReader object("request", request.row);
  request.asked.task = TRY(object.At("task").String());
  request.asked.workload = TRY(OptionalText(object, "workload"));
  request.asked.completion.emplace();
  for (const JsonReader& item : TRY(object.At("response").At("output").Items())) {
    if (!item.Has("type") || TRY(item.At("type").String()) != "message") continue;
    request.asked.completion->clear();
    if (!item.Has("content")) continue;
    for (const JsonReader& part : TRY(item.At("content").Items())) {
      if (part.Has("text")) *request.asked.completion += TRY(part.At("text").String());
    }
  }
  return request;
}

}  // namespace warpsmith::serve
