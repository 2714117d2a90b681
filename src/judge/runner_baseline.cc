#include "judge/runner_baseline.h"

#include <array>
#include <memory>
#include <utility>

#include "baseline/gemm_baseline.h"
#include "baseline/tune.h"

namespace warpsmith::judge {
namespace {

// Tuning writes to the output, so it borrows the arena's first slots; the oracle fills them anew
// before anything is timed.
Result<baseline::GemmBaselineChoice> Choose(const Bench& bench, const MappedArena& arena,
                                            const std::string& name) {
  const GemmProblem& problem = arena.problem;
  const cuda::GemmOperands operands{arena.slots[0].AddressOf(0), arena.slots[1].AddressOf(0),
                                    arena.slots[2].AddressOf(0)};
  return baseline::ChooseGemmBaseline(TRY(baseline::ParseGemmBaselineName(name)), problem.m,
                                      problem.n, problem.k, operands, bench.stream);
}

}  // namespace

Result<BaselineReady> MakeBaseline(const Bench& bench, const MappedArena& arena,
                                   const BaselineCommand& command) {
  const baseline::GemmBaselineChoice choice =
      command.choice.empty() ? TRY(Choose(bench, arena, command.name))
                             : TRY(baseline::GemmBaselineChoiceFromText(command.choice));
  auto callable = std::make_shared<launch::TimedCallable>(TRY(baseline::MakeGemmBaseline(choice)));
  BaselineReady ready;
  ready.choice = baseline::ToText(choice);
  ready.contender.bind = [callable](std::span<const launch::Binding> bindings,
                                    int) -> Result<Enqueue> {
    constexpr std::array<const char*, kRoles> kNames = {"A", "B", "C"};  // the baselines' own names
    std::vector<launch::Binding> renamed(bindings.begin(), bindings.end());
    for (size_t role = 0; role < kRoles; ++role) renamed.at(role).tensor = kNames[role];
    return Enqueue([callable, renamed](const cuda::Stream& stream) {
      return callable->enqueue(stream, renamed);
    });
  };
  ready.contender.reset_workspaces = [](const cuda::Stream&) { return Status{}; };
  return ready;
}

}  // namespace warpsmith::judge
