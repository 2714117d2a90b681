#include "judge/standalone/job.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_reader.h"
#include "core/serialize.h"

namespace warpsmith::standalone {
namespace {

namespace fs = std::filesystem;

// Names come from task files, which come from anywhere.
Status CheckNames(const Task& task) {
  for (const TensorSpec& tensor : task.tensors) {
    const std::string& name = tensor.name;
    if (!name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
        name.find('\0') == std::string::npos) {
      continue;
    }
    return Error{ErrorCode::kBadInput,
                 "stand-alone run: tensor '" + name + "' cannot be the name of a file",
                 "rename the tensor"};
  }
  return {};
}

Task WhatARunNeeds(const Task& task, const Workload& workload) {
  Task needed = task;
  needed.reference.sources.clear();
  needed.reference.plan.reset();
  needed.rivals.clear();
  needed.baselines.clear();
  needed.workloads = {workload};
  return needed;
}

}  // namespace

Status WriteStandaloneJob(const fs::path& dir, const StandaloneJob& job, std::string_view image) {
  TRY(CheckNames(job.task));
  TRY(CreateDirectories(dir));
  const nlohmann::json document = {{"version", kStandaloneJobVersion},
                                   {"task", ToJson(WhatARunNeeds(job.task, job.workload))},
                                   {"workload", ToJson(job.workload)},
                                   {"candidate", ToJson(job.candidate)},
                                   {"architecture", job.architecture}};
  TRY(WriteFileAtomic(ImagePath(dir), image));
  return WriteFileAtomic(dir / "job.json", JsonText(document));
}

Result<StandaloneJob> ReadStandaloneJob(const fs::path& dir) {
  const fs::path path = dir / "job.json";
  const std::string text = TRY(ReadFile(path));
  const nlohmann::json document = TRY(ParseJson(path.string(), text));
  const JsonReader json(path.string(), document);
  if (TRY(json.At("version").Int()) != kStandaloneJobVersion) {
    return Error{ErrorCode::kVersion, path.string() + ": not a version that this program reads",
                 "write the folder with the same warpsmith that runs it"};
  }
  TRY(json.OnlyFields({"version", "task", "workload", "candidate", "architecture"}));
  StandaloneJob job;
  job.task = TRY(TaskFrom(json.At("task")));
  job.workload = TRY(WorkloadFrom(json.At("workload")));
  job.candidate = TRY(CandidateFrom(json.At("candidate")));
  job.architecture = TRY(json.At("architecture").String());
  TRY(CheckNames(job.task));
  return job;
}

fs::path ImagePath(const fs::path& dir) { return dir / "image"; }
fs::path InputPath(const fs::path& dir, const std::string& tensor) {
  return dir / "inputs" / tensor;
}
fs::path FinishedPath(const fs::path& dir) { return dir / "finished"; }

}  // namespace warpsmith::standalone
