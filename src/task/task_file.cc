#include "task/task_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/serialize.h"
#include "task/hgemm_task.h"
#include "task/toml_json.h"
#include "util/file.h"
#include "util/utf8.h"

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

// A folder's candidate.toml or, where there is only what `warpsmith export` wrote, its
// candidate.json.
std::filesystem::path CandidatePath(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file = FileIn(path, "candidate.toml");
  const std::filesystem::path exported = FileIn(path, "candidate.json");
  return std::filesystem::exists(file, ignored) || !std::filesystem::exists(exported, ignored)
             ? file
             : exported;
}

bool IsNameCharacter(char c) {
  return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsName(std::string_view text) {
  const bool starts_well = !text.empty() && (text.front() < '0' || text.front() > '9');
  return starts_well && std::all_of(text.begin(), text.end(), IsNameCharacter);
}

// The same error, told with the file that it is about.
Error In(const std::string& source, Error error) {
  error.message = source + ": " + error.message;
  return error;
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
    if (!IsName(name)) return values.Bad("a name of letters, digits and underscores");
    for (const JsonReader& value : TRY(values.Items())) {
      parameter.values.push_back(TRY(value.Int()));
    }
    std::sort(parameter.values.begin(), parameter.values.end());
    if (parameter.values.empty()) return values.Bad("at least one value");
    const auto twin = std::adjacent_find(parameter.values.begin(), parameter.values.end());
    if (twin != parameter.values.end()) {
      return values.Bad("distinct values (" + std::to_string(*twin) + " is there twice)");
    }
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
  if (TRY(list.Items()).empty()) return list.Bad("at least one file");
  for (const JsonReader& item : TRY(list.Items())) {
    const std::string name = TRY(item.String());
    const std::filesystem::path relative(name);
    const bool leaves = std::any_of(relative.begin(), relative.end(),
                                    [](const auto& part) { return part == ".."; });
    if (relative.is_absolute() || leaves) return item.Bad("a path inside the candidate's folder");
    std::string text = TRY(ReadFile(folder / relative));
    if (!IsUtf8(text)) {
      return Error{ErrorCode::kBadInput,
                   (folder / relative).string() + ": not UTF-8 text, as sources must be",
                   "convert it, as in: iconv -f latin1 -t utf-8"};
    }
    sources[name] = std::move(text);
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
    const Result<int64_t> bytes = TensorBytes(tensor, loaded.workload.sizes);
    if (!bytes.ok()) {
      return In(path.string() + ": workload '" + loaded.workload.name + "'", bytes.error());
    }
  }
  return loaded;
}

Result<CandidateFile> CandidateFile::Load(const std::filesystem::path& path) {
  const std::filesystem::path file = CandidatePath(path);
  if (file.extension() == ".json") return LoadExported(file);
  nlohmann::json json = TRY(ReadTomlAsJson(file));
  CandidateFile loaded;
  loaded.source_ = file.string();
  const JsonReader root(loaded.source_, json);
  nlohmann::json sources = TRY(ReadSources(root.At("sources"), file.parent_path()));
  Expression legal = Expression::Constant(1);
  if (root.Has("legal_when")) {
    auto parsed = Expression::Parse(TRY(root.At("legal_when").String()));
    if (!parsed.ok()) return In(loaded.source_ + ": legal_when", parsed.error());
    legal = std::move(*parsed);
  }
  if (root.Has("tunables")) loaded.tunables_ = TRY(ReadTunables(root.At("tunables")));

  std::vector<Point> points;
  for (Config& config : TRY(Combinations(root.At("tunables"), loaded.tunables_))) {
    const Result<int64_t> is_legal = legal.Evaluate(config);
    if (!is_legal.ok()) return In(loaded.source_ + ": legal_when", is_legal.error());
    if (*is_legal != 0) points.push_back({"tunables", std::move(config)});
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

// An exported candidate is one point, complete as it is: its flags and provenance already hold the
// choices that led to it.
Result<CandidateFile> CandidateFile::LoadExported(const std::filesystem::path& file) {
  CandidateFile loaded;
  loaded.source_ = file.string();
  loaded.template_json_ = TRY(ReadFile(file));
  loaded.exported_ = true;
  const nlohmann::json json = TRY(ParseJson(loaded.source_, loaded.template_json_));
  TRY(CandidateFrom(JsonReader(loaded.source_, json)));
  loaded.space_ = Space(loaded.source_, {{"exported", {}}});
  return loaded;
}

Result<Candidate> CandidateFile::Make(const Point& point) const {
  nlohmann::json json = TRY(ParseJson(source_, template_json_));
  if (exported_) return CandidateFrom(JsonReader(source_, json));
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
