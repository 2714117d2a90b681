// PyTorch as a baseline of programs.
#include <fmt/format.h>

#include <algorithm>

#include "base/median.h"
#include "judge/gpu_turns.h"
#include "judge/program_trial.h"
#include "judge/statistics.h"
#include "judge/torch_choice.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kTorchStartLimit{180};  // importing torch from a cold disk
constexpr std::chrono::seconds kLoadLimit{600};        // torch.compile tries many kernels
constexpr std::chrono::seconds kTorchMapLimit{120};
constexpr int kChoiceBursts = 3;
constexpr double kLeastLead = 1.1;  // below it two times are alike
constexpr double kMostDrift = 3;    // of a time with the hand-over in it against one without

double MedianUs(const std::vector<Sample>& samples) {
  std::vector<double> us;
  for (const Sample& sample : samples) us.push_back(sample.us);
  return Median(std::move(us));
}

}  // namespace

Result<PeerProcess*> ProgramTrial::Torch() {
  KeptTorch& kept = *context_.kept;
  if (kept.process != nullptr && kept.process->alive()) {
    kept.process->Resume();
    return kept.process.get();
  }
  kept.loaded.clear();
  kept.null_us.clear();
  kept.process = TRY(context_.torch());
  TRY(kept.process->AwaitReady(kTorchStartLimit));
  const PeerCallResult mapped =
      TRY(MapArenaIn(Bench(), job().workload, *kept.process, kTorchMapLimit));
  if (std::holds_alternative<PeerReply>(mapped)) return kept.process.get();
  kept.process.reset();
  return ErrorOfPeer(mapped, "PyTorch: mapping the arena");
}

Status ProgramTrial::LoadTorch(const std::string& callee) {
  PeerProcess* torch = TRY(Torch());
  if (context_.kept->loaded.contains(callee)) return {};
  TRY(arena().StageCheck(arena().checks().front()));  // loading makes a call
  TRY(context_.trial.device->Synchronize());
  const PeerCallResult loaded = torch->Call(PeerLoad{callee, ""}, kLoadLimit);
  const auto* reply = std::get_if<PeerReply>(&loaded);
  if (reply == nullptr) return ErrorOfPeer(loaded, fmt::format("PyTorch: loading '{}'", callee));
  const PeerCallResult checked = torch->Call(PeerCheck{callee}, kLoadLimit);
  if (!std::holds_alternative<PeerReply>(checked)) {
    return ErrorOfPeer(checked, fmt::format("PyTorch: the first call of '{}'", callee));
  }
  context_.kept->loaded[callee] = reply->text;
  return {};
}

StepResult ProgramTrial::RunTorch(Contender& contender, int round) {
  TRY(LoadTorch(contender.callee));
  PeerProcess& torch = *context_.kept->process;
  torch.Pause();
  return RunBursts(contender, torch, round);
}

TorchChoice ProgramTrial::ChoiceOnDisk() const {
  return TorchChoice({TaskId(job().task), job().workload, context_.kept->process->started().text,
                      context_.trial.info->name});
}

// The better of the two, remembered in this stage and on disk.
Result<std::string> ProgramTrial::BestOfTorch() {
  KeptTorch& kept = *context_.kept;
  if (kept.choice) return kept.choice->Best();
  TRY(Torch());
  kept.choice = ChoiceOnDisk().Find();
  if (!kept.choice) TRY(ChooseTorch());
  return kept.choice->Best();
}

Status ProgramTrial::ChooseTorch() {
  TorchChoice::Times times;
  times.eager_us = TRY(TimeOfTorch("eager"));
  // Not everything can be compiled, or is right when it was: then there is nothing to choose.
  const Result<double> compile_us = TimeOfTorch("compile");
  if (compile_us.ok()) times.compile_us = *compile_us;
  context_.kept->choice = times;
  context_.kept->choice_is_new = true;
  return ChoiceOnDisk().Store(times);
}

// A choice holds for many verdicts. One that was made while something kept the machine busy would
// lower the bar of all of them. So a new choice is put to the test again at the verdict's end: its
// loser may have been the only one disturbed. An old one is where the winner's time no longer
// holds; its loser lost twice, minutes apart, and to load it again for each verdict can take
// minutes, too.
StepResult ProgramTrial::ReconsiderTorch() {
  if (!context_.kept->choice) return std::optional<Outcome>();
  const TorchChoice::Times then = *context_.kept->choice;
  if (context_.kept->choice_is_new) {
    TRY(ConfirmTorch());
    return Chosen(then);
  }
  const auto chosen = std::find_if(contenders_.begin(), contenders_.end(), [&](const auto& one) {
    return one.kind == Kind::kTorch && one.callee == then.Best();
  });
  if (chosen == contenders_.end()) return std::optional<Outcome>();
  if (then.BestUs() <= kMostDrift * MedianUs(NetTimes(*chosen).samples)) {
    return std::optional<Outcome>();
  }
  TRY(ChooseTorch());
  return Chosen(then);
}

// A second contest. Disturbances only add time, so of each callee the smaller counts. The first
// choice stays unless it was clearly wrong: by less PyTorch's times differ from burst to burst.
Status ProgramTrial::ConfirmTorch() {
  const TorchChoice::Times first = *context_.kept->choice;
  context_.kept->choice_is_new = false;
  if (!first.compile_us) return {};
  const Result<double> eager_us = TimeOfTorch("eager"), compile_us = TimeOfTorch("compile");
  if (!eager_us.ok() || !compile_us.ok()) return {};
  const TorchChoice::Times both{std::min(first.eager_us, *eager_us),
                                std::min(*first.compile_us, *compile_us)};
  const double of_first = first.Best() == "eager" ? both.eager_us : *both.compile_us;
  if (both.Best() != first.Best() && of_first <= kLeastLead * both.BestUs()) return {};
  context_.kept->choice = both;
  return ChoiceOnDisk().Store(both);
}

StepResult ProgramTrial::Chosen(const TorchChoice::Times& then) const {
  const TorchChoice::Times& now = *context_.kept->choice;
  if (now.Best() == then.Best()) return std::optional<Outcome>();
  return std::optional<Outcome>(Inconclusive{
      fmt::format("'{}' was chosen as PyTorch's better on times that no longer hold ({:.4g} us "
                  "then); now it is '{}' ({}): judge again",
                  then.Best(), then.BestUs(), now.Best(), now.Text())});
}

// What profiles a PyTorch process slows its later calls, too: the next job gets a new one.
Status ProgramTrial::TraceTorch() {
  for (Contender& contender : contenders_) {
    if (contender.kind != Kind::kTorch) continue;
    TRY(LoadTorch(contender.callee));
    PeerProcess& torch = *context_.kept->process;
    torch.Pause();
    TRY(ReadActivity(contender, torch));
  }
  context_.kept->process.reset();
  return {};
}

Result<double> ProgramTrial::TimeOfTorch(const std::string& callee) {
  Contender contender;
  contender.kind = Kind::kTorch;
  contender.callee = contender.timing.label = callee;
  contender.calls = 2;
  TRY(LoadTorch(callee));
  PeerProcess& torch = *context_.kept->process;
  torch.Pause();
  for (int i = 0; i <= kChoiceBursts; ++i) {
    const std::optional<Outcome> trouble =
        TRY(i == 0 ? RunOne(contender, torch, nullptr) : RunTimed(contender, torch, {0, i}));
    if (trouble) return Error{ErrorCode::kInternal, Describe(*trouble), "judge again"};
  }
  return MedianUs(NetTimes(contender).samples);
}

// Kept with the arena: it is the device and the outputs' sizes that decide.
Status ProgramTrial::MeasureOracle(const BatchPlan& last) {
  TRY(NobodyLeftBehind());
  std::optional<OracleCost>& kept = context_.kept->oracle;
  const OracleCost now = TRY(MeasureOracleCost(Bench(), last));
  kept = kept ? Least(*kept, now) : now;
  return {};
}

}  // namespace warpsmith::judge
