#include "judge/runner_baseline.h"

#include <array>
#include <memory>
#include <utility>

#include "cuda/cublas.h"
#include "cuda/cublaslt.h"
#include "cuda/nvml.h"
#include "cuda/plan/half_type.h"
#include "judge/baseline/choice_cache.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/baseline/rival_library.h"
#include "judge/baseline/tune.h"

namespace warpsmith::judge {
namespace {

cuda::GemmOperands FirstSlots(const MappedArena& arena) {
  return {arena.slots[0].AddressOf(0), arena.slots[1].AddressOf(0), arena.slots[2].AddressOf(0)};
}

Result<baseline::ChoiceCache> CacheFor(const Bench& bench, const baseline::GemmBaselineName& name) {
  const bool is_cublas = name.library == baseline::GemmLibrary::kCublas;
  const std::string library = TRY(is_cublas ? cuda::CublasVersion() : cuda::CublasLtVersion());
  const Result<std::string> driver = cuda::DriverRelease();
  return baseline::ChoiceCache::Default(
      {bench.context.device().name, driver.ok() ? driver.value() : "unknown", library});
}

// From the cache, or made here and stored. Tuning writes to the output, so it borrows the arena's
// first slots; the oracle fills them anew before anything is timed.
Result<baseline::GemmBaselineChoice> Choose(const Bench& bench, const MappedArena& arena,
                                            const std::string& text) {
  const baseline::GemmBaselineName name = TRY(baseline::ParseGemmBaselineName(text));
  const GemmShape& problem = *arena.problem.gemm;
  const cuda::HalfType type = plan::HalfTypeOf(problem.dtype);
  if (name.library == baseline::GemmLibrary::kRival) {  // there is nothing to choose
    const auto layout = problem.transposed ? cuda::GemmLayout::kTN : cuda::GemmLayout::kNN;
    baseline::GemmBaselineChoice choice;
    choice.name = name;
    choice.shape = {problem.m, problem.n, problem.k, layout, type};
    choice.library = TRY(baseline::RivalVersion(name.path));
    return choice;
  }
  const baseline::ChoiceCache cache = TRY(CacheFor(bench, name));
  const baseline::ChoiceKey key{name, {problem.m, problem.n, problem.k, type}};
  if (auto known = TRY(cache.Find(key))) return *std::move(known);
  baseline::GemmBaselineChosen chosen =
      TRY(baseline::ChooseGemmBaseline(name, key.problem, FirstSlots(arena), bench.stream));
  std::vector<baseline::GemmBaselineChoice> made = {chosen.best};
  for (const baseline::GemmBaselineChoice& choice : chosen.of_layouts) {
    if (!TRY(cache.Find({choice.name, key.problem}))) made.push_back(choice);
  }
  TRY(cache.Put(made));
  return std::move(chosen.best);
}

// Libraries load their kernels at the first call, which a capture would not survive.
Status RunOnce(const Bench& bench, const MappedArena& arena, const Contender& contender) {
  const Enqueue enqueue = TRY(contender.bind(BindingsOf(arena, WireLaunch{0, 0, 0}), 0));
  TRY(enqueue(bench.stream));
  return bench.context.Synchronize();
}

}  // namespace

Result<BaselineReady> MakeBaseline(const Bench& bench, const MappedArena& arena,
                                   const BaselineCommand& command) {
  if (!arena.problem.gemm) {
    return Error{ErrorCode::kBadInput,
                 "baseline " + command.name + " multiplies matrices; the task does not",
                 "name torch-best or a rival as the task's baseline"};
  }
  const baseline::GemmBaselineChoice choice =
      command.choice.empty() ? TRY(Choose(bench, arena, command.name))
                             : TRY(baseline::GemmBaselineChoiceFromText(command.choice));
  auto callable = std::make_shared<plan::TimedCallable>(TRY(baseline::MakeGemmBaseline(choice)));
  BaselineReady ready;
  ready.choice = baseline::ToText(choice);
  ready.contender.bind = [callable](std::span<const plan::Binding> bindings,
                                    int) -> Result<Enqueue> {
    constexpr std::array<const char*, 3> kNames = {"A", "B", "C"};  // the baselines' own names
    std::vector<plan::Binding> renamed(bindings.begin(), bindings.end());
    for (size_t role = 0; role < kNames.size(); ++role) renamed.at(role).tensor = kNames[role];
    return Enqueue([callable, renamed](const cuda::Stream& stream) {
      return callable->enqueue(stream, renamed);
    });
  };
  ready.contender.reset_workspaces = [](const cuda::Stream&) { return Status{}; };
  TRY(RunOnce(bench, arena, ready.contender));
  return ready;
}

}  // namespace warpsmith::judge
