#include "agent_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "agent_beginning.h"
#include "agent_models.h"
#include "agent_recording.h"
#include "candidate_profile.h"
#include "judging.h"
#include "knowledge_file.h"
#include "maic/documents.h"
#include "maic/maic_proposer.h"
#include "profiling.h"
#include "search.h"
#include "store/worker.h"
#include "util/clock.h"

namespace warpsmith::cli {
namespace {

using optimize::EndReason;

// Everything that a run of the agent is put together from.
struct Setting {
  task::LoadedTask loaded;
  AgentModels models;
  store::Memos recorded;  // of a run that is replayed
  maic::Beginning beginning;
  Budget budget;
};

Status ApplyRecording(Machine& machine, Setting& setting) {
  if (machine.recorded() == nullptr) {
    return Error{ErrorCode::kConfig, "a run is replayed from a recording, not on a GPU",
                 "name it as the device, too: --device " + setting.models.recording};
  }
  RecordedRun run =
      TRY(FindRecordedRun(*machine.recorded(), setting.loaded.task, setting.loaded.workload));
  const auto begin = run.memos.find(maic::kBeginKey);
  if (begin == run.memos.end()) {
    return Error{ErrorCode::kBadInput, setting.models.recording + " lacks the run's beginning",
                 "record the run again"};
  }
  setting.beginning = TRY(maic::BeginningFrom(setting.models.recording, begin->second));
  setting.loaded.task = std::move(run.task);
  setting.loaded.workload = std::move(run.workload);
  setting.recorded = std::move(run.memos);
  setting.budget = {};
  setting.budget.evaluations = run.steps;
  return {};
}

Result<Setting> Prepare(const OptimizeOptions& options, Machine& machine) {
  Setting setting;
  setting.loaded = TRY(LoadJudgeable(options.task, options.workload));
  setting.budget = TRY(ParseBudget(options.search.budget));
  TRY(CheckAsked(options.agent));
  setting.models = TRY(OpenModels(options.agent, setting.budget));
  if (!setting.models.recording.empty()) {
    TRY(ApplyRecording(machine, setting));
    return setting;
  }
  setting.beginning =
      TRY(BeginningOf(options, setting.loaded.task, setting.models.waits_for_answers));
  return setting;
}

optimize::LoopRequest RequestOf(const OptimizeOptions& options, const Setting& setting,
                                const DeviceInfo& device, const std::string& run) {
  optimize::LoopRequest request;
  request.run.id = run;
  request.run.command = "warpsmith optimize " + options.task + " --proposer agent";
  request.run.task = setting.loaded.task;
  request.run.workload = setting.loaded.workload;
  request.run.protocol = SearchProtocol().For(setting.beginning.settings.form);
  request.run.proposer = "agent";
  request.run.seed = setting.beginning.seed;
  request.run.batch = setting.beginning.batch;
  request.run.device = device;
  request.budget = setting.budget;
  // The proposer holds these: it knows what a prompt will cost before it is asked.
  request.budget.tokens = Budget().tokens;
  request.budget.money = Budget().money;
  if (options.pace.max_seconds > 0) request.max_seconds = options.pace.max_seconds;
  request.worker = store::ThisWorker();
  constexpr int kSpare = 12;  // some may be vetoed or fail on hidden sizes
  request.keep_best = std::max(options.search.finalists, 1) + kSpare;
  return request;
}

maic::Assignment AssignmentOf(const Setting& setting, const optimize::LoopRequest& request,
                              const profile::ProblemFacts& facts) {
  maic::Assignment assignment;
  assignment.run = request.run.id;
  assignment.task = setting.loaded.task;
  assignment.workload = setting.loaded.workload;
  assignment.device = request.run.device;
  assignment.mode = request.run.protocol.modes.front();
  assignment.beginning = setting.beginning;
  assignment.budget = setting.budget;
  assignment.facts = facts;
  return assignment;
}

std::string CostText(const Cost& spent, const std::string& path) {
  std::string text = fmt::format("{:.1f}k tokens", static_cast<double>(spent.tokens) / 1000);
  if (spent.money > 0) text += fmt::format("  cost {:.2f}", spent.money);
  if (!path.empty()) text += "  " + path;
  return text;
}

// One run of the agent, from its first question to its report.
class AgentRun {
 public:
  AgentRun(const OptimizeOptions& options, Machine& machine, Setting setting, std::string run)
      : options_(options),
        machine_(machine),
        setting_(std::move(setting)),
        request_(RequestOf(options, setting_, machine.info(), run)),
        line_(stderr, report::StyleOf(STDERR_FILENO)) {}

  Result<int> Run() {
    store_ = TRY(machine_.store());
    memos_.emplace(*store_, request_.run.id, setting_.recorded);
    TRY(OpenSources());
    const profile::ProblemFacts facts =
        TRY(FactsOf(machine_.info(), setting_.loaded.task, setting_.loaded.workload));
    maic::MaicProposer proposer(AssignmentOf(setting_, request_, facts), Outside());
    optimize::LoopResult result = TRY(Loop(proposer));
    if (proposer.limit().has_value() && result.reason == EndReason::kExhausted) {
      result.reason = EndReason::kBudget;
      result.limit = *proposer.limit();
    }
    const bool is_over =
        result.reason == EndReason::kExhausted || result.reason == EndReason::kBudget;
    if (is_over) TRY(Concluded(proposer));
    return Report(proposer, result, is_over);
  }

 private:
  // A replay writes into nobody's base: its outcomes are known already, under another name.
  Status OpenSources() {
    const bool is_replay = memos_->is_replay();
    const bool has_memory = setting_.beginning.settings.memory == maic::Memory::kKept;
    if (!is_replay) base_ = TRY(OpenKnowledge(options_.agent.knowledge));
    users_base_ = has_memory ? base_.get() : nullptr;
    if (is_replay || options_.agent.documents.empty()) return {};
    documents_ = TRY(maic::Documents::Index(options_.agent.documents));
    return {};
  }

  maic::Outside Outside() {
    maic::Outside outside;
    outside.models = setting_.models.by_role;
    outside.price = setting_.models.price;
    outside.memos = &*memos_;
    outside.users_base = users_base_;
    if (base_ != nullptr) outside.knowledge = [this] { return base_->Read(); };
    if (machine_.recorded() == nullptr) {
      outside.take_profile = [this](const Candidate& candidate) {
        return ProfileOf(machine_, setting_.loaded, candidate, "");
      };
    }
    if (documents_ != nullptr) {
      outside.documents = [this](const std::string& words) {
        return documents_->Find(words, maic::kMostDocumentBytes);
      };
    }
    return outside;
  }

  Result<optimize::LoopResult> Loop(maic::MaicProposer& proposer) {
    optimize::LoopCallbacks callbacks;
    callbacks.on_progress = [&](const optimize::Progress& progress) {
      if (options_.common.quiet) return;
      report::Progress shown = ToReport(progress, setting_.loaded.task.name);
      shown.more = CostText(proposer.spent(), proposer.StatePath());
      line_.Update(shown, MonotonicSeconds());
    };
    auto result = optimize::RunLoop(request_, proposer, machine_.loop_compiler(), machine_.device(),
                                    *store_, callbacks);
    line_.Clear();
    if (!result.ok()) SayHowToGoOn();
    return result;
  }

  Status Concluded(maic::MaicProposer& proposer) {
    const Status concluded = proposer.Conclude();
    if (!concluded.ok()) SayHowToGoOn();
    return concluded;
  }

  void SayHowToGoOn() const {
    if (options_.common.quiet) return;
    std::fprintf(stderr, "run: %s (go on with --resume %s)\n", request_.run.id.c_str(),
                 request_.run.id.c_str());
  }

  // The best that nobody vetoed and that are right on the hidden sizes, too.
  Result<std::vector<Step>> Finalists(const maic::MaicProposer& proposer,
                                      const std::vector<Step>& best) {
    const std::map<std::string, std::string> vetoed = proposer.Vetoed();
    std::vector<Step> finalists;
    for (const Step& step : best) {
      if (static_cast<int>(finalists.size()) == std::max(options_.search.finalists, 1)) break;
      const std::string id = CandidateId(step.candidate);
      for (const std::string& doubt : proposer.DoubtsAbout(id)) {
        std::fprintf(stderr, "step %ld: doubt, %s\n", static_cast<long>(step.index), doubt.c_str());
      }
      if (vetoed.contains(id)) continue;
      if (TRY(IsRightElsewhere(step))) finalists.push_back(step);
    }
    return finalists;
  }

  Result<bool> IsRightElsewhere(const Step& step) {
    const auto& workloads = setting_.loaded.task.workloads;
    const bool has_hidden = std::any_of(workloads.begin(), workloads.end(),
                                        [](const Workload& one) { return one.hidden; });
    if (!has_hidden || machine_.recorded() != nullptr) return true;
    const auto judged = TRY(
        JudgeOnTask(machine_, setting_.loaded, SearchProtocol(), {{"the best", step.candidate}}));
    const Outcome& outcome = judged.front().completed.verdict.outcome;
    if (std::holds_alternative<Passed>(outcome)) return true;
    TRY(memos_->Keep(store::OverruledKey(CandidateId(step.candidate)), Describe(outcome)));
    std::fprintf(stderr, "step %ld: %s\n", static_cast<long>(step.index),
                 Describe(outcome).c_str());
    return false;
  }

  Result<int> Report(const maic::MaicProposer& proposer, const optimize::LoopResult& result,
                     bool is_over) {
    SearchJob job;
    job.task = setting_.loaded.task;
    job.workload = setting_.loaded.workload;
    job.label = job.task.name;
    const std::vector<Step> finalists = TRY(Finalists(proposer, result.best));
    const SearchContext context{&machine_,       &options_.search,     nullptr,
                                request_.run.id, request_.run.command, options_.pace.max_seconds};
    const SearchEnd end = TRY(Finish(job, context, request_, result, finalists));
    report::RunReport report;
    report.title = job.task.name;
    report.shapes = {end.report};
    report.origin = OriginOf(machine_, {end}, request_.run.command);
    TRY(Publish(report, options_.files, options_.common.json));
    if (is_over) TRY(Record(end));
    if (!options_.common.quiet) {
      std::fprintf(
          stderr, "%s\nrun: %s%s\n", CostText(proposer.spent(), proposer.StatePath()).c_str(),
          request_.run.id.c_str(),
          result.limit.empty() ? "" : (" (ended by its budget: " + result.limit + ")").c_str());
    }
    if (end.reason == EndReason::kInterrupted) {
      return Describe(ErrorCode::kInterrupted).exit_status;
    }
    return ExitStatus(report, options_.search.fail_on);
  }

  Status Record(const SearchEnd& end) {
    if (options_.agent.record.empty()) return {};
    std::vector<JudgedStep> steps;
    for (Step& step : TRY(store_->Steps(request_.run.id))) {
      steps.push_back({std::move(step), request_.run.protocol});
    }
    const Protocol final_protocol =
        FinalProtocol(options_.search).For(setting_.beginning.settings.form);
    for (const Step& step : end.certified) steps.push_back({step, final_protocol});
    return RecordRun(options_.agent.record, request_.run, steps, TRY(memos_->All()));
  }

  const OptimizeOptions& options_;
  Machine& machine_;
  const Setting setting_;
  const optimize::LoopRequest request_;
  report::ProgressLine line_;
  store::SqliteStore* store_ = nullptr;
  std::optional<store::RunMemos> memos_;
  std::unique_ptr<knowledge::KnowledgeBase> base_;
  knowledge::KnowledgeBase* users_base_ = nullptr;
  std::unique_ptr<maic::Documents> documents_;
};

}  // namespace

Result<int> RunAgent(const OptimizeOptions& options) {
  DeviceOptions device = options.device;
  const std::string recording = RecordingIn(options.agent);
  if (!recording.empty() && device.device == "auto" && device.gpu.empty()) {
    device.device = recording;
  }
  Machine machine = TRY(Machine::Open(device));
  // Before anybody is asked: no recording knows kernels that are yet to be written.
  if (machine.recorded() != nullptr && device.device == "auto") {
    return Error{ErrorCode::kUnavailable, "there is no NVIDIA GPU here to judge new kernels on",
                 "run where one is, or replay a recorded run: --model recorded:FILE.wsrec"};
  }
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", machine.notice().c_str());
  Setting setting = TRY(Prepare(options, machine));
  const std::string run = TRY(RunName(machine, options.search, setting.loaded.task.name));
  return AgentRun(options, machine, std::move(setting), run).Run();
}

}  // namespace warpsmith::cli
