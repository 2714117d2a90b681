// The routes of `warpsmith serve`: requests in, answers out. Knows nothing of sockets.
#ifndef WARPSMITH_SERVE_HTTP_SERVICE_H_
#define WARPSMITH_SERVE_HTTP_SERVICE_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/reward.h"
#include "search/machine/served_device.h"
#include "serve/http/judge_queue.h"
#include "serve/http/requests.h"
#include "serve/http/task_table.h"

namespace warpsmith::serve {

struct HttpRequest {
  std::string method, target, body;
  std::string host, origin, authorization;  // headers; empty: not there
};
struct HttpResponse {
  int status = 200;
  std::string body;
  std::string type = "application/json";
  int retry_after_s = 0;
  std::string allow = {};  // of a 405
};
HttpResponse JsonResponse(const nlohmann::json& value, int status = 200);
HttpResponse ErrorResponse(int status, std::string_view code, const std::string& message);

// Called once, from any thread.
using Respond = std::function<void(HttpResponse)>;

struct ServiceOptions {
  std::string token;               // empty: none is asked for
  std::vector<std::string> hosts;  // names that a request may give, besides this machine's own
  RewardShape reward;              // where a request gives none
  DeviceInfo device;
  const store::RecordedDevice* recorded = nullptr;
  // On the queue's thread.
  std::function<Result<Profile>(const Job& job)> profile;
  // Runs a piece of work on a thread that serves requests.
  std::function<void(std::function<void()>)> defer;
};

// What time may be gained by, to be watched while rewards rise. Of passed ones: "launches" (fewer:
// fusion), "below_floor" (less work than the task needs: algebra, or a check that misses it),
// "bound_share" and "bias" (digits given up), "weak_check" (the task takes zeros for right, or
// outputs differed from launch to launch).
using GainSigns = std::vector<std::pair<std::string_view, double>>;
GainSigns SignsOf(const Candidate& candidate, const Verdict& verdict);

class Service {
 public:
  // `table` and `queue` outlive it.
  Service(TaskTable& table, JudgeQueue& queue, ServiceOptions options)
      : table_(table), queue_(queue), options_(std::move(options)) {}

  // Thread-safe. Never throws.
  void Handle(HttpRequest request, Respond respond);

 private:
  // What was found out about one sample.
  struct Judgement {
    std::string key, outcome, words;
    RewardFacts facts;
    GainSigns signs = {};
  };
  using JudgementPointer = std::shared_ptr<const Judgement>;
  // Samples on their way to their judgements, and what is done with these.
  struct Batch {
    std::vector<JudgementPointer> judgements;  // null: pending
    std::string run;
    Level level = Level::kScreened;
    std::vector<Asked> asked;
    struct Pending {
      size_t index;
      std::string key, cache_key;
      Candidate candidate;
    };
    std::vector<Pending> pending;
    RewardShape shape;
    std::function<HttpResponse(const std::vector<nlohmann::json>&)> answer;
  };
  // A variant that a prompt may show; its candidate is read once it was drawn.
  struct Exemplar {
    std::string key;
    double ratio = 0;
    Interval interval;
    store::PassedSample sample;
    std::optional<Candidate> candidate;
  };
  struct Prompt {
    PromptRequest request;
    uint64_t seed = 0;
    std::string task;
    SubjectPointer subject;
    store::Difficulty difficulty;
    std::vector<Exemplar> exemplars;  // the best first
  };
  using Route = void (Service::*)(const Target&, const HttpRequest&, const Respond&);
  struct Entry {
    std::string_view method, path;
    Route route;
  };
  static const std::vector<Entry>& Routes();

  std::optional<HttpResponse> Refusal(const HttpRequest& request, const Target& target) const;
  void PostJobs(const Target& target, const HttpRequest& request, const Respond& respond);
  void GetJobs(const Target& target, const HttpRequest& request, const Respond& respond);
  void PostReward(const Target& target, const HttpRequest& request, const Respond& respond);
  void PostRescore(const Target& target, const HttpRequest& request, const Respond& respond);
  void PostProfile(const Target& target, const HttpRequest& request, const Respond& respond);
  void PostPrompt(const Target& target, const HttpRequest& request, const Respond& respond);
  void GetTasks(const Target& target, const HttpRequest& request, const Respond& respond);
  void GetRecording(const Target& target, const HttpRequest& request, const Respond& respond);
  void GetDevice(const Target& target, const HttpRequest& request, const Respond& respond);
  void GetHealth(const Target& target, const HttpRequest& request, const Respond& respond);
  void GetReady(const Target& target, const HttpRequest& request, const Respond& respond);
  void GetMetrics(const Target& target, const HttpRequest& request, const Respond& respond);
  void GetOpenApi(const Target& target, const HttpRequest& request, const Respond& respond);
  // dialects.cc
  void PostGetReward(const Target& target, const HttpRequest& request, const Respond& respond);
  void PostVerify(const Target& target, const HttpRequest& request, const Respond& respond);
  void PostSession(const Target& target, const HttpRequest& request, const Respond& respond);
  void GetReverifyMode(const Target& target, const HttpRequest& request, const Respond& respond);

  // kBadInput, with the reason, for what is no candidate of the task.
  Result<Job> JobOf(const Subject& subject, const nlohmann::json& candidate, Level level);
  Result<Job> JobOf(const ProfileRequest& request);
  Result<std::vector<Job>> JobsOf(const JobsRequest& request);
  Result<HttpResponse> JobStates(const std::vector<std::string>& keys, bool* any_open);
  // Judges every sample and hands the rewards to `batch.answer`.
  void Reward(const std::string& run, Level level, double deadline_s,
              const std::vector<Asked>& asked, const std::shared_ptr<Batch>& batch,
              const Respond& respond);
  Status Look(const Asked& asked, Level level, size_t index, Batch& batch, std::vector<Job>& jobs);
  void FinishReward(const std::shared_ptr<Batch>& batch, const Respond& respond);
  std::vector<nlohmann::json> Scored(Batch& batch);
  // The candidate and its verdict under this key: recorded, or of a job.
  Result<std::optional<std::pair<Candidate, Verdict>>> Known(const std::string& key);
  // Samples that the client named, with what came of them.
  Status KeepSamples(const Batch& batch, const std::vector<nlohmann::json>& rewards);
  // A profile on the queue's thread. kBusy: others are being taken.
  Status TakeProfile(Job job, std::function<void(const Result<Profile>&)> done);
  // prompting.cc
  Result<Prompt> Prepare(const std::string& body);
  Result<store::Difficulty> DifficultyOf(const std::string& task, const std::string& workload);
  Result<size_t> Choose(const std::vector<PromptRequest::Wanted>& tasks, Random& random);
  Result<std::vector<Exemplar>> Exemplars(const PromptRequest& request, const std::string& task,
                                          const Subject& subject, Random& random);
  HttpResponse PromptAnswer(const Prompt& prompt, const std::string& profile) const;
  JudgementPointer Remember(const std::string& cache_key, const Candidate& candidate,
                            const Completed& completed);
  JudgementPointer Remember(const std::string& cache_key, Judgement judgement);
  HttpResponse Failure(const Error& error) const;
  void Count(const std::string& route, int status);

  TaskTable& table_;
  JudgeQueue& queue_;
  const ServiceOptions options_;

  std::mutex packed_mutex_;
  std::vector<std::string> packed_;  // recordings, as they are sent; empty: not asked for yet

  std::mutex mutex_;  // guards what follows
  std::unordered_map<std::string, JudgementPointer> known_, known_before_;
  std::map<std::pair<std::string, int>, int64_t> requests_;  // by route and status
  std::map<std::string, int64_t> rewards_;                   // by outcome
  int64_t gains_ = 0;                                        // rewards of proven gains
  std::map<std::string_view, double> gain_signs_;            // sums over them
  std::unordered_set<std::string> kept_;  // keys whose candidates are in the store
  int profiling_ = 0;
};

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_HTTP_SERVICE_H_
