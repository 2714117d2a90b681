#include "task/task_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/serialize.h"
#include "task/embed.h"
#include "task/hgemm_task.h"
#include "task/source_files.h"
#include "task/task_rules.h"
#include "task/toml_json.h"

namespace warpsmith::task {
namespace {

constexpr std::string_view kBuiltIn = "hgemm:";

// "MxNxK", then optionally a layout, then optionally a type: "64x64x64:TN:bf16".
Result<LoadedTask> BuiltInHgemm(std::string_view text) {
  std::string_view rest = text;
  const auto next = [&rest] {
    const size_t colon = std::min(rest.find(':'), rest.size());
    const std::string_view word = rest.substr(0, colon);
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    return word;
  };
  const std::string_view shape = next();
  std::string_view word = next(), layout = "TN";
  DType dtype = DType::kF16;
  if (word == "NN" || word == "TN") layout = std::exchange(word, next());
  if (word == "f16" || word == "bf16") dtype = *DTypeFromName(std::exchange(word, next()));
  if (!word.empty() || !rest.empty() || text.ends_with(':')) {
    return Error{ErrorCode::kBadInput,
                 "task 'hgemm:" + std::string(text) + "': '" + std::string(word) +
                     "' is neither a layout nor a type",
                 "write hgemm:MxNxK:TN or hgemm:MxNxK:NN, with :bf16 behind it for BF16"};
  }
  return LoadedTask{HgemmTask(layout, dtype), HgemmWorkload(TRY(ParseHgemmShape(shape)))};
}

Result<Workload> PickWorkload(const std::string& source, const Task& task,
                              const std::string& name) {
  for (const Workload& workload : task.workloads) {
    if (name.empty() ? !workload.hidden : workload.name == name) return workload;
  }
  return Error{ErrorCode::kBadInput,
               source + ": no workload " + (name.empty() ? "that is not hidden" : "'" + name + "'"),
               "add a [[workloads]] table with its name and sizes"};
}

}  // namespace

Result<LoadedTask> LoadTask(const std::string& reference, const std::string& workload) {
  if (reference.starts_with(kBuiltIn)) {
    return BuiltInHgemm(std::string_view(reference).substr(kBuiltIn.size()));
  }
  const std::filesystem::path path = FileIn(reference, "task.toml");
  const nlohmann::json written = TRY(ReadTomlAsJson(path));
  const nlohmann::json json =
      TRY(EmbedFiles(JsonReader(path.string(), written), path.parent_path()));
  LoadedTask loaded{TRY(TaskFrom(JsonReader(path.string(), json))), {}};
  TRY(CheckRules(path.string(), loaded.task));
  loaded.workload = TRY(PickWorkload(path.string(), loaded.task, workload));
  return loaded;
}

std::vector<Workload> AllWorkloads(const LoadedTask& loaded) {
  if (loaded.task.workloads.empty()) return {loaded.workload};
  return loaded.task.workloads;
}

}  // namespace warpsmith::task
