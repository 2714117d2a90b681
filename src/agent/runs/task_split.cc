#include "agent/runs/task_split.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "agent/prompts/prompt_values.h"
#include "agent/prompts/prompts.h"
#include "agent/runs/models_by_role.h"
#include "agent/split/reply.h"
#include "base/display_text.h"
#include "base/file.h"
#include "store/database_store.h"
#include "task/candidate_file.h"
#include "task/check.h"
#include "task/scaffold.h"
#include "task/task_file.h"

namespace warpsmith::agent {
namespace {

std::string FactsOf(const split::Part& part) {
  std::string text = prompts::TaskFacts(part.task);
  for (const auto& [tensor, value] : part.values) {
    if (tensor != value) text += "its tensor " + tensor + " is " + value + " of the whole\n";
  }
  return text + "\n" + prompts::ReferenceText(part.task);
}

Result<std::optional<Candidate>> Exported(const std::filesystem::path& folder,
                                          const split::Part& part) {
  const std::filesystem::path path = folder / part.name / kExportedKernel;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::optional<Candidate>();
  return task::StartingKernel(path.string(), part.task);
}

Result<std::optional<Candidate>> Stored(store::DatabaseStore& store,
                                        const std::vector<RunRecord>& runs, const Task& part,
                                        const std::string& architecture) {
  std::vector<RunRecord> own;
  for (const RunRecord& run : runs) {
    const bool is_its = TaskId(run.task) == TaskId(part) && run.device.architecture == architecture;
    if (is_its) own.push_back(run);
  }
  const std::optional<Step> best = TRY(store::BestStep(store, own));
  if (!best.has_value()) return std::optional<Candidate>();
  return std::optional(best->candidate);
}

Error NoKernel(const std::filesystem::path& folder, const split::Part& part) {
  const std::string path = (folder / part.name).string();
  return {ErrorCode::kNothingMeasured, "part '" + part.name + "' has no kernel yet",
          "warpsmith optimize " + path + " --proposer agent ..., or export one into " + path + "/" +
              kExportedKernel};
}

// The split may be of a task that looks alike.
Status CheckWhole(const std::filesystem::path& folder, const Task& whole) {
  const std::string path = TRY(split::WholeOf(folder));
  if (TaskId(TRY(task::LoadTask(path)).task) == TaskId(whole)) return {};
  return Error{ErrorCode::kBadInput, folder.string() + " splits another task: " + path,
               "optimize that one, or split this one again"};
}

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

ChatRequest RequestFor(const TaskSplitOptions& options, const Task& whole) {
  const prompts::PromptTemplate& prompt =
      prompts::Prompts::Embedded().Get(prompts::PromptId::kSplit);
  const auto text = prompts::Render(prompt, {{"task_name", whole.name},
                                             {"task_facts", prompts::TaskFacts(whole)},
                                             {"reference", prompts::ReferenceText(whole)}});
  CHECK(text.ok());  // our own template and our own values
  ChatRequest request;
  request.role = "split";
  request.messages = {{"user", *text}};
  request.sampling.temperature = options.model.temperature;
  request.sampling.top_p = options.model.top_p;
  request.sampling.max_tokens = options.model.max_tokens;
  request.sampling.seed = options.model.sampling_seed;
  return request;
}

Result<AgentModels> ModelOf(const TaskSplitOptions& options) {
  if (options.model.models.empty()) {
    return Error{ErrorCode::kUsage, "task split needs a model",
                 "name one with --model, or write the parts by hand (docs/agent.md) and have them "
                 "checked: warpsmith task check DIR"};
  }
  AgentModels models = TRY(OpenModels(options.model, Budget()));
  if (models.by_role.contains("")) return models;
  return Error{ErrorCode::kUsage, "task split asks one model, and no run of the agent is replayed",
               "write --model openai:MODEL@URL, endpoint:FILE, exchange:DIR or recorded:FILE"};
}

Status CheckTexts(const std::vector<split::Part>& parts) {
  for (const split::Part& part : parts) {
    for (const task::TaskFinding& finding : task::ExamineText(part.task)) {
      if (finding.severity != task::Severity::kRefuse) continue;
      return Error{ErrorCode::kBadInput, part.name + ": " + finding.what, finding.fix};
    }
  }
  return {};
}

Result<ProvenSplit> ProvenIn(const fs::path& folder, const TaskSplitOptions& options,
                             const Task& whole, Files files) {
  ProvenSplit proven;
  proven.files = std::move(files);
  TRY(task::WriteScaffold({proven.files, {}}, folder));
  proven.parts = TRY(split::LoadSplit(folder, whole));
  TRY(CheckTexts(proven.parts));
  proven.proof = TRY(split::Prove(whole, proven.parts, split::Author::kModel,
                                  std::chrono::seconds(options.limit_seconds)));
  return proven;
}

// It is not there any more when somebody reads this.
Error WithoutFolder(Error error, const fs::path& folder) {
  for (const std::string& words :
       {folder.string() + "/" + split::kPartsFile + ": ", folder.string() + "/"}) {
    for (size_t at = 0; (at = error.message.find(words, at)) != std::string::npos;) {
      error.message.erase(at, words.size());
    }
  }
  return error;
}

Result<ProvenSplit> Prove(const TaskSplitOptions& options, const Task& whole,
                          const std::string& reply) {
  const fs::path into = fs::absolute(options.into);
  Files files =
      TRY(split::FilesFrom(reply, whole, fs::proximate(fs::absolute(options.task), into).string()));
  const TemporaryDirectory temporary = TRY(TemporaryDirectory::Create("warpsmith-parts"));
  const fs::path folder = temporary.path() / "parts";
  Result<ProvenSplit> proven = ProvenIn(folder, options, whole, std::move(files));
  if (!proven.ok()) return WithoutFolder(proven.error(), folder);
  return proven;
}

void PrintProgress(const TaskSplitOptions& options, const std::string& what) {
  if (!options.common.quiet) std::fprintf(stderr, "%s\n", what.c_str());
}

// For the model: without sizes that it must not know.
std::string ComplaintFrom(const Error& error, const Task& whole) {
  for (const Workload& workload : whole.workloads) {
    const bool names_it = error.message.find("'" + workload.name + "'") != std::string::npos;
    if (workload.hidden && names_it) return "the parts do not join or compose on all sizes";
  }
  const bool says_where = error.message.find("part-") != std::string::npos;
  return ForTerminal(error.message, 600) +
         (says_where ? " (part-1 is the reply's first part, and so on)" : "");
}

ChatRequest WithComplaint(ChatRequest request, int number, const std::string& complaint) {
  if (complaint.empty()) return request;
  request.messages.front().text +=
      "\n# An earlier reply\n\nReply number " + std::to_string(number) +
      " to this prompt could not be used: " + complaint + "\nReply in the format above.\n";
  return request;
}

Result<ProvenSplit> Ask(const TaskSplitOptions& options, const Task& whole, ChatModel& model) {
  const ChatRequest request = RequestFor(options, whole);
  std::string complaint;
  for (int number = 1; number <= options.tries; ++number) {
    const ChatReply reply = TRY(model.Complete(WithComplaint(request, number - 1, complaint)));
    const std::string text = reply.samples.empty() ? "" : reply.samples.front().text;
    PrintProgress(options, "looking at reply " + std::to_string(number) + "; its parts may take " +
                               std::to_string(options.limit_seconds) + " s");
    Result<ProvenSplit> proven = Prove(options, whole, text);
    if (proven.ok() || proven.error().code != ErrorCode::kBadInput) return proven;
    complaint = ComplaintFrom(proven.error(), whole);
    PrintProgress(options,
                  "reply " + std::to_string(number) + " is no split of the task: " + complaint);
  }
  return Error{ErrorCode::kBadInput,
               (options.tries == 1 ? "the reply is no split of the task: "
                                   : "none of " + std::to_string(options.tries) +
                                         " replies is a split of the task; the last: ") +
                   complaint,
               "ask another model, or write the parts by hand (docs/agent.md)"};
}

Status CheckFree(const std::string& into) {
  std::error_code failed;
  if (!fs::exists(into, failed)) return {};
  if (fs::is_directory(into, failed) && fs::is_empty(into, failed)) return {};
  return Error{ErrorCode::kBadInput, into + ": is there already", "name another folder: --into"};
}

}  // namespace

Result<std::vector<agent::PartKernel>> PartKernels(const std::filesystem::path& folder,
                                                   const Task& whole, store::DatabaseStore& store,
                                                   const std::string& architecture) {
  TRY(CheckWhole(folder, whole));
  const std::vector<split::Part> parts = TRY(split::LoadSplit(folder, whole));
  const std::vector<RunRecord> runs = TRY(store.Runs());
  std::vector<agent::PartKernel> kernels;
  for (const split::Part& part : parts) {
    std::optional<Candidate> kernel = TRY(Exported(folder, part));
    if (!kernel.has_value()) kernel = TRY(Stored(store, runs, part.task, architecture));
    if (!kernel.has_value()) return NoKernel(folder, part);
    kernel->provenance = {};  // where it came from is not what is proposed
    kernels.push_back({part.task.name, FactsOf(part), std::move(*kernel)});
  }
  return kernels;
}

Result<ProvenSplit> SplitTask(const TaskSplitOptions& options) {
  const task::LoadedTask loaded = TRY(task::LoadTask(options.task));
  if (loaded.task.reference.kind != "torch") {
    return Error{ErrorCode::kBadInput,
                 "the reference of '" + loaded.task.name + "' is of kind '" +
                     loaded.task.reference.kind + "'",
                 "split tasks whose reference is PyTorch"};
  }
  TRY(CheckFree(options.into));
  const AgentModels models = TRY(ModelOf(options));
  // Before anybody is paid for an answer.
  PrintProgress(options, "running the reference of '" + loaded.task.name +
                             "' on the CPU, for at most " + std::to_string(options.limit_seconds) +
                             " s");
  TRY(split::ProveWhole(loaded.task, std::chrono::seconds(options.limit_seconds)));
  ProvenSplit proven = TRY(Ask(options, loaded.task, *models.by_role.at("")));
  TRY(task::WriteScaffold({proven.files, {}}, options.into));
  return proven;
}

}  // namespace warpsmith::agent
