#include "task/embed.h"

#include <nlohmann/json.hpp>

#include "core/serialize.h"
#include "task/candidate_file.h"
#include "task/source_files.h"

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

}  // namespace

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

}  // namespace warpsmith::task
