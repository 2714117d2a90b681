#include "agent/prompts/prompts.h"

#include <algorithm>
#include <array>
#include <set>

#include "embedded/agent_prompts.h"

namespace warpsmith::prompts {
namespace {

constexpr auto kLine = ValueKind::kLine;
constexpr auto kText = ValueKind::kText;
constexpr auto kFenced = ValueKind::kFenced;

constexpr std::array kVariables = {
    Variable{"attempt", kLine, "which of how many attempts: \"2 of 3\""},
    Variable{"change", kFenced, "what was changed, as a diff or in words"},
    Variable{"device", kLine, "the GPU's name and architecture"},
    Variable{"documents", kFenced, "passages that a search found, with their files"},
    Variable{"exemplars", kText, "variants with scores; each file in a fence of its own"},
    Variable{"expected_gain", kLine, "with its uncertainty"},
    Variable{"failure", kLine, "what kind of failure, or that there was none"},
    Variable{"history", kFenced, "the way to this code, and what was tried on it"},
    Variable{"knowledge", kFenced, "knowledge::Render"},
    Variable{"known_states", kText, "names of states and what they mean"},
    Variable{"log", kFenced, "a compiler's log, or a verdict in words"},
    Variable{"measured_gain", kLine, "with its interval"},
    Variable{"notes", kFenced, "what the knowledge base says"},
    Variable{"parts", kText, "PartsText: what each part computes, and its kernel"},
    Variable{"plan", kFenced, "the launch plan as JSON"},
    Variable{"profile", kText, "profile::ModelBlock of the code"},
    Variable{"profile_after", kText, "the same of the changed code"},
    Variable{"reference", kFenced, "the reference's sources, or its name where it is built in"},
    Variable{"reply_format", kText, "parts reply_*.md"},
    Variable{"sources", kText, "SourcesText: each file in a fence of its own"},
    Variable{"state", kLine, "the name of a state"},
    Variable{"states", kText, "StatesText: the states that rules found"},
    Variable{"states_after", kText, "the same of the changed code"},
    Variable{"target", kLine, "which kernels a technique is meant for"},
    Variable{"task_facts", kFenced, "tensors, sizes, tolerance, entry"},
    Variable{"task_name", kLine, "for people"},
    Variable{"technique", kLine, "the name of the technique"},
    Variable{"technique_notes", kFenced, "how the technique is done"},
};

struct FileRow {
  PromptId id;
  std::string_view file;
};
constexpr std::array kFiles = {
    FileRow{PromptId::kBootstrap, "bootstrap.md"},
    FileRow{PromptId::kStateExtractor, "state_extractor.md"},
    FileRow{PromptId::kLowering, "lowering.md"},
    FileRow{PromptId::kOwnIdea, "own_idea.md"},
    FileRow{PromptId::kImprove, "improve.md"},
    FileRow{PromptId::kContrastive, "contrastive.md"},
    FileRow{PromptId::kRepair, "repair.md"},
    FileRow{PromptId::kStepReview, "step_review.md"},
    FileRow{PromptId::kSoftVerification, "soft_verification.md"},
    FileRow{PromptId::kReplyKernel, "reply_kernel.md"},
    FileRow{PromptId::kReplyProgram, "reply_program.md"},
    FileRow{PromptId::kReplyEdits, "reply_edits.md"},
    FileRow{PromptId::kSplit, "split.md"},
    FileRow{PromptId::kJoin, "join.md"},
};

Status EachIsUsed(const std::map<PromptId, PromptTemplate>& prompts,
                  std::span<const Variable> variables) {
  std::set<std::string, std::less<>> used;
  for (const auto& [id, prompt] : prompts) {
    for (std::string& name : VariablesOf(prompt)) used.insert(std::move(name));
  }
  for (const Variable& variable : variables) {
    if (!used.contains(variable.name)) {
      return Error{ErrorCode::kBadInput,
                   "prompts: none uses the variable '" + std::string(variable.name) + "'",
                   "use it, or take it out of the table"};
    }
  }
  return {};
}

}  // namespace

std::span<const Variable> VariableTable() { return kVariables; }

std::string_view FileName(PromptId id) {
  const auto row =
      std::find_if(kFiles.begin(), kFiles.end(), [&](const FileRow& one) { return one.id == id; });
  CHECK(row != kFiles.end());
  return row->file;
}

Result<Prompts> Prompts::Load(std::span<const EmbeddedFile> files,
                              std::span<const Variable> variables) {
  Prompts prompts;
  for (const FileRow& row : kFiles) {
    const auto file = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& one) {
      return one.path.substr(one.path.rfind('/') + 1) == row.file;
    });
    if (file == files.end()) {
      return Error{ErrorCode::kBadInput, "prompts: no file '" + std::string(row.file) + "'",
                   "see src/agent/prompts/README.md"};
    }
    prompts.prompts_.emplace(row.id, TRY(ParseTemplate(row.file, file->contents, variables)));
  }
  TRY(EachIsUsed(prompts.prompts_, variables));
  return prompts;
}

const Prompts& Prompts::Embedded() {
  static const Prompts& prompts = *[] {
    auto loaded = Load(embedded::AgentPrompts(), kVariables);
    CHECK(loaded.ok());
    return new Prompts(std::move(*loaded));
  }();
  return prompts;
}

}  // namespace warpsmith::prompts
