// PyTorch as a baseline of programs.
#include <fmt/format.h>

#include <algorithm>

#include "judge/program_trial.h"
#include "judge/statistics.h"
#include "judge/torch_choice.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kStartLimit{180};  // importing torch from a cold disk
constexpr std::chrono::seconds kLoadLimit{600};   // torch.compile tries many kernels
constexpr std::chrono::seconds kMapLimit{120};
constexpr int kChoiceBursts = 3;

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
  TRY(kept.process->AwaitReady(kStartLimit));
  const PeerCallResult mapped = TRY(MapArenaIn(Bench(), job().workload, *kept.process, kMapLimit));
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

// The better of the two, remembered in this stage and on disk.
Result<std::string> ProgramTrial::BestOfTorch() {
  KeptTorch& kept = *context_.kept;
  if (kept.choice) return kept.choice->Best();
  PeerProcess* torch = TRY(Torch());
  const TorchChoice choice(
      {TaskId(job().task), job().workload, torch->started().text, context_.trial.info->name});
  kept.choice = choice.Find();
  if (kept.choice) return kept.choice->Best();
  TorchChoice::Times times;
  times.eager_us = TRY(TimeOfTorch("eager"));
  // Not everything can be compiled, or is right when it was: then there is nothing to choose.
  const Result<double> compile_us = TimeOfTorch("compile");
  if (compile_us.ok()) times.compile_us = *compile_us;
  kept.choice = times;
  TRY(choice.Store(times));
  return times.Best();
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
    const Sample stamp{0, i};
    TRY(RunOne(contender, torch, i == 0 ? nullptr : &stamp));
  }
  std::vector<double> us;
  for (const Sample& sample : contender.timing.samples) us.push_back(sample.us);
  return Median(std::move(us));
}

}  // namespace warpsmith::judge
