#include "agent/runs/part_kernels.h"

#include <optional>
#include <system_error>

#include "agent/prompts/prompt_values.h"
#include "store/best_step.h"
#include "task/candidate_file.h"
#include "task/task_file.h"

namespace warpsmith::agent {
namespace {

std::string FactsOf(const split::Part& part) {
  std::string text = prompts::TaskFacts(part.task);
  for (const auto& [tensor, value] : part.values) {
    if (tensor != value) text += "its tensor " + tensor + " is " + value + " of the whole\n";
  }
  return text + "\n" + prompts::ReferenceText(part.task);
}

Result<std::optional<Candidate>> Exported(const std::filesystem::path& folder,
                                          const split::Part& part) {
  const std::filesystem::path path = folder / part.name / kExportedKernel;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::optional<Candidate>();
  return task::StartingKernel(path.string(), part.task);
}

Result<std::optional<Candidate>> Stored(store::DatabaseStore& store,
                                        const std::vector<RunRecord>& runs, const Task& part,
                                        const std::string& architecture) {
  std::vector<RunRecord> own;
  for (const RunRecord& run : runs) {
    const bool is_its = TaskId(run.task) == TaskId(part) && run.device.architecture == architecture;
    if (is_its) own.push_back(run);
  }
  const std::optional<Step> best = TRY(store::BestStep(store, own));
  if (!best.has_value()) return std::optional<Candidate>();
  return std::optional(best->candidate);
}

Error NoKernel(const std::filesystem::path& folder, const split::Part& part) {
  const std::string path = (folder / part.name).string();
  return {ErrorCode::kNothingMeasured, "part '" + part.name + "' has no kernel yet",
          "warpsmith optimize " + path + " --proposer agent ..., or export one into " + path + "/" +
              kExportedKernel};
}

// The split may be of a task that looks alike.
Status CheckWhole(const std::filesystem::path& folder, const Task& whole) {
  const std::string path = TRY(split::WholeOf(folder));
  if (TaskId(TRY(task::LoadTask(path)).task) == TaskId(whole)) return {};
  return Error{ErrorCode::kBadInput, folder.string() + " splits another task: " + path,
               "optimize that one, or split this one again"};
}

}  // namespace

Result<std::vector<agent::PartKernel>> PartKernels(const std::filesystem::path& folder,
                                                   const Task& whole, store::DatabaseStore& store,
                                                   const std::string& architecture) {
  TRY(CheckWhole(folder, whole));
  const split::Split split = TRY(split::LoadSplit(folder, whole));
  const std::vector<RunRecord> runs = TRY(store.Runs());
  std::vector<agent::PartKernel> kernels;
  for (const split::Part& part : split.parts) {
    std::optional<Candidate> kernel = TRY(Exported(folder, part));
    if (!kernel.has_value()) kernel = TRY(Stored(store, runs, part.task, architecture));
    if (!kernel.has_value()) return NoKernel(folder, part);
    kernel->provenance = {};  // where it came from is not what is proposed
    kernels.push_back({part.task.name, FactsOf(part), std::move(*kernel)});
  }
  return kernels;
}

}  // namespace warpsmith::agent
