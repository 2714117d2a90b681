#include "judge/program_contest.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/phase.h"
#include "base/sha256.h"
#include "core/program_shim.h"
#include "judge/arena_mapping.h"
#include "judge/program_session.h"
#include "judge/program_torch.h"
#include "judge/wall_entrant.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kProgramStartLimit{120};
constexpr int kMostCheckedCalls = 8;  // of the first burst
constexpr int kMostAhead = 3;         // processes of an entrant, at first
constexpr int kFurtherAhead = 2;      // where rounds were added

// The candidate or a rival: a shared library, or the candidate's plan.
class ProgramEntrant : public WallEntrant {
 public:
  ProgramEntrant(WallBout& bout, std::string label, bool is_candidate, bool is_plan,
                 const Artifact& artifact)
      : WallEntrant(bout, std::move(label), is_candidate, is_plan ? "plan" : "program"),
        is_plan_(is_plan),
        artifact_(artifact) {}

  StepResult Load() override;
  StepResult Check(const CheckContents& check, uint16_t poison) override;
  StepResult Measure(Mode mode, const Sample& stamp) override;

 private:
  Status StartAhead();
  Status AwaitStarted();

  bool is_plan_;
  const Artifact& artifact_;
  std::optional<RunnerPool> ahead_;         // of later turns: nothing of the entrant's is in them
  std::unique_ptr<CalledProcess> process_;  // of this turn
};

// Processes of several turns start beside each other: a context takes 0.4 s.
Status ProgramEntrant::StartAhead() {
  if (ahead_) return ahead_->IsEmpty() ? ahead_->Prepare(kFurtherAhead) : Status{};
  const Job& job = bout_.contest.job();
  ProcessOptions options = bout_.context.program;
  options.start.hidden = HiddenLibraryFiles(job.task.allow);
  ahead_.emplace(std::move(options));
  return ahead_->Prepare(static_cast<size_t>(std::clamp(job.protocol.rounds, 1, kMostAhead)));
}

// The process is a fresh one, so the candidate's code can remember nothing of earlier turns. The
// library is loaded before the arena is mapped: its initialisers run while there is no buffer that
// they could read or write.
StepResult ProgramEntrant::Load() {
  const Job& job = bout_.contest.job();
  const std::chrono::milliseconds limit = bout_.Bench().step_limit;
  TRY(StartAhead());
  process_ = TRY(ahead_->Next());
  TRY(process_->AwaitReady(kProgramStartLimit));
  if (is_candidate()) bout_.contest.evidence().sandbox = process_->started().sandbox;
  LoadCommand load{callee_};
  if (is_plan_) {
    load.plan = job.candidate.plan;
  } else {
    load.entry = kProgramEntry;
  }
  const CallResult loaded = process_->Call(load, limit, artifact_.image);
  if (!std::holds_alternative<Reply>(loaded)) {
    return Failed(*process_, loaded, "loading the program");
  }
  const CallResult mapped =
      TRY(MapArenaIn(*process_, bout_.contest.arena(), job.task, job.workload, limit));
  if (!std::holds_alternative<Reply>(mapped)) return Failed(*process_, mapped, "mapping the arena");
  return std::optional<Outcome>();
}

StepResult ProgramEntrant::Check(const CheckContents& check, uint16_t poison) {
  const BurstBench bench = bout_.Bench();
  const ResolvedTask& problem = bench.arena->problem();
  for (size_t role = problem.inputs.size(); role < problem.Roles(); ++role) {
    TRY(bench.device->kernels().RunPoison(bench.arena->exact(role), poison,
                                          bench.device->stream()));
  }
  TRY(bench.device->Synchronize());
  const double begin = MonotonicSeconds();
  const CallResult call = process_->Call(CheckCommand{callee_}, bench.step_limit);
  calls_ = std::min(kMostCheckedCalls, CallsFor((MonotonicSeconds() - begin) * 1e6));
  if (std::holds_alternative<Reply>(call)) return std::optional<Outcome>();
  return Failed(*process_, call, fmt::format("check call '{}'", DetectorName(check.input)));
}

StepResult ProgramEntrant::Measure(Mode, const Sample& stamp) {
  // The process ends with the turn, so it cannot work while another entrant is timed.
  const std::unique_ptr<CalledProcess> process = std::move(process_);
  // It is stopped until a burst continues it: the candidate's host code must not run while the
  // oracle poisons outputs and moves contents.
  process->Pause();
  TRY(AwaitStarted());
  if (auto outcome = TRY(WarmUp(*process))) return outcome;
  if (auto outcome = TRY(RunTimed(*process, stamp))) return outcome;
  // Tracing slows a process down for good, so it comes after the timed bursts.
  if (bout_.contest.is_certified() && gpu_busy_us() == 0) TRY(ReadActivity(*process));
  const Phase phase("end");
  process->Kill();
  return std::optional<Outcome>();
}

// Nothing starts while something is timed.
Status ProgramEntrant::AwaitStarted() {
  const Phase phase("start");
  return ahead_->Settle();
}

class ProgramContest : public Contest {
 public:
  explicit ProgramContest(const ProgramContext& context)
      : Contest(context.contest, Processes::kFreshEachTurn),
        context_(context),
        bout_{*this, context_},
        torch_(bout_) {
    const bool is_plan = job().candidate.form == Form::kKernel;
    auto candidate = std::make_unique<ProgramEntrant>(bout_, std::string(kCandidateName), true,
                                                      is_plan, *job().artifact);
    wall_.push_back(candidate.get());
    Add(std::move(candidate));
  }

 private:
  StepResult Open(int process) override;
  Result<std::unique_ptr<Entrant>> Baseline(const std::string& name) override;
  StepResult Close() override;
  std::vector<std::string_view> OwnDetectors() const override {
    return {"late-write", "resident-work"};
  }
  Result<std::unique_ptr<WallEntrant>> RivalOf(const Rival& rival);

  ProgramContext context_;
  WallBout bout_;
  TorchBaselines torch_;
  std::vector<WallEntrant*> wall_;  // the entrants
  std::map<std::string, Artifact> rivals_;
};

// Screened contests keep their contents from process to process. A program could write down, on
// disk or in another process, which elements tell two near duplicates apart; so these at least are
// drawn anew.
StepResult ProgramContest::Open(int process) {
  const Phase phase("contents");
  if (process == 0) TRY(arena().RefillGuards());
  if (!TRY(RenewContents(process)) && process > 0) {
    TRY(arena().RenewNearDuplicates(random()));
    book().ForgetContents();
  }
  return std::optional<Outcome>();
}

Result<std::unique_ptr<Entrant>> ProgramContest::Baseline(const std::string& name) {
  const auto& rivals = job().task.rivals;
  const auto rival = std::find_if(rivals.begin(), rivals.end(),
                                  [&](const Rival& one) { return one.name == name; });
  auto entrant = rival == rivals.end() ? TRY(torch_.Make(name)) : TRY(RivalOf(*rival));
  wall_.push_back(entrant.get());
  return std::unique_ptr<Entrant>(std::move(entrant));
}

Result<std::unique_ptr<WallEntrant>> ProgramContest::RivalOf(const Rival& rival) {
  if (rival.candidate.form != Form::kProgram) {
    return Error{ErrorCode::kBadInput,
                 fmt::format("rival {} is no program: programs are compared with programs on "
                             "the wall clock, kernels with kernels on the device's",
                             rival.name),
                 "give the rival as a program, or judge candidates of form kernel"};
  }
  auto artifact = rivals_.find(rival.name);
  if (artifact == rivals_.end()) {
    artifact = rivals_.emplace(rival.name, TRY(context_.compile(rival.candidate))).first;
  }
  return std::unique_ptr<WallEntrant>(
      std::make_unique<ProgramEntrant>(bout_, rival.name, false, false, artifact->second));
}

StepResult ProgramContest::Close() {
  if (auto outcome = TRY(torch_.Reconsider())) return outcome;
  for (const WallEntrant* entrant : wall_) {
    if (!bout_.has_torch || !context_.kept->oracle) break;
    if (auto doubt = entrant->DoubtShares()) return doubt;
  }
  TRY(torch_.Describe());
  return std::optional<Outcome>();
}

}  // namespace

TorchChoice::TorchChoice(const std::string& task_id, const Workload& workload,
                         const std::string& torch, const std::string& device) {
  std::string key = fmt::format("{}\n{}\n{}\n", task_id, torch, device);
  for (const auto& [name, value] : workload.sizes) key += fmt::format("{}={}\n", name, value);
  path_ = CacheHome() / "torch-best" / Sha256Hex(key);
}

std::string TorchChoice::Times::Best() const {
  return compile_us && *compile_us < eager_us ? "compile" : "eager";
}

double TorchChoice::Times::BestUs() const {
  return compile_us ? std::min(eager_us, *compile_us) : eager_us;
}

std::string TorchChoice::Times::Text() const {
  return fmt::format("eager {:.4g} us, compile {}", eager_us,
                     compile_us ? fmt::format("{:.4g} us", *compile_us) : "impossible");
}

std::optional<TorchChoice::Times> TorchChoice::Find() const {
  const Result<std::string> text = ReadFile(path_);
  if (!text.ok()) return std::nullopt;
  Times times{0, 0.0};
  if (std::sscanf(text->c_str(), "eager %lf compile %lf", &times.eager_us, &*times.compile_us) !=
      2) {
    return std::nullopt;
  }
  return times;
}

Status TorchChoice::Store(const Times& times) const {
  if (!times.compile_us) return {};  // another day it may compile
  TRY(CreateDirectories(path_.parent_path()));
  return WriteFileAtomic(path_,
                         fmt::format("eager {} compile {}\n", times.eager_us, *times.compile_us));
}

Result<Outcome> RunProgramContest(const ProgramContext& context) {
  return ProgramContest(context).Run();
}

}  // namespace warpsmith::judge
