#include "agent/prompts/prompt_values.h"

#include <nlohmann/json.hpp>

#include "agent/prompts/prompts.h"
#include "base/display_text.h"
#include "base/json_reader.h"
#include "core/serialize.h"
#include "judge/profile/bottleneck.h"

namespace warpsmith::prompts {
namespace {

using nlohmann::json;

// The task's own JSON is exact and knows every field; what a model must not see is taken out.
json VisibleTask(const Task& task) {
  Task shown = task;
  std::erase_if(shown.workloads, [](const Workload& workload) { return workload.hidden; });
  return ToJson(shown);
}

std::string Section(const std::string& title, const json& items) {
  std::string text = title + ":\n";
  for (const json& item : items) text += "  " + JsonText(item) + "\n";
  return text;
}

std::string Part(PromptId id) { return Render(Prompts::Embedded().Get(id), {}).value(); }

}  // namespace

std::string TaskFacts(const Task& task) {
  const json visible = VisibleTask(task);
  // Fields that hold their default are left out.
  const auto list = [&](const char* field) { return visible.value(field, json::array()); };
  std::string text = Section("tensors (shapes are expressions over the sizes)", list("tensors"));
  json sizes = json::array();
  for (const json& workload : list("workloads")) sizes.push_back(workload["sizes"]);
  text += Section("sizes", sizes);
  text += "tolerance: " + JsonText(visible.value("tolerance", json::object())) + "\n";
  for (const char* field : {"program", "allow", "precision", "flops"}) {
    if (visible.contains(field))
      text += std::string(field) + ": " + JsonText(visible[field]) + "\n";
  }
  return text;
}

std::string ReferenceText(const Task& task) {
  std::string text = "kind: " + task.reference.kind + "\n";
  for (const auto& [name, value] : task.reference.options) text += name + ": " + value + "\n";
  if (task.reference.kind == "gemm") text += "the product A * B, built in\n";
  for (const auto& [path, source] : task.reference.sources) {
    text += "\n--- " + path + "\n" + source + (source.ends_with('\n') ? "" : "\n");
  }
  return text;
}

std::string SourcesText(const std::map<std::string, std::string>& sources) {
  std::string text;
  for (const auto& [path, source] : sources) {
    text += (text.empty() ? "" : "\n") + ForTerminal(path) + "\n" + Fenced(source);
  }
  return text.empty() ? "none\n" : text;
}

std::string PlanText(Form form, const LaunchPlan& plan) {
  return form == Form::kProgram ? "none: a program launches its kernels itself"
                                : JsonText(ToJson(plan), 1);
}

std::string ReplyFormat(Form form, MayKeep kept) {
  std::string text = Part(form == Form::kKernel ? PromptId::kReplyKernel : PromptId::kReplyProgram);
  if (form == Form::kKernel && kept != MayKeep::kNothing) {
    text.back() = ' ';  // on the plan's own line
    text += Part(PromptId::kReplyKeptPlan);
  }
  if (kept == MayKeep::kPlanAndLines) text += "\n" + Part(PromptId::kReplyEdits);
  return text;
}

std::string KnownStatesText() {
  std::string text;
  for (const profile::BottleneckRow& row : profile::BottleneckTable()) {
    text += "- " + std::string(row.name) + ": " + std::string(row.meaning) + "\n";
  }
  return text;
}

}  // namespace warpsmith::prompts
