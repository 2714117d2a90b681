#include "judge/runner_session.h"

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cuda/plan/half_type.h"
#include "judge/baseline/entrants.h"
#include "judge/baseline/gemm_baseline.h"
#include "judge/baseline/rival_library.h"

namespace warpsmith::judge {
namespace {

// Libraries load their kernels at the first call, which a capture would not survive.
Status RunOnce(const Bench& bench, const MappedArena& arena, const Callable& callable) {
  const Enqueue enqueue = TRY(callable.bind(BindingsOf(arena, WireLaunch{0, 0, 0}), 0));
  TRY(enqueue(bench.stream));
  return bench.context.Synchronize();
}

Status CheckProduct(const MappedArena& arena, const std::string& name) {
  if (arena.problem.gemm) return {};
  return Error{ErrorCode::kBadInput, "baseline " + name + " multiplies matrices; the task does not",
               "name torch-best or a rival as the task's baseline"};
}

}  // namespace

Result<std::string> ListEntrants(const MappedArena& arena, const EntrantsCommand& command) {
  TRY(CheckProduct(arena, command.name));
  const baseline::GemmBaselineName name = TRY(baseline::ParseGemmBaselineName(command.name));
  const GemmShape& problem = *arena.problem.gemm;
  const cuda::HalfType type = plan::HalfTypeOf(problem.dtype);
  std::vector<baseline::GemmBaselineChoice> entrants;
  if (name.library == baseline::GemmLibrary::kRival) {
    const auto layout = problem.transposed ? cuda::GemmLayout::kTN : cuda::GemmLayout::kNN;
    baseline::GemmBaselineChoice choice;
    choice.name = name;
    choice.shape = {problem.m, problem.n, problem.k, layout, type};
    choice.library = TRY(baseline::RivalVersion(name.path));
    entrants.push_back(std::move(choice));
  } else {
    baseline::EntrantOptions options;
    options.exhaustive_seconds = command.exhaustive_seconds;
    entrants = TRY(baseline::Entrants(name, {problem.m, problem.n, problem.k, type}, options));
  }
  nlohmann::json list = nlohmann::json::array();
  for (const baseline::GemmBaselineChoice& choice : entrants) {
    list.push_back(baseline::ToJson(choice));
  }
  return list.dump();
}

Result<Callable> MakeBaseline(const Bench& bench, const MappedArena& arena,
                              const BaselineCommand& command, baseline::SharedHandles& shared) {
  TRY(CheckProduct(arena, command.name));
  const auto choice = TRY(baseline::GemmBaselineChoiceFromText(command.choice));
  auto product =
      std::make_shared<plan::TimedCallable>(TRY(baseline::MakeGemmBaseline(choice, shared)));
  Callable callable;
  callable.bind = [product](std::span<const plan::Binding> bindings, int) -> Result<Enqueue> {
    constexpr std::array<const char*, 3> kNames = {"A", "B", "C"};  // the baselines' own names
    std::vector<plan::Binding> renamed(bindings.begin(), bindings.end());
    for (size_t role = 0; role < kNames.size(); ++role) renamed.at(role).tensor = kNames[role];
    return Enqueue([product, renamed](const cuda::Stream& stream) {
      return product->enqueue(stream, renamed);
    });
  };
  callable.reset_workspaces = [](const cuda::Stream&) { return Status{}; };
  callable.clear_notes = callable.reset_workspaces;
  TRY(RunOnce(bench, arena, callable));
  return callable;
}

}  // namespace warpsmith::judge
