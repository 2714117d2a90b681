#include "task/candidate_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/foreign_file.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "core/serialize.h"
#include "task/source_files.h"
#include "task/toml_text.h"

namespace warpsmith::task {
namespace {

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

// The same error, told with the file that it is about.
Error In(const std::string& source, Error error) {
  error.message = source + ": " + error.message;
  return error;
}

// Replaces every whole-word use of a tunable's name.
std::string WithValues(std::string_view text, const Config& values) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (!IsWordCharacter(text[i])) {
      out += text[i++];
      continue;
    }
    const size_t begin = i;
    while (i < text.size() && IsWordCharacter(text[i])) ++i;
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
    if (!IsIdentifier(name)) return values.Bad("a name of letters, digits and underscores");
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

// What is listed, else the entry alone.
Result<nlohmann::json> SourcesOf(const JsonReader& root, const std::filesystem::path& folder) {
  const SourceFolder files{folder, "the candidate's"};
  if (root.Has("sources") || !root.Has("entry")) return files.ReadAll(root.At("sources"));
  nlohmann::json sources = nlohmann::json::object();
  sources[TRY(root.At("entry").String())] = TRY(files.Read(root.At("entry")));
  return sources;
}

nlohmann::json EmptyPlan() {
  return {{"version", kLaunchPlanVersion}, {"operations", nlohmann::json::array()}};
}

bool IsProgram(const JsonReader& root) {
  const Result<std::string> form = root.At("form").String();
  return form.ok() && *form == "program";
}

// A program is called, not launched: it has no plan, and nvcc builds it.
Status CompleteProgram(const JsonReader& root, nlohmann::json& json) {
  if (root.Has("plan")) {
    return root.At("plan").Bad("no plan: a program launches its kernels itself");
  }
  if (root.Has("toolchain") && TRY(root.At("toolchain").String()) != "nvcc") {
    return root.At("toolchain").Bad("nvcc, which alone builds programs");
  }
  json["plan"] = EmptyPlan();
  json["toolchain"] = "nvcc";
  return {};
}

// Such as KernelBench's ModelNew: whatever it measures of itself, it could also write.
Error PythonRefused(const std::filesystem::path& path) {
  return {ErrorCode::kBadInput,
          path.string() +
              ": a Python candidate would share its process with the clock that times "
              "it and with the tensors that it is compared with",
          "give CUDA with a C entry, as the task's [program] declares it: a .cu file"};
}

}  // namespace

Result<CandidateFile> CandidateFile::Load(const std::filesystem::path& path) {
  if (path.extension() == ".cu") return LoadBareSource(path);
  if (path.extension() == ".py") return PythonRefused(path);
  const std::filesystem::path file = CandidatePath(path);
  if (file.extension() == ".json") return LoadExported(file);
  nlohmann::json json = TRY(ReadTomlAsJson(file,
                                           "name a candidate's folder, its candidate.toml or "
                                           ".json, or a .cu ('warpsmith task init' makes one)"));
  CandidateFile loaded;
  loaded.source_ = file.string();
  const JsonReader root(loaded.source_, json);
  nlohmann::json sources = TRY(SourcesOf(root, file.parent_path()));
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
  if (IsProgram(root)) TRY(CompleteProgram(root, json));
  json["sources"] = std::move(sources);
  loaded.template_json_ = JsonText(json);
  TRY(loaded.Make(loaded.space_.points().front()));  // say now what is wrong with the plan
  return loaded;
}

// An exported candidate is one point, complete as it is: its flags and provenance already hold the
// choices that led to it.
Result<CandidateFile> CandidateFile::LoadExported(const std::filesystem::path& file) {
  CandidateFile loaded;
  loaded.source_ = file.string();
  loaded.template_json_ = TRY(ReadRegularFile(file, kMaxSourceBytes * 16));
  loaded.complete_ = true;
  const nlohmann::json json = TRY(ParseJson(loaded.source_, loaded.template_json_));
  TRY(CandidateFrom(JsonReader(loaded.source_, json)));
  loaded.space_ = Space(loaded.source_, {{"exported", {}}});
  return loaded;
}

Result<CandidateFile> CandidateFile::LoadBareSource(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const std::string text = TRY(ReadSourceText(file));
  const nlohmann::json json = {
      {"version", 1},  {"form", "program"},         {"toolchain", "nvcc"},
      {"entry", name}, {"sources", {{name, text}}}, {"plan", EmptyPlan()},
  };
  CandidateFile loaded;
  loaded.source_ = file.string();
  loaded.template_json_ = JsonText(json);
  loaded.complete_ = true;
  loaded.space_ = Space(loaded.source_, {{"source", {}}});
  return loaded;
}

Result<Candidate> CandidateFile::Make(const Point& point) const {
  nlohmann::json json = TRY(ParseJson(source_, template_json_));
  if (complete_) return CandidateFrom(JsonReader(source_, json));
  if (json.contains("plan")) Substitute(json["plan"], point.config);
  Candidate candidate = TRY(CandidateFrom(JsonReader(source_, json)));
  for (const auto& [name, value] : point.config) {
    candidate.flags.push_back("-D" + name + "=" + std::to_string(value));
  }
  if (point.config.empty()) return candidate;  // no point of a family
  candidate.provenance.family = point.family;
  candidate.provenance.config = point.config;
  return candidate;
}

Result<std::vector<NamedCandidate>> LoadCandidates(const std::vector<std::string>& paths) {
  std::vector<NamedCandidate> named;
  for (const std::string& path : paths) {
    const CandidateFile file = TRY(CandidateFile::Load(path));
    for (const Point& point : file.space().points()) {
      const std::string name = point.config.empty() ? path : path + ": " + PointName(point);
      named.emplace_back(name, TRY(file.Make(point)));
    }
  }
  return named;
}

Status CheckForm(const std::string& name, const Candidate& candidate, const Task& task) {
  if (std::find(task.forms.begin(), task.forms.end(), candidate.form) != task.forms.end()) {
    return {};
  }
  const bool program = candidate.form == Form::kProgram;
  return Error{ErrorCode::kBadInput,
               name + ": a " + (program ? "program" : "kernel with a plan") + ", and task '" +
                   task.name + "' takes only " + (program ? "kernels" : "programs"),
               program ? "write a candidate.toml with a [plan], or give the task a [program] table "
                         "that says how programs are called"
                       : "give the candidate form = \"program\", or add \"kernel\" to the task's "
                         "forms"};
}

Result<std::optional<Candidate>> StartingKernel(const std::string& path, const Task& task) {
  if (path.empty()) return std::optional<Candidate>();
  const auto file = TRY(task::CandidateFile::Load(path));
  if (file.space().size() != 1) {
    return Error{ErrorCode::kUsage,
                 path + " holds " + std::to_string(file.space().size()) +
                     " candidates; an agent begins with one",
                 "give one without [tunables], such as 'warpsmith export' writes"};
  }
  Candidate candidate = TRY(file.Make(file.space().points().front()));
  TRY(task::CheckForm(path, candidate, task));
  return std::optional(std::move(candidate));
}

}  // namespace warpsmith::task
