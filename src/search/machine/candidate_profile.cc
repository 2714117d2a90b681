#include "search/machine/candidate_profile.h"

#include <cstdio>

#include "core/program_shim.h"
#include "judge/profile/static_profile.h"
#include "search/machine/profiling.h"

namespace warpsmith::search {
namespace {

Result<Artifact> Compiled(const Candidate& candidate, const std::string& architecture) {
  compile::CompilerOptions options;
  options.count_opcodes = true;
  compile::WorkerCompiler compiler(options);
  const CompileOutcome outcome = TRY(compiler.Compile(candidate, architecture));
  if (const auto* artifact = std::get_if<Artifact>(&outcome)) return *artifact;
  const auto& failed = std::get<CompileFailed>(outcome);
  return Error{ErrorCode::kAnswerIsNo,
               "the candidate does not compile: " + compile::ErrorsOf(failed),
               "mend it, and profile it again"};
}

}  // namespace

Result<Profile> ProfileOf(Machine& machine, const Task& task, const Workload& workload,
                          const Candidate& candidate, const std::string& ncu) {
  const DeviceInfo& device = machine.info();
  if (machine.served() != nullptr && machine.recorded() == nullptr) {
    return machine.served()->TakeProfile(
        Question{task, workload, Protocol::Screened()}.JobOf(candidate));
  }
  // A program is called as its task says: by a shim that is compiled with it.
  const Candidate whole = TRY(WithProgramShim(candidate, task, workload));
  Artifact artifact = TRY(Compiled(whole, device.architecture));
  const ProfileJob job{task, workload, candidate, std::move(artifact)};
  if (machine.recorded() != nullptr) return profile::StaticProfile(job, device.sm_count);
  const auto say = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const auto turn = TRY(machine.local()->TakeTurn());
  return MakeProfiler(device, {ncu, machine.sandboxed(), say})->Take(job);
}

}  // namespace warpsmith::search
