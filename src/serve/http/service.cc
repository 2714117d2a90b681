#include "serve/http/service.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>

#include "base/compression.h"
#include "base/json_reader.h"
#include "base/phase.h"
#include "base/sha256.h"
#include "core/serialize.h"
#include "embedded/serve_texts.h"

namespace warpsmith::serve {
namespace {

using nlohmann::json;

constexpr size_t kMostKnown = 20'000;  // judgements of each of two generations
constexpr int kMostProfiling = 8;
constexpr int kPackingLevel = 3;

// Null: it says what cannot be measured here.
json RewardJson(const std::optional<double>& value) { return value ? json(*value) : json(); }

}  // namespace

HttpResponse JsonResponse(const json& value, int status) { return {status, JsonText(value)}; }

HttpResponse ErrorResponse(int status, std::string_view code, const std::string& message) {
  return JsonResponse({{"error", {{"code", code}, {"message", message}}}}, status);
}

HttpResponse Service::Failure(const Error& error) const {
  const auto later = [&error](int status, std::string_view code, int seconds) {
    HttpResponse response = ErrorResponse(status, code, error.Line());
    response.retry_after_s = seconds;
    return response;
  };
  switch (error.code) {
    case ErrorCode::kBusy:
      return later(429, "overloaded", queue_.RetryAfterSeconds());
    case ErrorCode::kInterrupted:
      return later(503, "draining", 5);
    case ErrorCode::kAwaiting:
      return later(503, "quarantined", 30);
    case ErrorCode::kUnavailable:
      return ErrorResponse(501, "not-implemented", error.Line());
    case ErrorCode::kIo:
    case ErrorCode::kInternal:
      return ErrorResponse(500, "internal", error.Line());
    default:
      return ErrorResponse(400, "bad-request", error.Line());
  }
}

const std::vector<Service::Entry>& Service::Routes() {
  static const std::vector<Entry> routes = {{"POST", "/v1/jobs", &Service::PostJobs},
                                            {"GET", "/v1/jobs", &Service::GetJobs},
                                            {"POST", "/v1/reward", &Service::PostReward},
                                            {"POST", "/v1/rescore", &Service::PostRescore},
                                            {"POST", "/v1/profile", &Service::PostProfile},
                                            {"POST", "/v1/prompt", &Service::PostPrompt},
                                            {"GET", "/v1/tasks", &Service::GetTasks},
                                            {"GET", "/v1/device", &Service::GetDevice},
                                            {"GET", "/v1/recording", &Service::GetRecording},
                                            {"GET", "/healthz", &Service::GetHealth},
                                            {"GET", "/readyz", &Service::GetReady},
                                            {"GET", "/metrics", &Service::GetMetrics},
                                            {"GET", "/openapi.json", &Service::GetOpenApi},
                                            {"POST", "/get_reward", &Service::PostGetReward},
                                            {"POST", "/seed_session", &Service::PostSession},
                                            {"POST", "/close_session", &Service::PostSession},
                                            {"POST", "/verify", &Service::PostVerify},
                                            {"GET", "/reverify_mode", &Service::GetReverifyMode}};
  return routes;
}

std::optional<HttpResponse> Service::Refusal(const HttpRequest& request,
                                             const Target& target) const {
  if (!IsOwnHost(request.host, options_.hosts)) {
    return ErrorResponse(421, "wrong-host",
                         "this server does not go by the name of the Host header; its operator may "
                         "add names by --host");
  }
  // Browsers say where a page is from; no page has business here.
  const size_t scheme = request.origin.find("://");
  const bool is_foreign =
      !request.origin.empty() &&
      (scheme == std::string::npos ||
       !IsOwnHost(std::string_view(request.origin).substr(scheme + 3), options_.hosts));
  if (is_foreign) return ErrorResponse(403, "forbidden", "requests of foreign pages are refused");
  if (options_.token.empty() || target.path == "/healthz") return std::nullopt;
  const std::string_view token =
      target.token.empty() ? BearerToken(request.authorization) : std::string_view(target.token);
  if (IsSameSecret(token, options_.token)) return std::nullopt;
  return ErrorResponse(401, "unauthorized",
                       "give the server's token: 'Authorization: Bearer TOKEN', or /t/TOKEN before "
                       "the path");
}

void Service::Handle(HttpRequest request, Respond respond) {
  std::string route = "other";
  const auto answer = [this, &route, &respond](HttpResponse response) {
    Count(route, response.status);
    respond(std::move(response));
  };
  const auto target = ReadTarget(request.target);
  if (!target.ok()) return answer(Failure(target.error()));
  if (auto refusal = Refusal(request, *target)) return answer(*std::move(refusal));
  std::string allowed;
  for (const Entry& entry : Routes()) {
    if (entry.path != target->path) continue;
    route = entry.path;
    if (entry.method != request.method) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(entry.method);
      continue;
    }
    const Respond counted = [this, route, respond](HttpResponse response) {
      Count(route, response.status);
      respond(std::move(response));
    };
    try {
      (this->*entry.route)(*target, request, counted);
    } catch (const std::exception& exception) {
      // Of the libraries below: a bug must not end the server.
      counted(ErrorResponse(500, "internal", std::string("unexpected: ") + exception.what()));
    }
    return;
  }
  if (allowed.empty()) return answer(ErrorResponse(404, "not-found", "see /openapi.json"));
  HttpResponse response = ErrorResponse(405, "method-not-allowed", "use " + allowed);
  response.allow = allowed;
  answer(std::move(response));
}

void Service::Count(const std::string& route, int status) {
  const std::scoped_lock lock(mutex_);
  ++requests_[{route, status}];
}

Result<Job> Service::JobOf(const Subject& subject, const json& candidate, Level level) {
  auto read = TRY(table_.CandidateIn(subject, candidate));
  if (const auto* refused = std::get_if<Rejected>(&read)) {
    return Error{ErrorCode::kBadInput, refused->detail, ""};
  }
  return table_.JobOf(subject, std::get<Candidate>(read), level);
}

Result<Job> Service::JobOf(const ProfileRequest& request) {
  if (request.job) return table_.Own(*request.job);
  const SubjectPointer subject = TRY(table_.Find(request.asked.task, request.asked.workload));
  return JobOf(*subject, request.asked.candidate, Level::kScreened);
}

Result<std::vector<Job>> Service::JobsOf(const JobsRequest& request) {
  std::vector<Job> jobs;
  for (const Job& whole : request.jobs) jobs.push_back(TRY(table_.Own(whole)));
  for (size_t i = 0; i < request.asked.size(); ++i) {
    const Asked& asked = request.asked[i];
    const SubjectPointer subject = TRY(table_.Find(asked.task, asked.workload));
    auto job = JobOf(*subject, asked.candidate, request.level);
    if (!job.ok()) {
      Error error = job.error();
      error.message = "candidates[" + std::to_string(i) + "]: " + error.message;
      return error;
    }
    jobs.push_back(std::move(*job));
  }
  return jobs;
}

void Service::PostJobs(const Target&, const HttpRequest& request, const Respond& respond) {
  const auto read = JobsRequestFrom(request.body);
  if (!read.ok()) return respond(Failure(read.error()));
  auto jobs = JobsOf(*read);
  if (!jobs.ok()) return respond(Failure(jobs.error()));
  json keys = json::array();
  for (const Job& job : *jobs) keys.push_back(job.key);
  const Status taken = queue_.Submit(read->run, read->deadline_s, *std::move(jobs));
  respond(taken.ok() ? JsonResponse({{"keys", keys}}, 202) : Failure(taken.error()));
}

Result<HttpResponse> Service::JobStates(const std::vector<std::string>& keys, bool* any_open) {
  using State = store::ServedJobs::State;
  json jobs = json::array();
  for (const std::string& key : keys) {
    const store::ServedJobs::Found found = TRY(queue_.Find(key));
    json job = {{"key", key}, {"state", "unknown"}};
    if (found.state == State::kQueued) job["state"] = "queued";
    if (found.state == State::kRunning) job["state"] = "running";
    *any_open = *any_open || found.state == State::kQueued || found.state == State::kRunning;
    if (found.completed) {
      job["state"] = "done";
      job["verdict"] = ToJson(found.completed->verdict);
      job["words"] = Describe(found.completed->verdict.outcome);
      job["gpu_seconds"] = found.completed->gpu_seconds;
    }
    jobs.push_back(std::move(job));
  }
  return JsonResponse({{"jobs", jobs}});
}

void Service::GetJobs(const Target& target, const HttpRequest&, const Respond& respond) {
  const auto read = WaitRequestFrom(target);
  if (!read.ok()) return respond(Failure(read.error()));
  bool any_open = false;
  auto now = JobStates(read->keys, &any_open);
  if (!now.ok()) return respond(Failure(now.error()));
  if (!any_open || read->wait_s <= 0) return respond(*std::move(now));
  queue_.Wait(read->keys, true, read->wait_s, [this, keys = read->keys, respond] {
    options_.defer([this, keys, respond] {
      bool ignored = false;
      auto states = JobStates(keys, &ignored);
      respond(states.ok() ? *std::move(states) : Failure(states.error()));
    });
  });
}

GainSigns SignsOf(const Candidate& candidate, const Verdict& verdict) {
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  if (passed == nullptr) return {};
  bool is_below = false;
  for (const Timing& timing : passed->timings) {
    is_below |= std::ranges::any_of(timing.modes, &ModeTiming::below_roofline);
  }
  const Correctness& found = passed->correctness;
  const auto bias = [](const Estimate& mean) { return std::abs(mean.value); };
  const bool is_weak = !found.degenerate.empty() || !found.deterministic;
  return {{"launches", static_cast<double>(candidate.plan.operations.size())},
          {"below_floor", is_below ? 1 : 0},
          {"bound_share", found.worst_bound_fraction},
          {"bias", found.bias ? std::max(bias(found.bias->magnitude), bias(found.bias->value)) : 0},
          {"weak_check", is_weak ? 1 : 0}};
}

Service::JudgementPointer Service::Remember(const std::string& cache_key, Judgement judgement) {
  auto shared = std::make_shared<const Judgement>(std::move(judgement));
  // What may be different next time is not remembered.
  if (shared->facts.kind == RewardFacts::Kind::kUndecided) return shared;
  const std::scoped_lock lock(mutex_);
  if (known_.size() >= kMostKnown) known_before_ = std::exchange(known_, {});
  known_.emplace(cache_key, shared);
  return shared;
}

Service::JudgementPointer Service::Remember(const std::string& cache_key,
                                            const Candidate& candidate,
                                            const Completed& completed) {
  const Outcome& outcome = completed.verdict.outcome;
  return Remember(cache_key, {completed.key, std::string(OutcomeName(outcome)), Describe(outcome),
                              RewardFactsOf(candidate, completed.verdict),
                              SignsOf(candidate, completed.verdict)});
}

// The sample's judgement where it is known, else a job that brings it.
Status Service::Look(const Asked& asked, Level level, size_t index, Batch& batch,
                     std::vector<Job>& jobs) {
  const SubjectPointer subject = TRY(table_.Find(asked.task, asked.workload));
  const std::string cache_key = Sha256Hex(
      JsonText(json::array({asked.task, asked.workload, Name(level), asked.completion.has_value(),
                            asked.completion ? json(*asked.completion) : asked.candidate})));
  {
    const std::scoped_lock lock(mutex_);
    for (const auto* generation : {&known_, &known_before_}) {
      const auto known = generation->find(cache_key);
      if (known == generation->end()) continue;
      batch.judgements[index] = known->second;
      return {};
    }
  }
  auto read = asked.completion ? table_.CandidateIn(*subject, std::string_view(*asked.completion))
                               : table_.CandidateIn(*subject, asked.candidate);
  const auto* const refused = read.ok() ? std::get_if<Rejected>(&*read) : nullptr;
  if (!read.ok() || refused != nullptr) {
    Judgement judgement{"", "unreadable", read.ok() ? "" : read.error().Line(), {}};
    judgement.facts.kind = RewardFacts::Kind::kUnreadable;
    if (refused != nullptr) {
      judgement = {"", "rejected", Describe(Outcome(*refused)), {}};
      judgement.facts.kind = RewardFacts::Kind::kFailed;
    }
    batch.judgements[index] = Remember(cache_key, std::move(judgement));
    return {};
  }
  const Candidate& candidate = std::get<Candidate>(*read);
  Job job = table_.JobOf(*subject, candidate, level);
  if (options_.recorded != nullptr) {
    auto recorded = options_.recorded->LookUp(job.key);
    if (!recorded.ok() && recorded.error().code == ErrorCode::kNotRecorded) {
      recorded = Completed{job.key, {options_.recorded->Unmeasured(job), {}}, 0};
    }
    batch.judgements[index] = Remember(cache_key, candidate, TRY(std::move(recorded)));
    return {};
  }
  const auto found = TRY(queue_.Find(job.key));
  if (found.completed && !std::holds_alternative<Inconclusive>(found.completed->verdict.outcome)) {
    batch.judgements[index] = Remember(cache_key, candidate, *found.completed);
    return {};
  }
  batch.pending.push_back({index, job.key, cache_key, candidate});
  jobs.push_back(std::move(job));
  return {};
}

void Service::Reward(const std::string& run, Level level, double deadline_s,
                     const std::vector<Asked>& asked, const std::shared_ptr<Batch>& batch,
                     const Respond& respond) {
  std::vector<Job> jobs;
  batch->run = run;
  batch->level = level;
  batch->asked = asked;
  batch->judgements.resize(asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    const Status looked = Look(asked[i], level, i, *batch, jobs);
    if (looked.ok()) continue;
    Error error = looked.error();
    error.message = "samples[" + std::to_string(i) + "]: " + error.message;
    return respond(Failure(error));
  }
  if (jobs.empty()) return FinishReward(batch, respond);
  const Status taken = queue_.Submit(run, std::nullopt, std::move(jobs));
  if (!taken.ok()) return respond(Failure(taken.error()));
  std::vector<std::string> keys;
  for (const Batch::Pending& pending : batch->pending) keys.push_back(pending.key);
  queue_.Wait(keys, false, deadline_s, [this, batch, respond] {
    options_.defer([this, batch, respond] { FinishReward(batch, respond); });
  });
}

void Service::FinishReward(const std::shared_ptr<Batch>& batch, const Respond& respond) {
  size_t open = 0;
  for (const Batch::Pending& pending : batch->pending) {
    const auto found = queue_.Find(pending.key);
    if (!found.ok()) return respond(Failure(found.error()));
    if (found->completed) {
      batch->judgements[pending.index] =
          Remember(pending.cache_key, pending.candidate, *found->completed);
    } else {
      ++open;
    }
  }
  if (open > 0) {
    HttpResponse response = ErrorResponse(
        503, queue_.is_draining() ? "draining" : "still-running",
        std::to_string(open) + " samples are not judged yet; ask again: what is done is kept");
    response.retry_after_s = queue_.RetryAfterSeconds();
    return respond(std::move(response));
  }
  const std::vector<json> rewards = Scored(*batch);
  const Status kept = KeepSamples(*batch, rewards);
  respond(kept.ok() ? batch->answer(rewards) : Failure(kept.error()));
}

Status Service::KeepSamples(const Batch& batch, const std::vector<json>& rewards) {
  std::vector<store::ServedSample> samples;
  std::vector<std::string> keys;  // whose candidates go along
  for (size_t i = 0; i < batch.asked.size(); ++i) {
    const Asked& asked = batch.asked[i];
    if (asked.group.empty() && asked.sample_id.empty()) continue;
    const Judgement& judgement = *batch.judgements[i];
    const SubjectPointer subject = TRY(table_.Find(asked.task, asked.workload));
    store::ServedSample sample{batch.run,
                               asked.task,
                               subject->workload.name,
                               std::string(Name(batch.level)),
                               asked.group,
                               asked.sample_id,
                               asked.prompt_sha256,
                               asked.logprob_sum,
                               judgement.key,
                               judgement.outcome,
                               judgement.facts.ratio,
                               std::nullopt,
                               judgement.facts.interval};
    if (rewards[i]["reward"].is_number()) sample.reward = rewards[i]["reward"].get<double>();
    const bool is_new = [&] {
      const std::scoped_lock lock(mutex_);
      return judgement.facts.kind == RewardFacts::Kind::kPassed && !kept_.contains(judgement.key);
    }();
    if (is_new) {
      auto read =
          TRY(asked.completion ? table_.CandidateIn(*subject, std::string_view(*asked.completion))
                               : table_.CandidateIn(*subject, asked.candidate));
      if (auto* candidate = std::get_if<Candidate>(&read)) sample.candidate = std::move(*candidate);
      keys.push_back(judgement.key);
    }
    samples.push_back(std::move(sample));
  }
  if (samples.empty()) return {};
  TRY(queue_.WithJobs([&](store::ServedJobs& jobs) { return jobs.KeepSamples(samples); }));
  const std::scoped_lock lock(mutex_);
  kept_.insert(keys.begin(), keys.end());
  return {};
}

std::vector<json> Service::Scored(Batch& batch) {
  std::vector<RewardFacts> facts;
  for (const JudgementPointer& judgement : batch.judgements) facts.push_back(judgement->facts);
  std::map<std::string_view, std::vector<RewardFacts*>> groups;
  for (size_t i = 0; i < facts.size(); ++i) {
    if (i >= batch.asked.size()) continue;  // of a rescoring
    const Asked& asked = batch.asked[i];
    facts[i].was_shown =
        std::ranges::find(asked.shown, batch.judgements[i]->key) != asked.shown.end();
    if (!asked.group.empty()) groups[asked.group].push_back(&facts[i]);
  }
  for (const auto& [name, members] : groups) LevelGroup(members);
  std::vector<json> rewards;
  for (size_t i = 0; i < facts.size(); ++i) {
    const Judgement& judgement = *batch.judgements[i];
    const ShapedReward shaped = ShapeReward(facts[i], batch.shape);
    json reward = {{"reward", RewardJson(shaped.value)},
                   {"outcome", judgement.outcome},
                   {"words", judgement.words},
                   {"terms", json::object()}};
    for (const auto& [name, value] : shaped.terms) reward["terms"][name] = value;
    if (!judgement.key.empty()) reward["key"] = judgement.key;
    if (!shaped.value && options_.recorded != nullptr) reward["final"] = true;
    for (const auto& [name, value] : judgement.signs) reward["signs"][name] = value;
    if (judgement.facts.ratio) {
      reward["ratio"] = *judgement.facts.ratio;
      reward["interval"] = {judgement.facts.interval.lo, judgement.facts.interval.hi};
    }
    rewards.push_back(std::move(reward));
  }
  if (batch.asked.empty()) return rewards;  // a rescoring is not counted
  const std::scoped_lock lock(mutex_);
  for (const JudgementPointer& judgement : batch.judgements) {
    ++rewards_[judgement->outcome];
    if (!judgement->facts.ratio || judgement->facts.interval.lo <= 1) continue;
    ++gains_;
    for (const auto& [name, value] : judgement->signs) gain_signs_[name] += value;
  }
  return rewards;
}

void Service::PostReward(const Target&, const HttpRequest& request, const Respond& respond) {
  const auto read = RewardRequestFrom(request.body, options_.reward);
  if (!read.ok()) return respond(Failure(read.error()));
  const auto batch = std::make_shared<Batch>();
  batch->shape = read->shape;
  batch->answer = [](const std::vector<json>& rewards) {
    return JsonResponse({{"rewards", rewards}});
  };
  Reward(read->run, read->level, read->deadline_s, read->asked, batch, respond);
}

Result<std::optional<std::pair<Candidate, Verdict>>> Service::Known(const std::string& key) {
  using Pair = std::pair<Candidate, Verdict>;
  if (options_.recorded != nullptr && options_.recorded->Has(key)) {
    return std::optional<Pair>(
        {TRY(options_.recorded->CandidateOf(key)), TRY(options_.recorded->LookUp(key)).verdict});
  }
  auto found = TRY(queue_.Find(key));
  auto candidate =
      TRY(queue_.WithJobs([&](store::ServedJobs& jobs) { return jobs.CandidateOf(key); }));
  if (!found.completed || !candidate) return std::optional<Pair>();
  return std::optional<Pair>({*std::move(candidate), std::move(found.completed->verdict)});
}

void Service::PostRescore(const Target&, const HttpRequest& request, const Respond& respond) {
  const auto read = RescoreRequestFrom(request.body, options_.reward);
  if (!read.ok()) return respond(Failure(read.error()));
  Batch batch;
  batch.shape = read->shape;
  for (const std::string& key : read->keys) {
    Judgement judgement{key, "unknown", "there is no verdict under this key", {}};
    const auto known = Known(key);
    if (!known.ok()) return respond(Failure(known.error()));
    if (*known) {
      const auto& [candidate, verdict] = **known;
      judgement = {key, std::string(OutcomeName(verdict.outcome)), Describe(verdict.outcome),
                   RewardFactsOf(candidate, verdict), SignsOf(candidate, verdict)};
    }
    batch.judgements.push_back(std::make_shared<const Judgement>(std::move(judgement)));
  }
  respond(JsonResponse({{"rewards", Scored(batch)}}));
}

void Service::PostProfile(const Target&, const HttpRequest& request, const Respond& respond) {
  const auto asked = ProfileRequestFrom(request.body);
  if (!asked.ok()) return respond(Failure(asked.error()));
  auto job = JobOf(*asked);
  if (!job.ok()) return respond(Failure(job.error()));
  const Status taken =
      TakeProfile(std::move(*job), [this, respond](const Result<Profile>& profile) {
        if (!profile.ok()) return respond(Failure(profile.error()));
        json kernels = json::array();
        for (const KernelProfile& kernel : profile->kernels) {
          json metrics = json::object();
          for (const auto& [name, value] : kernel.metrics) metrics[name] = NumberToJson(value);
          kernels.push_back({{"kernel", kernel.kernel}, {"metrics", metrics}});
        }
        respond(JsonResponse({{"source", profile->source}, {"kernels", kernels}}));
      });
  if (!taken.ok()) respond(Failure(taken.error()));
}

Status Service::TakeProfile(Job job, std::function<void(const Result<Profile>&)> done) {
  {
    const std::scoped_lock lock(mutex_);
    if (profiling_ >= kMostProfiling) {
      return Error{ErrorCode::kBusy, "other profiles are being taken", "ask again"};
    }
    ++profiling_;
  }
  queue_.Post([this, job = std::move(job), done = std::move(done)] {
    const auto profile = options_.profile(job);
    {
      const std::scoped_lock lock(mutex_);
      --profiling_;
    }
    done(profile);
  });
  return {};
}

void Service::GetTasks(const Target&, const HttpRequest&, const Respond& respond) {
  respond(JsonResponse(table_.List()));
}

void Service::GetDevice(const Target&, const HttpRequest&, const Respond& respond) {
  json recordings = json::array();
  if (options_.recorded != nullptr) {
    for (const auto& recording : options_.recorded->Recordings()) {
      recordings.push_back(recording->name());
    }
  }
  respond(JsonResponse({{"protocol", search::kServeProtocolVersion},
                        {"device", ToJson(options_.device)},
                        {"recordings", recordings},
                        {"origin", options_.device.origin},
                        {"reads_tasks", table_.takes_tasks()}}));
}

// "number" counts the names that /v1/device gives, from 0.
void Service::GetRecording(const Target& target, const HttpRequest&, const Respond& respond) {
  const auto asked = target.query.find("number");
  if (asked == target.query.end()) {
    return respond(ErrorResponse(404, "not-found", "write /v1/recording?number=0"));
  }
  const size_t count = options_.recorded == nullptr ? 0 : options_.recorded->Recordings().size();
  const std::string& text = asked->second;
  size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size() || number >= count) {
    return respond(ErrorResponse(404, "not-found", "there is no such recording here"));
  }
  const std::scoped_lock lock(packed_mutex_);
  packed_.resize(count);
  if (packed_[number].empty()) {
    packed_[number] = Compress(options_.recorded->Recordings()[number]->lines(), kPackingLevel);
  }
  respond({200, packed_[number], "application/zstd"});
}

void Service::GetHealth(const Target&, const HttpRequest&, const Respond& respond) {
  respond(JsonResponse({{"ok", true}}));
}

void Service::GetReady(const Target&, const HttpRequest&, const Respond& respond) {
  const Status ready = queue_.Ready();
  if (queue_.is_draining()) return respond(ErrorResponse(503, "draining", "the server is ending"));
  if (!ready.ok()) return respond(ErrorResponse(503, "not-ready", ready.error().Line()));
  respond(JsonResponse({{"ready", true}}));
}

void Service::GetMetrics(const Target&, const HttpRequest&, const Respond& respond) {
  const QueueCounts counts = queue_.Counts();
  std::string text;
  const auto family = [&](std::string_view name, std::string_view type) {
    text += "# TYPE warpsmith_" + std::string(name) + " " + std::string(type) + "\n";
  };
  const auto line = [&](std::string_view name, const std::string& labels, const auto& value) {
    text += "warpsmith_" + std::string(name) + labels + " " + JsonText(json(value)) + "\n";
  };
  const auto single = [&](std::string_view name, std::string_view type, const auto& value) {
    family(name, type);
    line(name, "", value);
  };
  single("ready", "gauge", queue_.Ready().ok() ? 1 : 0);
  single("jobs_waiting", "gauge", counts.waiting);
  single("jobs_running", "gauge", counts.running);
  single("requests_waiting", "gauge", counts.waiters);
  single("jobs_refused_total", "counter", counts.refused);
  single("late_results_total", "counter", counts.late);
  single("device_failures_total", "counter", counts.device_failures);
  family("gpu_seconds_total", "counter");
  for (const auto& [form, seconds] : counts.gpu_seconds) {
    line("gpu_seconds_total", "{form=\"" + form + "\"}", seconds);
  }
  family("judge_seconds_total", "counter");
  for (const auto& [phase, seconds] : PhaseSeconds()) {
    line("judge_seconds_total", "{form=\"" + phase.first + "\",phase=\"" + phase.second + "\"}",
         seconds);
  }
  family("jobs_total", "counter");
  for (const auto& [job, count] : counts.outcomes) {
    line("jobs_total", "{form=\"" + job.first + "\",outcome=\"" + job.second + "\"}", count);
  }
  {
    const std::scoped_lock lock(mutex_);
    family("rewards_total", "counter");
    for (const auto& [outcome, count] : rewards_) {
      line("rewards_total", "{outcome=\"" + outcome + "\"}", count);
    }
    single("gains_total", "counter", gains_);
    family("gain_signs_total", "counter");
    for (const auto& [sign, sum] : gain_signs_) {
      line("gain_signs_total", "{sign=\"" + std::string(sign) + "\"}", sum);
    }
    family("requests_total", "counter");
    for (const auto& [request, count] : requests_) {
      line("requests_total",
           "{route=\"" + request.first + "\",code=\"" + std::to_string(request.second) + "\"}",
           count);
    }
  }  // before the answer, which is counted under the same lock
  respond({200, std::move(text), "text/plain; version=0.0.4"});
}

void Service::GetOpenApi(const Target&, const HttpRequest&, const Respond& respond) {
  respond({200, std::string(embedded::ServeTexts().front().contents)});
}

}  // namespace warpsmith::serve
