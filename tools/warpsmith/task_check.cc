#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent/split/composition.h"
#include "agent/split/parts.h"
#include "base/display_text.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "commands.h"
#include "compile/worker_compiler.h"
#include "core/program_shim.h"
#include "cuda/driver.h"
#include "judge/audit/image_rules.h"
#include "judge/local_device.h"
#include "judge/reference_stage.h"
#include "judge/resolved_task.h"
#include "judge/torch/torch_process.h"
#include "search/machine/machine.h"
#include "task/check.h"
#include "task/task_file.h"

namespace warpsmith::cli {
namespace {

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

}  // namespace warpsmith::cli
