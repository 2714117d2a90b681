#include "reproducing.h"

#include <cstdio>

#include "cuda/context.h"
#include "cuda/driver.h"
#include "cuda/module.h"
#include "cuda/plan/prepared_plan.h"
#include "report/reproduce/folder.h"
#include "report/text_table.h"

namespace warpsmith::cli {
namespace {

Result<int64_t> AskDevice(search::Machine& machine, const Candidate& candidate,
                          const ResolvedLaunch& launch) {
  const CompileOutcome compiled =
      TRY(machine.compiler().Compile(candidate, machine.info().architecture));
  const auto* artifact = std::get_if<Artifact>(&compiled);
  if (artifact == nullptr) {
    return Error{ErrorCode::kBadInput,
                 "does not compile: " + std::get<CompileFailed>(compiled).reason, ""};
  }
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  const cuda::DeviceProperties device = TRY(driver->FindDevice(machine.info().uuid));
  const cuda::Context context = TRY(cuda::Context::Retain(device, cuda::HostWait::kBlock));
  const cuda::Module module = TRY(cuda::Module::Load(artifact->image));
  return plan::OccupancyOf(module, device.sm_count)(launch);
}

// None in a replay or at a server: there is no device to ask.
reproduce::Occupancy OccupancyOn(search::Machine& machine) {
  if (machine.local() == nullptr) return {};
  return [&machine](const Candidate& candidate, const ResolvedLaunch& launch) {
    return AskDevice(machine, candidate, launch);
  };
}

}  // namespace

Status WriteReproduction(search::Machine& machine, const task::LoadedTask& loaded,
                         const search::JudgedCandidate& judged,
                         const std::filesystem::path& folder) {
  const reproduce::Subject subject{
      judged.name,       loaded.task,      loaded.workload, judged.judged.step.candidate,
      judged.judged.key, judged.verdict(), machine.info()};
  const auto files = TRY(reproduce::MakeFolder(subject, OccupancyOn(machine)));
  return reproduce::WriteFolder(folder, files);
}

Status TryReproduction(search::Machine& machine, const task::LoadedTask& loaded,
                       const search::JudgedCandidate& judged, const std::filesystem::path& folder) {
  const Status written = WriteReproduction(machine, loaded, judged, folder);
  if (written.ok() || written.error().code == ErrorCode::kIo) return written;
  std::fprintf(stderr, "no reproduction of %s\n",
               report::Printable(written.error().Line()).c_str());
  return {};
}

std::string ReproductionName(const std::string& task, const std::string& workload,
                             const search::JudgedCandidate& judged) {
  constexpr size_t kIdDigits = 8;
  return reproduce::FolderName(task) + "__" + reproduce::FolderName(workload) + "__" +
         reproduce::FolderName(judged.name) + "__" +
         CandidateId(judged.judged.step.candidate).substr(0, kIdDigits);
}

}  // namespace warpsmith::cli
