#include "task/task_file.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <utility>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/serialize.h"
#include "task/candidate_file.h"
#include "task/hgemm_task.h"
#include "task/source_files.h"
#include "task/task_rules.h"
#include "task/toml_text.h"

namespace warpsmith::task {
namespace {

using nlohmann::json;

// Fields that the JSON form keeps among the reference's options.
constexpr std::string_view kOptionFields[] = {"entry", "style", "outputs"};

Status MoveOptions(const JsonReader& from, json& reference) {
  for (const std::string_view field : kOptionFields) {
    if (!from.Has(field)) continue;
    if (from.At("options").Has(field)) return from.At(field).Bad("this once, not in options too");
    reference["options"][std::string(field)] = TRY(from.At(field).String());
    reference.erase(std::string(field));
  }
  return {};
}

// A single source is the entry.
Status EmbedSources(const JsonReader& from, const SourceFolder& folder, json& reference) {
  if (from.Has("source")) {
    if (from.Has("sources")) return from.At("source").Bad("source or sources, not both");
    const std::string name = TRY(from.At("source").String());
    reference["sources"][name] = TRY(folder.Read(from.At("source")));
    reference.erase("source");
  } else if (from.Has("sources")) {
    reference["sources"] = TRY(folder.ReadAll(from.At("sources")));
  }
  TRY(MoveOptions(from, reference));
  const json sources = reference.value("sources", json::object());
  if (sources.size() == 1 && !reference["options"].contains("entry")) {
    reference["options"]["entry"] = sources.begin().key();
  }
  return {};
}

Result<json> EmbedReference(const JsonReader& from, const std::filesystem::path& folder) {
  TRY(from.Fields());  // a table
  json reference = *from.json();
  if (from.Has("options")) TRY(from.At("options").Fields());
  TRY(EmbedSources(from, {folder, "the task's"}, reference));
  if (reference["options"].is_null()) reference.erase("options");
  if (from.Has("plan")) {
    TRY(from.At("plan").Fields());
    if (!from.At("plan").Has("version")) reference["plan"]["version"] = kLaunchPlanVersion;
  }
  return reference;
}

Result<json> EmbedRival(const JsonReader& from, const SourceFolder& folder) {
  TRY(from.OnlyFields({"name", "path"}));
  const CandidateFile file = TRY(CandidateFile::Load(TRY(folder.Inside(from.At("path")))));
  if (file.space().size() != 1) {
    return from.At("path").Bad("one candidate, not a family of " +
                               std::to_string(file.space().size()) + ": fix its tunables");
  }
  Candidate candidate = TRY(file.Make(file.space().points().front()));
  candidate.provenance = {};  // a folder's name is no part of a task
  return json{{"name", *from.At("name").json()}, {"candidate", ToJson(candidate)}};
}

// `root`: the task.toml's content, `folder`: where it lies. Fields that name no files are left as
// they are, for TaskFrom to judge.
//   [reference] source | sources, entry, style, outputs -> options and sources; plan gets a version
//   [[rivals]] name, path -> name, candidate
//   forms, when [program] is there and nothing is said: kernel and program
Result<json> EmbedFiles(const JsonReader& root, const std::filesystem::path& folder) {
  json task = *root.json();
  if (root.Has("reference")) task["reference"] = TRY(EmbedReference(root.At("reference"), folder));
  if (root.Has("rivals")) {
    json rivals = json::array();
    for (const JsonReader& rival : TRY(root.At("rivals").Items())) {
      TRY(rival.At("name").String());
      rivals.push_back(TRY(EmbedRival(rival, {folder, "the task's"})));
    }
    task["rivals"] = std::move(rivals);
  }
  if (root.Has("program") && !root.Has("forms")) task["forms"] = {"kernel", "program"};
  return task;
}

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
  const HgemmShape extents = TRY(ParseHgemmShape(shape));
  return LoadedTask{HgemmTask(layout, dtype), HgemmWorkload(extents)};
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
  const nlohmann::json written = TRY(ReadTomlAsJson(
      path, "name a task's folder or its task.toml ('warpsmith task init' makes one)"));
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
