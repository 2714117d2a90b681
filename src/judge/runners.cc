#include "judge/runners.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "judge/arena_mapping.h"
#include "judge/baseline/choice_cache.h"
#include "judge/baseline/entrants.h"
#include "judge/gpu_turns.h"

namespace warpsmith::judge {
namespace {

constexpr int kCandidatesPerRunner = 64;
constexpr std::chrono::seconds kArenaLimit{60};

std::string ProductText(const GemmShape& product) {
  return fmt::format("{}x{}x{} {} {}", product.m, product.n, product.k, Name(product.dtype),
                     product.transposed ? "TN" : "NN");
}

}  // namespace

bool SharesRunner(const Protocol& protocol) {
  return protocol.level == Level::kScreened && protocol.runner_processes <= 1;
}

// A runner is started anew where its candidate could have left something in the process that helps
// or harms the next: for every certified job, after kCandidatesPerRunner screened ones, and after a
// death. A process that did not die of its kill may still use the GPU, so nothing is started then.
Status Runners::MakeReady(const Protocol& protocol, Stage& stage) {
  const bool goes_on = SharesRunner(protocol) && current_ != nullptr && current_->alive() &&
                       current_->candidates < kCandidatesPerRunner;
  if (goes_on) {
    TRY(Settle());
  } else {
    Drop();
    TRY(CheckNoSurvivors());
    current_ = TRY(pool_.Take());
  }
  if (current_->arena_id == stage.arena->id()) return {};
  const CallResult mapped =
      TRY(MapArenaIn(*current_, *stage.arena, stage.task, stage.workload, kArenaLimit));
  if (!std::holds_alternative<Reply>(mapped)) return ErrorOfCall(mapped, "mapping the arena");
  // A runner forgets every callee with the arena that it was bound to (RunnerSession::Run).
  current_->baselines.clear();
  return {};
}

Status Runners::LoadRival(Stage& stage, const Rival& rival, const std::string& callee) {
  auto& ready = current_->baselines;
  if (std::find(ready.begin(), ready.end(), rival.name) != ready.end()) return {};
  auto found = stage.rivals.find(rival.name);
  if (found == stage.rivals.end()) {
    CHECK(options_.compiler != nullptr);
    CompileOutcome outcome = TRY(options_.compiler->Compile(rival.candidate, info_.architecture));
    if (auto* failed = std::get_if<CompileFailed>(&outcome)) {
      return Error{ErrorCode::kBadInput,
                   "rival " + rival.name + " does not compile: " + failed->reason, ""};
    }
    found = stage.rivals.emplace(rival.name, std::move(std::get<Artifact>(outcome))).first;
  }
  const ArenaPlan& plan = stage.arena->plan();
  const LoadCommand load{
      callee, {}, rival.candidate.plan, plan.touch_launches + plan.timed_launches};
  const CallResult loaded = current_->Call(load, kArenaLimit, found->second.image);
  if (!std::holds_alternative<Reply>(loaded)) {
    return ErrorOfCall(loaded, "loading rival " + rival.name);
  }
  ready.push_back(rival.name);
  return {};
}

Status Runners::AllowLibrary(const std::string& baseline) const {
  constexpr std::string_view kLibrary = "lib:";
  const auto& allowed = options_.libraries;
  if (!baseline.starts_with(kLibrary) ||
      std::find(allowed.begin(), allowed.end(), baseline.substr(kLibrary.size())) !=
          allowed.end()) {
    return {};
  }
  return Error{ErrorCode::kBadInput,
               "baseline " + baseline + ": a task may not load libraries into the judge",
               "compare libraries with 'warpsmith hgemm bench --against'"};
}

// A choice is looked for in this order: what this oracle knows, what the cache holds, a contest.
// The first open mode decides which entrants are worth timing in the others (Shortlist).
Result<ModeChoices> Runners::ChoicesOf(Stage& stage, const ChoiceRequest& request) {
  ModeChoices& known = choices_[request.name + " " + ProductText(*stage.arena->problem().gemm)];
  const bool anew = request.again || request.exhaustive_seconds > 0;
  const auto lacks = [&](Mode mode) { return anew || !known.contains(mode); };
  if (std::none_of(request.modes.begin(), request.modes.end(), lacks)) return known;
  LibraryContest contest(*current_, *stage.arena, random_);
  auto entrants = TRY(contest.Entrants(request));
  const baseline::GemmBaselineName name = entrants.front().name;
  const cuda::GemmShape& shape = entrants.front().shape;
  const baseline::ChoiceCache cache =
      baseline::ChoiceCache::Default({info_.name, info_.driver, entrants.front().library});
  std::vector<Mode> open;
  for (const Mode mode : request.modes) {
    if (entrants.size() == 1) known[mode] = entrants.front();  // there is nothing to choose
    if (entrants.size() == 1 || !lacks(mode)) continue;
    const auto cached = TRY(cache.Find({name, {shape.m, shape.n, shape.k, shape.type}, mode}));
    const bool serves =
        cached && !request.again && (request.exhaustive_seconds <= 0 || cached->exhaustive);
    if (cached) known[mode] = *cached;
    if (!serves) open.push_back(mode);
  }
  if (open.empty()) return known;
  // What was chosen before may be of an exhaustive list: it must be beaten to be replaced.
  for (const auto& [mode, choice] : known) entrants.insert(entrants.begin(), choice);
  entrants = TRY(contest.MakeReady(baseline::DistinctCalls(std::move(entrants)), request));
  for (const Mode mode : open) {
    const auto winners = TRY(contest.Hold(entrants, mode));
    TRY(cache.Put(winners));
    known[mode] = winners.front();
    if (mode == open.front()) entrants = contest.Shortlist(entrants);
  }
  return known;
}

}  // namespace warpsmith::judge
