#include "task/task_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/serialize.h"
#include "task/hgemm_task.h"
#include "util/file.h"

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
  return std::filesystem::is_directory(path) ? path / name : path;
}

bool IsNameCharacter(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Replaces every whole-word use of a tunable's name.
std::string WithValues(std::string_view text, const Config& values) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (!IsNameCharacter(text[i])) {
      out += text[i++];
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && IsNameCharacter(text[i])) ++i;
    const std::string_view word = text.substr(begin, i - begin);
    const auto found = values.find(word);
    out += found == values.end() ? std::string(word) : std::to_string(found->second);
  }
  return out;
}

void Substitute(nlohmann::json& json, const Config& values) {
  if (json.is_string()) {
    json = WithValues(json.get_ref<const std::string&>(), values);
  } else if (json.is_structured()) {
    for (nlohmann::json& item : json) Substitute(item, values);
  }
}

Result<std::vector<Parameter>> ReadTunables(const JsonReader& table) {
  std::vector<Parameter> tunables;
  for (const auto& [name, values] : TRY(table.Fields())) {
    Parameter parameter{name, {}};
    if (!std::all_of(name.begin(), name.end(), IsNameCharacter)) {
      return values.Bad("a name of letters, digits and underscores");
    }
    for (const JsonReader& value : TRY(values.Items())) {
      parameter.values.push_back(TRY(value.Int()));
    }
    std::sort(parameter.values.begin(), parameter.values.end());
    if (parameter.values.empty()) return values.Bad("at least one value");
    tunables.push_back(std::move(parameter));
  }
  return tunables;
}

// All combinations, in the order of the parameters' names; the last varies fastest.
Result<std::vector<Config>> Combinations(const JsonReader& where,
                                         const std::vector<Parameter>& tunables) {
  std::vector<Config> configs = {{}};
  for (const Parameter& parameter : tunables) {
    std::vector<Config> longer;
    for (const Config& config : configs) {
      for (int64_t value : parameter.values) {
        longer.push_back(config);
        longer.back()[parameter.name] = value;
      }
    }
    configs = std::move(longer);
    if (configs.size() > 100'000) return where.Bad("at most 100,000 combinations");
  }
  return configs;
}

Result<nlohmann::json> ReadSources(const JsonReader& list, const std::filesystem::path& folder) {
  nlohmann::json sources = nlohmann::json::object();
  for (const JsonReader& item : TRY(list.Items())) {
    const std::string name = TRY(item.String());
    const std::filesystem::path relative(name);
    const bool leaves = std::any_of(relative.begin(), relative.end(),
                                    [](const auto& part) { return part == ".."; });
    if (relative.is_absolute() || leaves) return item.Bad("a path inside the candidate's folder");
    sources[name] = TRY(ReadFile(folder / relative));
  }
  return sources;
}

}  // namespace

Result<LoadedTask> LoadTask(const std::string& reference, const std::string& workload) {
  if (reference.starts_with(kBuiltIn)) {
    return BuiltInHgemm(std::string_view(reference).substr(kBuiltIn.size()));
  }
  const std::filesystem::path path = FileIn(reference, "task.toml");
  const nlohmann::json json = TRY(ReadTomlAsJson(path));
  LoadedTask loaded{TRY(TaskFrom(JsonReader(path.string(), json))), {}};
  loaded.workload = TRY(PickWorkload(path.string(), loaded.task, workload));
  for (const TensorSpec& tensor : loaded.task.tensors) {
    TRY(TensorBytes(tensor, loaded.workload.sizes));
  }
  return loaded;
}

Result<CandidateFile> CandidateFile::Load(const std::filesystem::path& path) {
  const std::filesystem::path file = FileIn(path, "candidate.toml");
  nlohmann::json json = TRY(ReadTomlAsJson(file));
  CandidateFile loaded;
  loaded.source_ = file.string();
  const JsonReader root(loaded.source_, json);
  nlohmann::json sources = TRY(ReadSources(root.At("sources"), file.parent_path()));
  Expression legal = Expression::Constant(1);
  if (root.Has("legal_when")) {
    legal = TRY(Expression::Parse(TRY(root.At("legal_when").String())));
  }
  if (root.Has("tunables")) loaded.tunables_ = TRY(ReadTunables(root.At("tunables")));

  std::vector<Point> points;
  for (Config& config : TRY(Combinations(root.At("tunables"), loaded.tunables_))) {
    if (TRY(legal.Evaluate(config)) != 0) points.push_back({"tunables", std::move(config)});
  }
  if (points.empty()) return root.At("legal_when").Bad("at least one legal combination");
  loaded.space_ = Space(loaded.source_, std::move(points));

  json.erase("tunables");
  json.erase("legal_when");
  json["sources"] = std::move(sources);
  loaded.template_json_ = json.dump();
  TRY(loaded.Make(loaded.space_.points().front()));  // say now what is wrong with the plan
  return loaded;
}

Result<Candidate> CandidateFile::Make(const Point& point) const {
  nlohmann::json json = TRY(ParseJson(source_, template_json_));
  if (json.contains("plan")) Substitute(json["plan"], point.config);
  Candidate candidate = TRY(CandidateFrom(JsonReader(source_, json)));
  for (const auto& [name, value] : point.config) {
    candidate.flags.push_back("-D" + name + "=" + std::to_string(value));
  }
  candidate.provenance.family = point.family;
  candidate.provenance.config = point.config;
  return candidate;
}

}  // namespace warpsmith::task
