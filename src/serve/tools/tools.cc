#include "serve/tools/tools.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "agent/prompts/model_answer.h"
#include "agent/prompts/prompt_values.h"
#include "agent/prompts/state.h"
#include "base/clock.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "embedded/mcp_texts.h"
#include "judge/profile/bottleneck.h"
#include "search/machine/profiling.h"
#include "serve/tools/answers.h"
#include "serve/tools/arguments.h"
#include "store/run_memos.h"
#include "task/candidate_file.h"

namespace warpsmith::serve {
namespace {

using mcp::ToolResult;
using nlohmann::json;

constexpr double kProgressSeconds = 2;
constexpr int64_t kMostTokens = 1'000'000'000;  // that one evaluation may be said to have cost

// Asked often while something is at work: tells how long it has been, every now and then.
std::function<bool()> StopOf(mcp::CallContext& context, std::string message) {
  const double began = MonotonicSeconds();
  return [&context, began, told = began, message = std::move(message)]() mutable {
    const double now = MonotonicSeconds();
    if (now - told >= kProgressSeconds) {
      told = now;
      context.Report(std::floor(now - began), 0, message);
    }
    return context.Cancelled();
  };
}

std::string HowToGive(const Task& task) {
  std::string text = "# How to give a candidate to evaluate_candidate\n";
  for (const Form form : task.forms) {
    text += "\n" + std::string(McpText(form == Form::kKernel ? "kernel.md" : "program.md"));
  }
  return text + "\n" + std::string(McpText("changing.md"));
}

// A misspelt argument must not be silently ignored.
Status CheckArgumentNames(const mcp::Tool& tool, const json& arguments) {
  const json known = json::parse(tool.input_schema).value("properties", json::object());
  std::vector<std::string> names;
  for (const auto& [name, schema] : known.items()) names.push_back(name);
  for (const auto& [name, value] : arguments.items()) {
    if (known.contains(name)) continue;
    return Error{ErrorCode::kBadInput,
                 tool.name + " takes no argument \"" + name.substr(0, 100) + "\"",
                 names.empty() ? "it takes none" : "it takes " + Joined(names)};
  }
  return {};
}

}  // namespace

std::string_view McpText(std::string_view file) {
  for (const EmbeddedFile& text : embedded::McpTexts()) {
    if (text.path == file) return text.contents;
  }
  CHECK(!"the text was not embedded");
  return {};
}

std::vector<mcp::Tool> McpToolTable() {
  std::vector<mcp::Tool> tools;
  for (const json& entry : json::parse(McpText("tools.json"))) {
    tools.push_back({entry["name"], entry["title"], entry["description"], JsonText(entry["input"]),
                     entry.contains("output") ? JsonText(entry["output"]) : "", entry["read_only"],
                     entry.value("idempotent", true)});
  }
  return tools;
}

McpTools::McpTools(search::Workbench bench, search::LazyMachine& machine,
                   std::unique_ptr<knowledge::KnowledgeBase> base, store::DatabaseStore& store,
                   std::string ncu)
    : bench_(std::move(bench)),
      machine_(machine),
      base_(std::move(base)),
      store_(store),
      ncu_(std::move(ncu)),
      table_(McpToolTable()) {}

const std::map<std::string_view, McpTools::Method>& McpTools::Methods() {
  static const std::map<std::string_view, Method> methods = {
      {"read_task", &McpTools::ReadTask},
      {"evaluate_candidate", &McpTools::Evaluate},
      {"profile_candidate", &McpTools::ProfileCandidate},
      {"query_knowledge", &McpTools::QueryKnowledge},
      {"record_outcome", &McpTools::RecordOutcome},
      {"add_note", &McpTools::AddNote},
      {"best_so_far", &McpTools::BestSoFar},
      {"read_verdict", &McpTools::ReadVerdict},
      {"budget_left", &McpTools::BudgetLeft}};
  return methods;
}

Result<ToolResult> McpTools::Call(const mcp::ToolCall& call, mcp::CallContext& context) {
  const mcp::Tool& tool = table_.at(call.tool);
  TRY(CheckArgumentNames(tool, *call.arguments));
  return (this->*Methods().at(tool.name))(JsonReader(tool.name, *call.arguments), context);
}

Result<ToolResult> McpTools::ReadTask(const JsonReader& /*arguments*/,
                                      mcp::CallContext& /*context*/) {
  Task task = bench_.task();
  if (task.workloads.empty()) task.workloads = {bench_.workload()};  // a built-in one names none
  std::string text = "# Task " + task.name + "\n\n" + prompts::TaskFacts(task);
  text += "measured on: " + bench_.workload().name + "\n";
  text += "compared with (the first is the bar): " + Joined(task.baselines) + "\n";
  text += "\n# Reference\n\n" + prompts::ReferenceText(task) + "\n" + HowToGive(task);
  if (const auto& start = bench_.request().start) {
    text += "\n# The kernel to start from (\"base\": \"start\")\n\n" +
            prompts::SourcesText(start->sources) +
            "\nplan: " + prompts::PlanText(start->form, start->plan) + "\n";
  }
  return ToolResult{text, nullptr, false};
}

Result<McpTools::Base> McpTools::BaseIn(const JsonReader& arguments, std::string_view field) {
  Base base;
  const std::string id = TRY(TextIn(arguments, field));
  if (id.empty()) return base;
  if (id == "start") {
    base.candidate = bench_.request().start;
    if (base.candidate) return base;
    return arguments.At(field).Bad("a verdict's id: this task was given no kernel to start from");
  }
  base.step = TRY(bench_.Find(id));
  base.candidate = base.step->step.candidate;
  return base;
}

Result<ToolResult> McpTools::Evaluate(const JsonReader& arguments, mcp::CallContext& context) {
  const auto stop = StopOf(context, "the judge is at work");
  if (TRY(FlagIn(arguments, "certify"))) return Certify(arguments, stop);
  const Base base = TRY(BaseIn(arguments, "base"));
  Candidate candidate = TRY(prompts::CandidateFromArguments(
      arguments, bench_.task(), base.candidate ? &*base.candidate : nullptr));
  candidate.provenance.technique = TRY(NameIn(arguments, "technique"));
  const std::string state = TRY(NameIn(arguments, "state"));
  Cost thought;
  thought.tokens = TRY(NumberIn(arguments, "tokens_used", 0, kMostTokens, 0));
  TRY(task::CheckForm("the candidate", candidate, bench_.task()));
  context.Report(0, 0, "compiling");
  const search::FoundStep found = TRY(bench_.Evaluate(candidate, thought, stop));
  TRY(Remember(found, base, state));
  return ToolResultOf(found, base);
}

Result<ToolResult> McpTools::Certify(const JsonReader& arguments,
                                     const std::function<bool()>& stop) {
  const Base base = TRY(BaseIn(arguments, "base"));
  if (!base.step) return arguments.At("base").Bad("the id of the verdict to judge again");
  if (!std::holds_alternative<Passed>(base.step->step.verdict.outcome)) {
    return arguments.At("base").Bad("a verdict that passed: only such are certified");
  }
  return ToolResultOf(TRY(bench_.Certify(*base.step, stop)), {});
}

Result<ToolResult> McpTools::ToolResultOf(const search::FoundStep& found, const Base& base) {
  json answer = VerdictAnswer(found, base.step);
  answer["budget"] = BudgetAnswer(bench_);
  if (const auto best = TRY(bench_.Best(Level::kScreened))) answer["best_so_far"] = best->id();
  return Structured(std::move(answer), !std::holds_alternative<Passed>(found.step.verdict.outcome));
}

// What the step was for, in the form that the agent's own runs keep it: reports read both.
Status McpTools::Remember(const search::FoundStep& found, const Base& base,
                          const std::string& state) {
  const Provenance& provenance = found.step.candidate.provenance;
  if (provenance.technique.empty() && state.empty()) return {};
  json memo = {{"kind", "mcp"}, {"technique", provenance.technique}, {"state", state}};
  if (base.step) {
    memo["previous"] = base.step->step.candidate.provenance.technique;
    if (base.step->run == found.run) memo["from_step"] = base.step->step.index;
    if (const auto gain = search::LogGain(*base.step, found)) memo["log_gain"] = *gain;
  }
  store::RunMemos memos(store_, found.run);
  return memos.Keep(store::StepKey(found.step.index), JsonText(memo));
}

Result<ToolResult> McpTools::ProfileCandidate(const JsonReader& arguments,
                                              mcp::CallContext& context) {
  const Base base = TRY(BaseIn(arguments, "verdict"));
  if (!base.candidate) return arguments.At("verdict").Bad("a verdict's id, or \"start\"");
  if (const auto limit = bench_.spending().Exhausted(); limit == "gpu" || limit == "time") {
    return Error{ErrorCode::kAnswerIsNo,
                 "the budget (" + *limit + ") is spent: nothing more is profiled",
                 "report the best so far; whoever started this server may raise --budget"};
  }
  search::Machine* machine = TRY(machine_.Get());
  context.Report(0, 0, "profiling");
  const double began = MonotonicSeconds();
  const Profile profile =
      TRY(search::ProfileOf(*machine, bench_.task(), bench_.workload(), *base.candidate, ncu_));
  if (machine->recorded() == nullptr) bench_.spending().Charge(MonotonicSeconds() - began);
  const auto facts = TRY(search::FactsOf(machine->info(), bench_.task(), bench_.workload()));
  const profile::BottleneckReport report = profile::Diagnose(profile, facts);
  std::string text = profile::ModelBlock(report);
  const std::vector<prompts::State> states = prompts::ExtractStates(report);
  text += "\n" + prompts::StatesText(states) + "\nStates to ask query_knowledge about:\n";
  for (const prompts::State& state : states) {
    text += "- " + TRY(base_->FinestName(state.name, state.secondary)) + "\n";
  }
  return ToolResult{text, nullptr, false};
}

Result<ToolResult> McpTools::BestSoFar(const JsonReader& /*arguments*/,
                                       mcp::CallContext& /*context*/) {
  json answer = {{"judged", bench_.steps()}};
  std::map<std::string, int64_t> outcomes;
  if (bench_.steps() > 0) {
    for (const Step& step : TRY(store_.Steps(bench_.request().run))) {
      ++outcomes[std::string(OutcomeName(step.verdict.outcome))];
    }
  }
  answer["outcomes"] = outcomes;
  for (const Level level : {Level::kScreened, Level::kCertified}) {
    const auto best = TRY(bench_.Best(level));
    answer[std::string(Name(level))] = best ? CandidateAnswer(*best) : json();
  }
  return Structured(std::move(answer));
}

Result<ToolResult> McpTools::ReadVerdict(const JsonReader& arguments,
                                         mcp::CallContext& /*context*/) {
  return Structured(CandidateAnswer(TRY(bench_.Find(TRY(arguments.At("verdict").String())))));
}

Result<ToolResult> McpTools::BudgetLeft(const JsonReader& /*arguments*/,
                                        mcp::CallContext& /*context*/) {
  return Structured(BudgetAnswer(bench_));
}

}  // namespace warpsmith::serve
