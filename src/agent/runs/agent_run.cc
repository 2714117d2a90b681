#include "agent/runs/agent_run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <string_view>

#include "agent/documents.h"
#include "agent/knowledge/knowledge_base.h"
#include "agent/maic_proposer.h"
#include "base/clock.h"
#include "base/display_text.h"
#include "report/terminal.h"
#include "search/call_time.h"
#include "search/machine/profiling.h"
#include "store/worker.h"
#include "task/candidate_file.h"

namespace warpsmith::agent {
namespace {

// Where somebody answers by hand, a round that only names states is left out.
bool Asks(const AgentOptions& options, const char* question, bool by_hand) {
  if (options.ask == "auto") return !(by_hand && std::string_view(question) == "states");
  return options.ask.find(question) != std::string::npos;
}

agent::Settings SettingsOf(const AgentOptions& options, Form form, bool by_hand) {
  agent::Settings settings;
  if (options.minimal) settings.style = agent::Style::kMinimal;
  if (options.contrastive) settings.style = agent::Style::kContrastive;
  if (options.no_memory) settings.memory = agent::MemoryUse::kNone;
  if (options.cycles_only) settings.profiles = agent::Profiles::kTimesOnly;
  settings.form = form;
  settings.breadth = options.breadth;
  settings.depth = options.depth;
  settings.top_k = options.top_k;
  settings.repairs = options.repairs;
  const bool learns = settings.style == agent::Style::kMaic;
  settings.asks_states = learns && Asks(options, "states", by_hand);
  settings.asks_reviews =
      learns && settings.memory == agent::MemoryUse::kKept && Asks(options, "reviews", by_hand);
  settings.asks_doubts = Asks(options, "doubts", by_hand);
  settings.sampling.temperature = options.temperature;
  settings.sampling.top_p = options.top_p;
  settings.sampling.max_tokens = options.max_tokens;
  settings.sampling.seed = options.sampling_seed;
  return settings;
}

Result<Form> FormOf(const RunOptions& options, const Task& task,
                    const std::optional<Candidate>& start) {
  if (start.has_value()) return start->form;
  if (options.agent.form.empty()) return agent::FormFor(task);
  const Form form = options.agent.form == "kernel" ? Form::kKernel : Form::kProgram;
  Candidate wanted;
  wanted.form = form;
  TRY(task::CheckForm("--form " + options.agent.form, wanted, task));
  return form;
}

bool MayBeAsked(std::string_view word) {
  constexpr std::array<std::string_view, 5> kWords = {"states", "reviews", "doubts", "none",
                                                      "auto"};
  return std::ranges::find(kWords, word) != kWords.end();
}

Error NoQuestion(const std::string& asked, const std::string& word) {
  return {ErrorCode::kUsage, "--ask " + asked + ": '" + word + "' is no further question",
          "write states, reviews, doubts with commas between them, none, or auto"};
}

using search::EndReason;

constexpr int kSpareFinalists = 12;  // some may be vetoed or fail on hidden sizes

// A replay judges as the recorded run did, whatever today's protocols are.
Protocol ProtocolOf(const AgentSetting& setting) {
  if (setting.replayed.has_value()) return setting.replayed->protocol;
  return search::SearchProtocol().For(setting.run_config.settings.form);
}

Protocol CertifyingOf(const AgentSetting& setting, const search::SearchOptions& options) {
  const bool is_known = setting.replayed.has_value() && setting.replayed->certifying.has_value();
  if (is_known) return *setting.replayed->certifying;
  return search::FinalProtocol(options).For(setting.run_config.settings.form);
}

// How many finalists a replay has stands in its recording: all are handed on, and those that were
// certified then are certified now.
RunOptions WithAllFinalists(RunOptions options, const AgentSetting& setting) {
  if (!setting.replayed.has_value()) return options;
  options.search.finalists = static_cast<int>(std::max<int64_t>(setting.replayed->steps, 1));
  return options;
}

search::LoopRequest RequestOf(const RunOptions& options, const AgentSetting& setting,
                              const DeviceInfo& device, const std::string& run) {
  search::LoopRequest request;
  request.run.id = run;
  request.run.command = setting.command;
  request.run.task = setting.loaded.task;
  request.run.workload = setting.loaded.workload;
  request.run.protocol = ProtocolOf(setting);
  request.reward = setting.run_config.settings.reward;
  request.run.proposer = ProposerText("agent", request.reward);
  request.run.seed = setting.run_config.seed;
  request.run.batch = setting.run_config.batch;
  request.run.device = device;
  request.budget = setting.budget;
  // The proposer holds these: it knows what a prompt will cost before it is asked.
  request.budget.tokens = Budget().tokens;
  request.budget.money = Budget().money;
  request.max_seconds = search::CallTime(options.pace).Left();
  request.worker = store::ThisWorker();
  if (setting.replayed.has_value()) request.propose_to = setting.replayed->end.evaluations;
  request.keep_best = std::max(options.search.finalists, 1) + kSpareFinalists;
  return request;
}

agent::RunSetup AssignmentOf(const AgentSetting& setting, const search::LoopRequest& request,
                             const profile::ProblemFacts& facts) {
  agent::RunSetup setup;
  setup.run = request.run.id;
  setup.task = setting.loaded.task;
  setup.workload = setting.loaded.workload;
  setup.device = request.run.device;
  setup.mode = request.run.protocol.modes.front();
  setup.run_config = setting.run_config;
  setup.budget = setting.budget;
  if (setting.replayed.has_value()) setup.known_end = setting.replayed->end.token_budget;
  setup.facts = facts;
  return setup;
}

std::string CostText(const Cost& spent, const std::string& path) {
  std::string text = fmt::format("{:.1f}k tokens", static_cast<double>(spent.tokens) / 1000);
  if (spent.money > 0) text += fmt::format("  cost {:.2f}", spent.money);
  if (!path.empty()) text += "  " + path;
  return text;
}

bool Reports(const search::SearchEnd& end, const std::string& candidate_id) {
  const auto is_it = [&](const Step& step) { return CandidateId(step.candidate) == candidate_id; };
  return (end.winner && is_it(*end.winner)) || std::ranges::any_of(end.certified, is_it);
}

class AgentRun {
 public:
  AgentRun(const RunOptions& options, search::Machine& machine, AgentSetting setting,
           const std::string& run, report::ProgressLine* line)
      : options_(WithAllFinalists(options, setting)),
        machine_(machine),
        setting_(std::move(setting)),
        request_(RequestOf(options_, setting_, machine.info(), run)),
        certifying_(CertifyingOf(setting_, options_.search)),
        line_(line) {}

  Result<AgentEnd> Run() {
    if (!options_.agent.record.empty()) TRY(CheckNew(options_.agent.record));
    store_ = TRY(machine_.store());
    memos_.emplace(*store_, request_.run.id,
                   setting_.replayed.has_value() ? setting_.replayed->memos : store::Memos());
    TRY(OpenSources());
    const profile::ProblemFacts facts =
        TRY(search::FactsOf(machine_.info(), setting_.loaded.task, setting_.loaded.workload));
    agent::MaicProposer proposer(AssignmentOf(setting_, request_, facts), Services());
    search::LoopResult result = TRY(Loop(proposer));
    if (proposer.limit().has_value() && result.reason == EndReason::kExhausted) {
      result.reason = EndReason::kBudget;
      result.limit = *proposer.limit();
    }
    const bool is_over =
        result.reason == EndReason::kExhausted || result.reason == EndReason::kBudget;
    if (is_over) TRY(Concluded(proposer));
    AgentEnd end;
    end.search = TRY(Certified(proposer, result));
    const bool is_replayed = is_over && setting_.replayed.has_value();
    end.limit = is_replayed ? setting_.replayed->end.limit : result.limit;
    end.outcome = CostText(proposer.spent(), proposer.StatePath());
    if (is_over) TRY(Record(end, proposer.token_budget_end()));
    return end;
  }

 private:
  // A replay writes into nobody's base: its outcomes are known already, under another name.
  Status OpenSources() {
    const bool is_replay = setting_.replayed.has_value();
    const bool has_memory = setting_.run_config.settings.memory == agent::MemoryUse::kKept;
    if (!is_replay) base_ = TRY(knowledge::OpenKnowledge(options_.agent.knowledge));
    users_base_ = has_memory ? base_.get() : nullptr;
    if (is_replay || options_.agent.documents.empty()) return {};
    documents_ = TRY(agent::Documents::Index(options_.agent.documents));
    return {};
  }

  agent::Services Services() {
    agent::Services services;
    services.models = setting_.models.by_role;
    services.price = setting_.models.price;
    services.memos = &*memos_;
    services.users_base = users_base_;
    if (base_ != nullptr) services.knowledge = [this] { return base_->Read(); };
    if (machine_.recorded() == nullptr) {
      services.take_profile = [this](const Candidate& candidate) {
        return search::ProfileOf(machine_, setting_.loaded.task, setting_.loaded.workload,
                                 candidate, "");
      };
    }
    if (documents_ != nullptr) {
      services.documents = [this](const std::string& words) {
        return documents_->Find(words, agent::kMostDocumentBytes);
      };
    }
    return services;
  }

  Result<search::LoopResult> Loop(agent::MaicProposer& proposer) {
    search::LoopCallbacks callbacks;
    callbacks.on_progress = [&](const search::Progress& progress) {
      if (line_ == nullptr) return;
      report::Progress shown = search::ToReport(progress, setting_.loaded.task.name);
      if (setting_.replayed.has_value()) shown.seconds_left.reset();
      shown.more = CostText(proposer.spent(), proposer.StatePath());
      line_->Update(shown, MonotonicSeconds());
    };
    auto result = search::RunLoop(request_, proposer, machine_.loop_compiler(), machine_.device(),
                                  *store_, callbacks);
    if (line_ != nullptr) line_->Clear();
    if (!result.ok()) SayHowToGoOn();
    return result;
  }

  Status Concluded(agent::MaicProposer& proposer) {
    const Status concluded = proposer.Conclude();
    if (!concluded.ok()) SayHowToGoOn();
    return concluded;
  }

  void SayHowToGoOn() const {
    if (options_.quiet) return;
    std::fprintf(stderr, "run: %s (go on with --resume %s)\n", request_.run.id.c_str(),
                 request_.run.id.c_str());
  }

  // The best that nobody vetoed and that are right on the hidden sizes, too.
  Result<std::vector<Step>> Finalists(const agent::MaicProposer& proposer,
                                      const std::vector<Step>& best) {
    const std::map<std::string, std::string> vetoed = proposer.Vetoed();
    std::vector<Step> finalists;
    for (const Step& step : best) {
      if (static_cast<int>(finalists.size()) == std::max(options_.search.finalists, 1)) break;
      if (vetoed.contains(CandidateId(step.candidate))) {
        TellDoubts(proposer, step);
      } else if (TRY(IsRightElsewhere(step))) {
        finalists.push_back(step);
      }
    }
    return finalists;
  }

  static void TellDoubts(const agent::MaicProposer& proposer, const Step& step) {
    std::fprintf(stderr, "step %ld is left out: a model that read it has doubts\n",
                 static_cast<long>(step.index));
    const report::TerminalStyle style = report::StyleOf(STDERR_FILENO);
    for (const std::string& doubt : proposer.DoubtsAbout(CandidateId(step.candidate))) {
      const std::string text = ForTerminal(doubt, doubt.size());
      const std::string lines = style.redraws ? report::Wrapped(text, style.width) : "  " + text;
      std::fprintf(stderr, "%s\n", lines.c_str());
    }
  }

  Result<bool> IsRightElsewhere(const Step& step) {
    const std::string key = store::OverruledKey(CandidateId(step.candidate));
    if (setting_.replayed.has_value()) return !TRY(memos_->Find(key)).has_value();
    const auto& workloads = setting_.loaded.task.workloads;
    const bool has_hidden = std::any_of(workloads.begin(), workloads.end(),
                                        [](const Workload& one) { return one.hidden; });
    if (!has_hidden) return true;
    search::SessionOptions judging;
    judging.keeps_verdicts = true;
    judging.checks_hidden = true;
    search::Session session(
        {setting_.loaded.task, setting_.loaded.workload, search::SearchProtocol()},
        TRY(machine_.seams()), judging);
    const Step judged = TRY(session.Evaluate(step.candidate)).step;
    const Outcome& outcome = judged.verdict.outcome;
    if (std::holds_alternative<Passed>(outcome)) return true;
    TRY(memos_->Keep(key, Describe(outcome)));
    std::fprintf(stderr, "step %ld: %s\n", static_cast<long>(step.index),
                 Describe(outcome).c_str());
    return false;
  }

  Result<search::SearchEnd> Certified(const agent::MaicProposer& proposer,
                                      const search::LoopResult& result) {
    search::SearchJob job;
    job.task = setting_.loaded.task;
    job.workload = setting_.loaded.workload;
    job.label = job.task.name;
    const std::vector<Step> finalists = TRY(Finalists(proposer, result.best));
    search::SearchContext context{&machine_, &options_.search, nullptr, request_.run.id,
                                  request_.run.command};
    context.certifying = certifying_;
    const search::SearchEnd end = TRY(search::Finish(job, context, request_, result, finalists));
    for (const Step& step : finalists) {
      if (Reports(end, CandidateId(step.candidate))) TellDoubts(proposer, step);
    }
    return end;
  }

  Status Record(const AgentEnd& end, const std::optional<agent::TokenBudgetEnd>& token_budget) {
    if (options_.agent.record.empty()) return {};
    std::vector<JudgedStep> steps;
    for (Step& step : TRY(store_->Steps(request_.run.id))) {
      steps.push_back({std::move(step), request_.run.protocol});
    }
    for (const Step& step : end.search.certified) steps.push_back({step, certifying_});
    store::Memos memos = TRY(memos_->All());
    if (!setting_.replayed.has_value()) {
      memos[kEndKey] = TextOf({setting_.budget.evaluations, end.limit, token_budget});
      return RecordRun(options_.agent.record, request_.run, steps, memos, nullptr);
    }
    const RecordedRun& replayed = *setting_.replayed;
    if (const auto known = replayed.memos.find(kEndKey); known != replayed.memos.end()) {
      memos.insert(*known);
    }
    return RecordRun(options_.agent.record, request_.run, steps, memos, &replayed);
  }

  const RunOptions options_;
  search::Machine& machine_;
  const AgentSetting setting_;
  const search::LoopRequest request_;
  const Protocol certifying_;
  report::ProgressLine* const line_;
  store::DatabaseStore* store_ = nullptr;
  std::optional<store::RunMemos> memos_;
  std::unique_ptr<knowledge::KnowledgeBase> base_;
  knowledge::KnowledgeBase* users_base_ = nullptr;
  std::unique_ptr<agent::Documents> documents_;
};

}  // namespace

Status CheckAsked(const AgentOptions& options) {
  const std::string& asked = options.ask;
  for (size_t at = 0; at <= asked.size();) {
    const size_t end = std::min(asked.find(',', at), asked.size());
    const std::string one = asked.substr(at, end - at);
    if (!MayBeAsked(one)) return NoQuestion(asked, one);
    at = end + 1;
  }
  return {};
}

Result<agent::RunConfig> RunConfigOf(const RunOptions& options, const Task& task, bool by_hand) {
  agent::RunConfig run_config;
  run_config.start = TRY(task::StartingKernel(options.candidate, task));
  // Where it came from is not what is proposed: the same code begins the same run.
  if (run_config.start.has_value()) run_config.start->provenance = {};
  const Form form = TRY(FormOf(options, task, run_config.start));
  run_config.settings = SettingsOf(options.agent, form, by_hand);
  run_config.settings.reward = TRY(ParseRewardShape(options.search.reward, kSearchReward));
  run_config.seed = options.search.seed;
  run_config.batch = options.agent.breadth * options.agent.top_k;
  return run_config;
}

Result<AgentSetting> ToReplay(RecordedRun run) {
  const auto begin = run.memos.find(agent::kBeginKey);
  if (begin == run.memos.end()) {
    return Error{ErrorCode::kBadInput, "the recorded run '" + run.space + "' lacks its beginning",
                 "record the run again"};
  }
  AgentSetting setting;
  setting.run_config = TRY(agent::RunConfigFrom(run.space, begin->second));
  setting.loaded = {run.task, run.workload};
  setting.budget.evaluations = run.steps;
  setting.replayed = std::move(run);
  return setting;
}

Result<AgentEnd> CarryOut(const RunOptions& options, search::Machine& machine, AgentSetting setting,
                          const std::string& run, report::ProgressLine* line) {
  return AgentRun(options, machine, std::move(setting), run, line).Run();
}

}  // namespace warpsmith::agent
