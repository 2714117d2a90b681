#include "agent/prompts/candidate_arguments.h"

#include <nlohmann/json.hpp>

#include "agent/prompts/code_reply.h"
#include "agent/prompts/edit.h"
#include "agent/prompts/file_name.h"
#include "core/serialize.h"
#include "task/candidate_file.h"

namespace warpsmith::prompts {
namespace {

using ArgumentSources = std::map<std::string, std::string>;

Error Refused(std::string message, std::string fix) {
  return {ErrorCode::kBadInput, std::move(message), std::move(fix)};
}

Status CheckSize(const std::string& name, const std::string& text) {
  if (text.size() <= kMaxSourceBytes) return {};
  return Refused("'" + name + "' is longer than " + std::to_string(kMaxSourceBytes) + " bytes",
                 "split it, or leave out what is not needed");
}

Status TakeSources(const JsonReader& arguments, ArgumentSources* sources) {
  if (arguments.Has("sources")) {
    for (const auto& [name, text] : TRY(arguments.At("sources").Fields())) {
      TRY(CheckSourceName(name));
      (*sources)[name] = TRY(text.String());
      TRY(CheckSize(name, (*sources)[name]));
    }
  }
  if (arguments.Has("remove")) {
    for (const JsonReader& item : TRY(arguments.At("remove").Items())) {
      if (sources->erase(TRY(item.String())) == 0)
        return item.Bad("the name of one of the sources");
    }
  }
  return {};
}

Status TakeEdits(const JsonReader& arguments, ArgumentSources* sources) {
  if (!arguments.Has("edits")) return {};
  for (const JsonReader& item : TRY(arguments.At("edits").Items())) {
    TRY(item.OnlyFields({"file", "search", "replace"}));
    const std::string name = TRY(item.At("file").String());
    const auto found = sources->find(name);
    if (found == sources->end()) return item.At("file").Bad("the name of one of the sources");
    Edit edit;
    edit.name = item.path() + " of '" + name + "'";
    edit.search = TRY(item.At("search").String());
    edit.replace = TRY(item.At("replace").String());
    found->second = TRY(ApplyEdit(found->second, edit));
    TRY(CheckSize(name, found->second));
  }
  return {};
}

Result<LaunchPlan> PlanIn(const JsonReader& plan) {
  if (plan.json() == nullptr || !plan.json()->is_object()) return plan.Bad("a launch plan");
  nlohmann::json versioned = *plan.json();
  if (!versioned.contains("version")) versioned["version"] = kLaunchPlanVersion;
  return LaunchPlanFrom(JsonReader("plan", versioned));
}

Result<Form> FormIn(const JsonReader& arguments, const Task& task) {
  if (!arguments.Has("form")) return task.forms.front();
  const std::string name = TRY(arguments.At("form").String());
  if (name == "kernel") return Form::kKernel;
  if (name == "program") return Form::kProgram;
  return arguments.At("form").Bad("\"kernel\" or \"program\"");
}

// The one that was named, else the base's, else the only .cu file.
Result<std::string> EntryIn(const JsonReader& arguments, const ArgumentSources& sources,
                            const Candidate* base) {
  if (arguments.Has("entry")) {
    std::string entry = TRY(arguments.At("entry").String());
    if (!sources.contains(entry))
      return arguments.At("entry").Bad("the name of one of the sources");
    return entry;
  }
  if (base != nullptr && sources.contains(base->entry)) return base->entry;
  std::vector<std::string> units;
  for (const auto& [name, text] : sources) {
    if (name.ends_with(".cu")) units.push_back(name);
  }
  if (units.size() == 1) return units.front();
  return Refused(units.empty() ? "no source is a .cu file" : "several sources are .cu files",
                 "name the one that is compiled with \"entry\"");
}

Candidate Blank(Form form) {
  Candidate candidate;
  candidate.form = form;
  candidate.toolchain = form == Form::kProgram ? "nvcc" : "nvrtc";
  return candidate;
}

}  // namespace

Result<Candidate> CandidateFromArguments(const JsonReader& arguments, const Task& task,
                                         const Candidate* base) {
  Candidate candidate = base != nullptr ? *base : Blank(TRY(FormIn(arguments, task)));
  if (base != nullptr && arguments.Has("form") && TRY(FormIn(arguments, task)) != base->form) {
    return arguments.At("form").Bad("the base's form, or no base");
  }
  TRY(TakeSources(arguments, &candidate.sources));
  TRY(TakeEdits(arguments, &candidate.sources));
  if (candidate.sources.empty()) {
    return Refused("the candidate has no source", "give \"sources\", or a \"base\" to change");
  }
  if (candidate.sources.size() > kMaxSourceFiles) {
    return Refused("a candidate has at most " + std::to_string(kMaxSourceFiles) + " sources",
                   "put some into one");
  }
  candidate.entry = TRY(EntryIn(arguments, candidate.sources, base));
  if (arguments.Has("plan")) {
    if (candidate.form == Form::kProgram) {
      return arguments.At("plan").Bad("no plan: a program launches its kernels itself");
    }
    candidate.plan = TRY(PlanIn(arguments.At("plan")));
  }
  if (candidate.form == Form::kKernel && candidate.plan.operations.empty()) {
    return Refused("a candidate of form kernel needs a launch plan", "read_task shows one");
  }
  TRY(task::CheckForm("the candidate", candidate, task));
  candidate.provenance = {};
  if (base != nullptr) candidate.provenance.parent = CandidateId(*base);
  return candidate;
}

}  // namespace warpsmith::prompts
