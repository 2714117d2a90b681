// `warpsmith task`: a task's text examined, made, cut into parts, and imported.
#include <fmt/core.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>

#include "agent/runs/task_split.h"
#include "agent/split/composition.h"
#include "agent/split/parts.h"
#include "base/display_text.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "command_tree.h"
#include "commands.h"
#include "compile/worker_compiler.h"
#include "core/program_shim.h"
#include "cuda/driver.h"
#include "judge/audit/image_rules.h"
#include "judge/local_device.h"
#include "judge/reference_stage.h"
#include "judge/resolved_task.h"
#include "judge/torch/torch_process.h"
#include "report/terminal.h"
#include "search/machine/machine.h"
#include "task/check.h"
#include "task/kernelbench/import.h"
#include "task/scaffold.h"
#include "task/task_file.h"

namespace warpsmith::cli {
namespace {

struct TaskInitOptions {
  search::CommonOptions common;
  std::string source;
  std::string output;    // the folder to write; empty: named after the source
  std::string function;  // what candidates are called as; empty: the best guess
};

struct TaskImportOptions : kernelbench::ImportOptions {
  search::CommonOptions common;
};

using task::Severity;
using task::TaskFinding;

struct Checked {
  std::vector<TaskFinding> findings;
  std::string unobserved;     // why nothing was run; empty: it was
  std::string compiled = {};  // which of its rivals and CUDA reference, in words; or why none
};

constexpr const char* kParse = R"py(
import ast, sys
try:
    ast.parse(open(sys.argv[1], 'rb').read(), sys.argv[2])
except (SyntaxError, ValueError) as error:
    print(f"{getattr(error, 'msg', error)} (line {getattr(error, 'lineno', 0)})")
    sys.exit(1)
)py";

// What Python says of the reference's files, which it reads and does not run. Without a Python
// nothing is said: the text alone cannot be blamed.
Status CheckParses(const Task& task, std::vector<TaskFinding>& findings) {
  const auto python = torch::FindPython();
  if (task.reference.kind != "torch" || !python.ok()) return {};
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("reference"));
  for (const auto& [path, text] : task.reference.sources) {
    if (!path.ends_with(".py")) continue;
    TRY(WriteFileAtomic(folder.path() / "reference.py", text));
    const ProcessOutcome outcome = TRY(RunProcess(
        {*python, "-I", "-S", "-W", "ignore", "-c", kParse, folder.path() / "reference.py", path},
        {}));
    if (outcome.exit_status != 1 || outcome.output.empty()) continue;
    findings.push_back({"reference-unparseable", Severity::kRefuse,
                        path + ": is no Python: " + LinesForTerminal(outcome.output),
                        "mend it, so that Python reads it"});
  }
  return {};
}

// What the judge refuses before it runs anything.
void CheckJudgeable(const task::LoadedTask& loaded, std::vector<TaskFinding>& findings) {
  for (const Workload& workload : task::AllWorkloads(loaded)) {
    const Status judgeable = judge::CheckTask(loaded.task, workload);
    if (judgeable.ok()) continue;
    findings.push_back(
        {"not-judgeable", Severity::kRefuse, judgeable.error().message, judgeable.error().fix});
    return;
  }
}

std::vector<Rival> CodeOf(const Task& task) {
  std::vector<Rival> code = task.rivals;
  if (task.reference.kind == "cuda")
    code.push_back({"the reference", judge::ReferenceCandidate(task)});
  return code;
}

// Whether the task's own code compiles, and its kernels take what their plans give them.
void CheckCompiles(const task::LoadedTask& loaded, const std::string& architecture,
                   Checked& checked) {
  compile::WorkerCompiler compiler;
  for (const auto& [name, candidate] : CodeOf(loaded.task)) {
    const auto whole = WithProgramShim(candidate, loaded.task, loaded.workload);
    if (!whole.ok()) continue;  // as the text's findings say
    const auto outcome = compiler.Compile(*whole, architecture);
    if (!outcome.ok()) {
      checked.compiled = "nothing was compiled: " + outcome.error().Line();
      return;
    }
    if (const auto* failed = std::get_if<CompileFailed>(&*outcome)) {
      checked.findings.push_back({"does-not-compile", Severity::kRefuse,
                                  name + ": " + LinesForTerminal(compile::ErrorsOf(*failed)),
                                  "mend it: nothing can be compared with it"});
      continue;
    }
    checked.compiled += checked.compiled.empty() ? "compiled for " + architecture + ": " : ", ";
    checked.compiled += name;
    if (const auto wrong =
            audit::PlanMismatch(candidate.plan, std::get<Artifact>(*outcome).image)) {
      checked.findings.push_back({"plan-mismatch", Severity::kRefuse, name + ": " + *wrong,
                                  "make the plan and the kernel's declaration agree"});
    }
  }
}

// What is refused is not worth a GPU's time.
Result<Checked> Check(const TaskCheckOptions& options, const task::LoadedTask& loaded) {
  Checked checked{task::ExamineText(loaded.task), ""};
  TRY(CheckParses(loaded.task, checked.findings));
  if (task::Worst(checked.findings) != Severity::kRefuse) CheckJudgeable(loaded, checked.findings);
  const bool has_gpu = cuda::Driver::Open().ok();
  if (!options.text_only) {
    CheckCompiles(loaded, has_gpu ? TRY(judge::ArchitectureOfGpu(options.device.gpu)) : "sm_90a",
                  checked);
  }
  if (task::Worst(checked.findings) == Severity::kRefuse) {
    checked.unobserved = "what is refused has to be mended first";
  } else if (options.text_only) {
    checked.unobserved = "--text-only";
  } else if (!has_gpu) {
    checked.unobserved = "no NVIDIA GPU here";
  }
  if (!checked.unobserved.empty()) return checked;
  search::DeviceOptions device = options.device;
  device.device = "local";
  search::Machine machine = TRY(search::Machine::Open(device));
  auto* local = dynamic_cast<judge::LocalDevice*>(&machine.device());
  CHECK(local != nullptr);
  for (const Workload& workload : task::AllWorkloads(loaded)) {
    const TaskObservations seen = TRY(judge::ObserveTask(*local, loaded.task, workload));
    for (TaskFinding& finding : task::Examine(loaded.task, seen)) {
      checked.findings.push_back(std::move(finding));
    }
  }
  return checked;
}

TaskFinding DoesNotCompose(const Error& error) {
  return {"does-not-compose", Severity::kRefuse, error.message, error.fix};
}

// A split: every part's text, and whether the parts, run one after another, are the whole.
Result<Checked> CheckSplit(const TaskCheckOptions& options, const Task& whole) {
  const std::vector<split::Part> parts = TRY(split::LoadSplit(options.task, whole));
  Checked checked;
  for (const split::Part& part : parts) {
    for (TaskFinding& finding : task::ExamineText(part.task)) {
      finding.what = part.name + ": " + finding.what;
      checked.findings.push_back(std::move(finding));
    }
  }
  if (options.text_only) {
    checked.unobserved = "--text-only";
    return checked;
  }
  const auto proof =
      split::Prove(whole, parts, split::Author::kUser, std::chrono::seconds(options.limit_seconds));
  if (proof.ok()) return checked;
  if (proof.error().code == ErrorCode::kBadInput) {
    checked.findings.push_back(DoesNotCompose(proof.error()));
  } else {
    checked.unobserved = proof.error().message;
  }
  return checked;
}

// The most severe first; within one severity as they were found.
void Sort(std::vector<TaskFinding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) {
    return static_cast<int>(a.severity) > static_cast<int>(b.severity);
  });
}

void PrintJson(const task::LoadedTask& loaded, const Checked& checked) {
  nlohmann::json findings = nlohmann::json::array();
  for (const TaskFinding& finding : checked.findings) {
    findings.push_back({{"name", finding.name},
                        {"severity", task::Name(finding.severity)},
                        {"what", finding.what},
                        {"fix", finding.fix}});
  }
  PrintDocument("task-check", {{"task", loaded.task.name},
                               {"id", TaskId(loaded.task)},
                               {"worst", task::Name(task::Worst(checked.findings))},
                               {"compiled", checked.compiled},
                               {"unobserved", checked.unobserved},
                               {"findings", findings}});
}

void PrintText(const task::LoadedTask& loaded, const Checked& checked) {
  for (const TaskFinding& finding : checked.findings) {
    std::printf("%s: %s: %s\n  fix: %s\n", std::string(task::Name(finding.severity)).c_str(),
                finding.name.c_str(), finding.what.c_str(), finding.fix.c_str());
  }
  if (!checked.compiled.empty()) std::printf("%s\n", checked.compiled.c_str());
  if (!checked.unobserved.empty()) {
    std::printf("%s: %s\n",
                checked.compiled.empty() ? "only the text was looked at" : "nothing ran",
                checked.unobserved.c_str());
  }
  const Severity worst = task::Worst(checked.findings);
  const char* verdict = worst == Severity::kRefuse           ? "refused"
                        : worst == Severity::kOutOfHeadlines ? "judged, but kept out of headlines"
                        : checked.unobserved.empty()         ? "good"
                        : checked.compiled.empty()           ? "its text is good"
                                                             : "its text is good, and it compiles; "
                                                               "only a run shows whether shapes and "
                                                               "reference are what you mean";
  std::printf("%s: %s\n", loaded.task.name.c_str(), verdict);
}

void PrintJson(const std::string& folder, const task::Scaffold& scaffold) {
  nlohmann::json files = nlohmann::json::array();
  for (const auto& [path, text] : scaffold.files) files.push_back(path);
  PrintDocument("task-init", {{"folder", folder}, {"files", files}, {"notes", scaffold.notes}});
}

void PrintText(const std::string& folder, const task::Scaffold& scaffold) {
  for (const auto& [path, text] : scaffold.files) {
    std::printf("wrote %s/%s\n", folder.c_str(), path.c_str());
  }
  for (const std::string& note : scaffold.notes) {
    std::printf("note: %s\n", LinesForTerminal(note).c_str());
  }
  std::printf(
      "\nSay in %s/reference.py what is right and check the sizes in %s/task.toml, then:\n"
      "  warpsmith task check %s\n"
      "  warpsmith evaluate %s %s/current\n",
      folder.c_str(), folder.c_str(), folder.c_str(), folder.c_str(), folder.c_str());
}

void PrintJson(const agent::TaskSplitOptions& options, const agent::ProvenSplit& proven) {
  nlohmann::json parts = nlohmann::json::array();
  for (const split::Part& part : proven.parts) {
    parts.push_back({{"folder", part.name}, {"task", part.task.name}});
  }
  PrintDocument("task-split", {{"folder", options.into},
                               {"parts", parts},
                               {"worst_fraction", proven.proof.worst},
                               {"confined", proven.proof.confined},
                               {"comparisons", proven.proof.comparisons}});
}

void PrintText(const agent::TaskSplitOptions& options, const agent::ProvenSplit& proven) {
  const std::string& into = options.into;
  for (const split::Part& part : proven.parts) {
    std::printf("wrote %s/%s: %s\n", into.c_str(), part.name.c_str(), part.task.name.c_str());
  }
  // What a machine without one cannot do is no reason to stop: the rules have passed the text.
  if (!proven.proof.confined.starts_with("L1") && !proven.proof.confined.starts_with("L2")) {
    std::printf("note: the model's references ran without a whole sandbox (%s)\n",
                proven.proof.confined.c_str());
  }
  std::printf(
      "the parts compose to the whole: the largest error is %.2g of its bound (%s, workload %s; "
      "%ld outputs compared)\n\nNow, for each part, and then for the whole:\n",
      proven.proof.worst, proven.proof.output.c_str(), proven.proof.workload.c_str(),
      static_cast<long>(proven.proof.comparisons));
  for (const split::Part& part : proven.parts) {
    std::printf("  warpsmith optimize %s/%s --proposer agent --model ...\n", into.c_str(),
                part.name.c_str());
  }
  std::printf("  warpsmith optimize %s --parts %s --proposer agent --model ...\n",
              options.task.c_str(), into.c_str());
}

using kernelbench::ImportResult;
using kernelbench::ImportRow;

std::string Size(int64_t bytes) {
  if (bytes == 0) return "";
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20));
}

std::string Count(const ImportResult& result, const std::string& outcome) {
  int64_t count = 0;
  for (const ImportRow& row : result.rows) count += row.result == outcome ? 1 : 0;
  return std::to_string(count) + " " + outcome;
}

void PrintTable(const ImportResult& result) {
  std::vector<std::vector<report::Cell>> rows;
  for (const ImportRow& row : result.rows) {
    const bool refused = row.result == "refused";
    rows.push_back({{row.problem},
                    {row.result, refused ? report::Tone::kBad : report::Tone::kGood},
                    {Size(row.bytes)},
                    {row.reason}});
  }
  const std::vector<report::Column> columns = {
      {"problem"}, {"result"}, {"tensors", report::Align::kRight}, {"reason"}};
  const auto colour = isatty(STDOUT_FILENO) == 1 ? report::Colour::kAnsi : report::Colour::kNone;
  std::fputs(report::RenderTable(columns, rows, colour).c_str(), stdout);
  const size_t count = result.rows.size();
  std::printf("\n%s: %zu %s, %s, %s, %s\n", result.set.c_str(), count,
              count == 1 ? "problem" : "problems", Count(result, "imported").c_str(),
              Count(result, "kept").c_str(), Count(result, "refused").c_str());
}

void PrintJson(const ImportResult& result) {
  nlohmann::json rows = nlohmann::json::array();
  for (const ImportRow& row : result.rows) {
    rows.push_back({{"problem", row.problem},
                    {"result", row.result},
                    {"bytes", row.bytes},
                    {"folder", row.folder},
                    {"reason", row.reason}});
  }
  PrintDocument("import", {{"set", result.set}, {"problems", rows}});
}

Result<int> RunTaskInit(const TaskInitOptions& options) {
  const task::ScaffoldInput input = TRY(task::ReadScaffoldInput(options.source, options.function));
  const task::Scaffold scaffold = TRY(task::MakeScaffold(input));
  const std::string folder = options.output.empty() ? input.name : options.output;
  TRY(task::WriteScaffold(scaffold, folder));
  const auto loaded = task::LoadTask(folder);
  if (!loaded.ok()) {
    return Error{ErrorCode::kBadInput, "what was guessed is no task yet: " + loaded.error().message,
                 "correct the files in " + folder};
  }
  if (options.common.json) {
    PrintJson(folder, scaffold);
  } else {
    PrintText(folder, scaffold);
  }
  return 0;
}

Result<int> RunTaskImport(const TaskImportOptions& options) {
  const bool quiet = options.common.quiet || options.common.json;
  const ImportResult result = TRY(kernelbench::Import(options, [quiet](const ImportRow& row) {
    if (!quiet) std::fprintf(stderr, "%s: %s\n", row.problem.c_str(), row.result.c_str());
  }));
  if (options.common.json) {
    PrintJson(result);
  } else {
    PrintTable(result);
  }
  for (const ImportRow& row : result.rows) {
    if (row.result != "refused") return 0;
  }
  return 1;  // the answer is no: none could be imported
}

}  // namespace

Result<int> RunTaskCheck(const TaskCheckOptions& options) {
  const bool is_split = split::IsSplit(options.task);
  const task::LoadedTask loaded =
      TRY(task::LoadTask(is_split ? TRY(split::WholeOf(options.task)) : options.task));
  Checked checked = is_split ? TRY(CheckSplit(options, loaded.task)) : TRY(Check(options, loaded));
  Sort(checked.findings);
  if (options.common.json) {
    PrintJson(loaded, checked);
  } else {
    PrintText(loaded, checked);
  }
  return task::Worst(checked.findings) == Severity::kRefuse ? 1 : 0;
}

Result<int> RunTaskSplit(const agent::TaskSplitOptions& options) {
  const agent::ProvenSplit proven = TRY(agent::SplitTask(options));
  if (options.common.json) {
    PrintJson(options, proven);
  } else {
    PrintText(options, proven);
  }
  return 0;
}

namespace {

void AddTaskImport(CLI::App* task, SelectedCommand& chosen) {
  CLI::App* command = task->add_subcommand(
      "import", "task folders from a KernelBench or KernelBench-CUDA checkout");
  auto options = std::make_shared<TaskImportOptions>();
  options->output = "tasks";
  command->add_option("checkout", options->checkout, "your checkout, or its folder of levels")
      ->required();
  command->add_option("--out", options->output, "folder that gets kernelbench-<set>/level1/...")
      ->capture_default_str();
  command->add_option("--only", options->only, "level1, level1/19 or level1/19_ReLU, ...")
      ->delimiter(',');
  command->add_option("--set", options->set, "name of the size set; default: tag or hash of sizes");
  command->add_option("--python", options->modules,
                      "for KernelBench-CUDA: a KernelBench checkout, for torch baselines");
  command
      ->add_option("--dtype", options->dtype,
                   "for KernelBench: floating tensors become f16, bf16 or f32")
      ->check(CLI::IsMember({"f16", "bf16", "f32"}));
  command->add_option("--jobs", options->jobs, "problems at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      ->add_option("--limit", options->limit_seconds, "seconds for compiling and running a driver")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  Choose(command, chosen, options, RunTaskImport);
}

void AddTaskInit(CLI::App* task, SelectedCommand& chosen) {
  CLI::App* command = task->add_subcommand("init", "a first task for your own .cu file");
  auto options = std::make_shared<TaskInitOptions>();
  command->add_option("source", options->source, "the .cu file")->required();
  command->add_option("--out", options->output, "folder to write; default: the file's name");
  command->add_option("--function", options->function,
                      "the kernel or host function that candidates replace; default: a guess");
  Choose(command, chosen, options, RunTaskInit);
}

void AddCompileLimit(CLI::App* command, int& seconds) {
  command->add_option("--limit", seconds, "seconds for comparing parts with the whole")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
}

void AddTaskSplit(CLI::App* task, SelectedCommand& chosen) {
  CLI::App* command = task->add_subcommand(
      "split", "have a model cut a large task into parts, and prove that they compose");
  auto options = std::make_shared<agent::TaskSplitOptions>();
  agent::AgentOptions& model = options->model;
  command->add_option("task", options->task, "task.toml with a PyTorch reference, or its folder")
      ->required();
  command->add_option("--into", options->into, "folder to write")->required();
  command->add_option("--model", model.models,
                      "openai:MODEL@URL, endpoint:FILE, exchange:DIR or recorded:FILE");
  command->add_option("--key-variable", model.key_variable,
                      "environment variable with the key of an openai: model; default: "
                      "OPENAI_API_KEY, to api.openai.com only");
  command->add_flag("--plain-http", model.plain_http,
                    "allow http:// to other machines, where it can be read");
  command->add_option("--temperature", model.temperature, "of sampling; default: the server's")
      ->check(CLI::Range(0.0, 2.0));
  command->add_option("--top-p", model.top_p, "of sampling; default: the server's")
      ->check(CLI::Range(0.0, 1.0));
  command->add_option("--max-tokens", model.max_tokens, "of one reply")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--sampling-seed", model.sampling_seed, "passed on to servers that take one");
  command->add_option("--tries", options->tries, "replies that are asked for until one composes")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  AddCompileLimit(command, options->limit_seconds);
  Choose(command, chosen, options, RunTaskSplit);
}

void AddTaskCheck(CLI::App* task, SelectedCommand& chosen) {
  CLI::App* command = task->add_subcommand("check", "is a task worth measuring, and if not, why");
  auto options = std::make_shared<TaskCheckOptions>();
  command->add_option("task", options->task, std::string(kTaskHelp) + ", or the folder of a split")
      ->required();
  AddCompileLimit(command, options->limit_seconds);
  command->add_flag("--text-only", options->text_only, "run nothing, even where there is a GPU");
  AddDevice(command, options->device);
  Choose(command, chosen, options, RunTaskCheck);
}

}  // namespace

void AddTask(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* task = app.add_subcommand("task", "what must be computed: task files");
  task->require_subcommand(1);
  AddTaskInit(task, chosen);
  AddTaskCheck(task, chosen);
  AddTaskSplit(task, chosen);
  AddTaskImport(task, chosen);
}

}  // namespace warpsmith::cli
