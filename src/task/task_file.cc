#include "task/task_file.h"

#include <nlohmann/json.hpp>

#include "core/serialize.h"
#include "task/embed.h"
#include "task/hgemm_task.h"
#include "task/task_rules.h"
#include "task/toml_json.h"

namespace warpsmith::task {
namespace {

constexpr std::string_view kBuiltIn = "hgemm:";

Result<LoadedTask> BuiltInHgemm(std::string_view rest) {
  const size_t colon = rest.find(':');
  const std::string layout(colon == std::string_view::npos ? "TN" : rest.substr(colon + 1));
  if (layout != "NN" && layout != "TN") {
    return Error{ErrorCode::kBadInput,
                 "task 'hgemm:" + std::string(rest) + "': layout '" + layout + "'",
                 "write hgemm:MxNxK:NN or hgemm:MxNxK:TN"};
  }
  const HgemmShape shape = TRY(ParseHgemmShape(rest.substr(0, colon)));
  return LoadedTask{HgemmTask(layout), HgemmWorkload(shape)};
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

std::filesystem::path FileIn(const std::filesystem::path& path, std::string_view name) {
  std::error_code ignored;  // the read that follows says what is wrong
  return std::filesystem::is_directory(path, ignored) ? path / name : path;
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
