// POST /v1/prompt: a task's prompt with variants that are drawn anew each time, so that what a
// policy wrote a step ago can be among them (CUDA-L1's contrastive prompts, CUDA-L2's stage 3).
#include <algorithm>
#include <cmath>

#include "agent/prompts/prompt_values.h"
#include "base/sha256.h"
#include "judge/profile/bottleneck.h"
#include "search/machine/profiling.h"
#include "serve/http/service.h"
#include "task/hgemm_task.h"

namespace warpsmith::serve {
namespace {

using nlohmann::json;

constexpr int64_t kMostPassed = 256;  // samples of a task that a draw looks at: the latest
constexpr size_t kMostOfSpace = 64;   // points of a recorded space: drawn at random
constexpr size_t kMostVariantsBytes = size_t{32} << 10;  // one that does not fit is left out
constexpr int kLeastSamples = 4;  // a group of fewer says little about its mean
constexpr size_t kGroupCharacters = 16;

// Chosen the more often, the more of its groups had different rewards: a task that always or never
// succeeds teaches nothing. One that is new counts as half.
double WeightOf(const store::Difficulty& difficulty) {
  return static_cast<double>(difficulty.mixed + 1) / static_cast<double>(difficulty.groups + 2);
}

json DifficultyJson(const store::Difficulty& difficulty) {
  return {{"samples", difficulty.samples},    {"passed", difficulty.passed},
          {"faster", difficulty.faster},      {"groups", difficulty.groups},
          {"mixed_groups", difficulty.mixed}, {"weight", WeightOf(difficulty)}};
}

std::string ProfileText(const DeviceInfo& device, const Job& job, const Result<Profile>& profile) {
  if (!profile.ok()) return "";
  const auto facts = search::FactsOf(device, job.task, job.workload);
  if (!facts.ok()) return "";
  return profile::ModelBlock(profile::Diagnose(*profile, *facts));
}

}  // namespace

Result<store::Difficulty> Service::DifficultyOf(const std::string& task,
                                                const std::string& workload) {
  return queue_.WithJobs(
      [&](store::ServedJobs& jobs) { return jobs.DifficultyOf(task, workload); });
}

Result<size_t> Service::Choose(const std::vector<PromptRequest::Wanted>& tasks, Random& random) {
  std::vector<double> weights;
  for (const PromptRequest::Wanted& wanted : tasks) {
    const SubjectPointer subject = TRY(table_.Find(wanted.task, wanted.workload));
    weights.push_back(WeightOf(TRY(DifficultyOf(wanted.task, subject->workload.name))));
  }
  return weights.size() == 1 ? 0 : random.Pick(weights);
}

Result<std::vector<Service::Exemplar>> Service::Exemplars(const PromptRequest& request,
                                                          const std::string& task,
                                                          const Subject& subject, Random& random) {
  std::vector<Exemplar> pool;
  if (!request.draws_recorded) {
    const auto passed = TRY(queue_.WithJobs([&](store::ServedJobs& jobs) {
      return jobs.PassedSamples(task, subject.workload.name, request.level, kMostPassed);
    }));
    for (const store::PassedSample& one : passed) {
      pool.push_back({one.key, one.ratio, one.interval, one, std::nullopt});
    }
  } else if (subject.space != nullptr && options_.recorded != nullptr) {
    std::vector<Point> points = subject.space->space.points();
    random.Shuffle(points);
    points.resize(std::min(points.size(), kMostOfSpace));
    for (const Point& point : points) {
      Candidate candidate = TRY(subject.space->make(point));
      const std::string key = table_.JobOf(subject, candidate, request.level).key;
      const auto verdict = options_.recorded->LookUp(key);
      if (!verdict.ok()) continue;  // recorded under another protocol
      const RewardFacts facts = RewardFactsOf(candidate, verdict->verdict);
      if (!facts.ratio || !(*facts.ratio > 0)) continue;
      pool.push_back({key, *facts.ratio, facts.interval, {}, std::move(candidate)});
    }
  }
  std::vector<double> scores;
  for (const Exemplar& one : pool) scores.push_back(std::log(one.ratio));
  std::vector<Exemplar> drawn;
  std::vector<prompts::Variant> variants;
  drawn.reserve(request.rule.most);
  const bool takes_points = !task::LayoutOf(subject.task).empty();
  for (const size_t index : prompts::DrawExemplars(scores, request.rule, random)) {
    Exemplar& one = drawn.emplace_back(std::move(pool[index]));
    if (options_.recorded != nullptr && options_.recorded->Has(one.key)) {
      one.candidate = TRY(options_.recorded->CandidateOf(one.key));  // it names its point
    } else if (!one.candidate) {
      one.candidate = TRY(queue_.WithJobs(
          [&](store::ServedJobs& jobs) { return jobs.CandidateOfSample(one.sample); }));
      table_.NamePoint(subject, *one.candidate);
    }
    variants.push_back({&*one.candidate, one.ratio, one.interval});
    if (prompts::VariantsText(variants, takes_points).size() <= kMostVariantsBytes) continue;
    drawn.pop_back();
    variants.pop_back();
  }
  return drawn;
}

void Service::PostPrompt(const Target&, const HttpRequest& request, const Respond& respond) {
  const auto prepared = Prepare(request.body);
  if (!prepared.ok()) return respond(Failure(prepared.error()));
  const auto prompt = std::make_shared<const Prompt>(*prepared);
  const auto answer = [this, respond](const Prompt& one, const std::string& profile) {
    respond(PromptAnswer(one, profile));
  };
  if (prompt->request.stage < 3 || prompt->exemplars.empty()) {
    return answer(*prompt, "");
  }
  Job job = table_.JobOf(*prompt->subject, *prompt->exemplars.front().candidate, Level::kScreened);
  const Job profiled = job;
  const Status taken =
      TakeProfile(std::move(job), [this, prompt, answer, profiled](const Result<Profile>& profile) {
        answer(*prompt, ProfileText(options_.device, profiled, profile));
      });
  if (!taken.ok()) respond(Failure(taken.error()));
}

Result<Service::Prompt> Service::Prepare(const std::string& body) {
  Prompt prompt;
  prompt.request = TRY(PromptRequestFrom(body));
  prompt.seed = prompt.request.seed.value_or(Random::Secret().Bits() >> 11);
  Random random(prompt.seed, "prompt");
  const PromptRequest::Wanted& wanted =
      prompt.request.tasks[TRY(Choose(prompt.request.tasks, random))];
  prompt.task = wanted.task;
  prompt.subject = TRY(table_.Find(wanted.task, wanted.workload));
  prompt.difficulty = TRY(DifficultyOf(prompt.task, prompt.subject->workload.name));
  prompt.exemplars = TRY(Exemplars(prompt.request, prompt.task, *prompt.subject, random));
  return prompt;
}

HttpResponse Service::PromptAnswer(const Prompt& prompt, const std::string& profile) const {
  Task task = prompt.subject->task;
  if (task.workloads.empty()) task.workloads = {prompt.subject->workload};
  const bool is_kernel = task.forms.empty() || task.forms.front() == Form::kKernel;
  prompts::Contrast contrast{.device = prompts::DeviceText(options_.device),
                             .task_name = task.name,
                             .facts = prompts::TaskFacts(task),
                             .reference = prompts::ReferenceText(task),
                             .form = is_kernel ? Form::kKernel : Form::kProgram,
                             .variants = {},
                             .profile = profile,
                             .documents = prompt.request.documents,
                             .kept = prompts::MayKeep::kNothing,  // a sample stands alone
                             .configurations = table_.ConfigurationsOf(*prompt.subject)};
  json exemplars = json::array();
  for (const Exemplar& one : prompt.exemplars) {
    contrast.variants.push_back({&*one.candidate, one.ratio, one.interval});
    exemplars.push_back(
        {{"key", one.key}, {"ratio", one.ratio}, {"interval", {one.interval.lo, one.interval.hi}}});
  }
  if (!prompt.exemplars.empty()) contrast.form = prompt.exemplars.front().candidate->form;
  const std::string text = prompts::ContrastivePrompt(contrast);
  const std::string sha256 = Sha256Hex(text);
  const json answer = {
      {"task", prompt.task},
      {"workload", prompt.subject->workload.name},
      {"prompt", text},
      {"prompt_sha256", sha256},
      {"group", Sha256Hex(sha256 + std::to_string(prompt.seed)).substr(0, kGroupCharacters)},
      {"exemplars", exemplars},
      {"has_profile", !profile.empty()},
      {"seed", prompt.seed},
      {"difficulty", DifficultyJson(prompt.difficulty)},
      {"least_samples", kLeastSamples}};
  return JsonResponse(answer);
}

}  // namespace warpsmith::serve
