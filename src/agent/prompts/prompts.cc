#include "agent/prompts/prompts.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/display_text.h"
#include "base/utf8.h"
#include "embedded/agent_prompts.h"

namespace warpsmith::prompts {
namespace {

constexpr size_t kMaxLineCharacters = 400;
constexpr std::string_view kOpen = "{{", kClose = "}}";

Error BadTemplate(std::string_view name, const std::string& what) {
  return {ErrorCode::kBadInput, "prompt '" + std::string(name) + "': " + what,
          "see src/agent/prompts/README.md"};
}

// Takes "version: N\n---\n" off the file.
Result<int> TakeVersion(std::string_view name, std::string_view* file) {
  constexpr std::string_view kKey = "version: ", kRule = "\n---\n";
  const size_t rule = file->find(kRule);
  if (!file->starts_with(kKey) || rule == file->npos) {
    return BadTemplate(name, "does not begin with 'version: N' and a line '---'");
  }
  const std::string_view number = file->substr(kKey.size(), rule - kKey.size());
  int version = 0;
  const auto [end, error] = std::from_chars(number.begin(), number.end(), version);
  if (error != std::errc() || end != number.end() || version < 1) {
    return BadTemplate(name, "version '" + std::string(number) + "' is no number from 1");
  }
  file->remove_prefix(rule + kRule.size());
  return version;
}

bool StandsAlone(std::string_view text, size_t begin, size_t end) {
  return (begin == 0 || text[begin - 1] == '\n') && (end == text.size() || text[end] == '\n');
}

std::string_view LongestRun(std::string_view text, char c) {
  std::string_view longest;
  for (size_t at = text.find(c); at != text.npos; at = text.find(c, at)) {
    const size_t end = std::min(text.find_first_not_of(c, at), text.size());
    if (end - at > longest.size()) longest = text.substr(at, end - at);
    at = end;
  }
  return longest;
}

// The beginning and the end of a text that is too long: a compiler's first error and its summary.
std::string Shortened(std::string_view text) {
  if (text.size() <= kMaxFencedBytes) return std::string(text);
  const size_t half = kMaxFencedBytes / 2;
  return std::string(text.substr(0, half)) + "\n[" + std::to_string(text.size() - 2 * half) +
         " bytes left out]\n" + std::string(text.substr(text.size() - half));
}

std::string Line(std::string_view value) {
  std::string line = ForTerminal(value, kMaxLineCharacters);
  std::replace(line.begin(), line.end(), '`', '\'');
  return line;
}

std::string Written(const Piece& piece, const std::string& value) {
  switch (piece.kind) {
    case ValueKind::kLine:
      return Line(value);
    case ValueKind::kText:
      return ValidUtf8(value);
    case ValueKind::kFenced:
      break;
  }
  std::string fenced = Fenced(value);
  fenced.pop_back();  // the template's own newline follows
  return fenced;
}

}  // namespace

Result<PromptTemplate> ParseTemplate(std::string_view name, std::string_view file,
                                     std::span<const Variable> known) {
  PromptTemplate prompt;
  prompt.name = name;
  prompt.version = TRY(TakeVersion(name, &file));
  size_t at = 0;
  for (size_t open = file.find(kOpen); open != file.npos; open = file.find(kOpen, at)) {
    const size_t close = file.find(kClose, open);
    if (close == file.npos) return BadTemplate(name, "a '{{' is never closed");
    const std::string_view variable = file.substr(open + 2, close - open - 2);
    const auto row = std::find_if(known.begin(), known.end(),
                                  [&](const Variable& one) { return one.name == variable; });
    if (row == known.end()) {
      return BadTemplate(name, "no variable is called '" + std::string(variable) + "'");
    }
    if (row->kind == ValueKind::kFenced && !StandsAlone(file, open, close + 2)) {
      return BadTemplate(name, "'" + std::string(variable) + "' needs a line of its own");
    }
    prompt.pieces.push_back({std::string(file.substr(at, open - at)), "", ValueKind::kText});
    prompt.pieces.push_back({"", std::string(variable), row->kind});
    at = close + 2;
  }
  prompt.pieces.push_back({std::string(file.substr(at)), "", ValueKind::kText});
  return prompt;
}

std::vector<std::string> VariablesOf(const PromptTemplate& prompt) {
  std::set<std::string> names;
  for (const Piece& piece : prompt.pieces) {
    if (!piece.variable.empty()) names.insert(piece.variable);
  }
  return {names.begin(), names.end()};
}

Result<std::string> Render(const PromptTemplate& prompt, const Values& values) {
  const std::vector<std::string> used = VariablesOf(prompt);
  for (const auto& [name, value] : values) {
    if (!std::binary_search(used.begin(), used.end(), name)) {
      return Error{ErrorCode::kInternal,
                   "prompt '" + prompt.name + "' has no variable '" + name + "'", "report it"};
    }
  }
  std::string text;
  for (const Piece& piece : prompt.pieces) {
    if (piece.variable.empty()) {
      text += piece.text;
      continue;
    }
    const auto value = values.find(piece.variable);
    if (value == values.end()) {
      return Error{ErrorCode::kInternal,
                   "prompt '" + prompt.name + "' was given no '" + piece.variable + "'",
                   "report it"};
    }
    text += Written(piece, value->second);
  }
  return text;
}

std::string Fenced(std::string_view text) {
  const std::string inside = ValidUtf8(Shortened(text));
  const std::string fence(std::max<size_t>(3, LongestRun(inside, '`').size() + 1), '`');
  return fence + "\n" + inside + (inside.empty() || inside.back() == '\n' ? "" : "\n") + fence +
         "\n";
}

namespace {

constexpr auto kLine = ValueKind::kLine;
constexpr auto kText = ValueKind::kText;
constexpr auto kFenced = ValueKind::kFenced;

constexpr std::array kVariables = {
    Variable{"attempt", kLine, "which of how many attempts: \"2 of 3\""},
    Variable{"background", kText, "sections on the best variant: its profile, documents"},
    Variable{"change", kFenced, "what was changed, as a diff or in words"},
    Variable{"configurations", kFenced, "of each kernel family: parameters and their values"},
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
    FileRow{PromptId::kReplyKeptPlan, "reply_kept_plan.md"},
    FileRow{PromptId::kReplyNames, "reply_names.md"},
    FileRow{PromptId::kReplyConfiguration, "reply_configuration.md"},
};

Status EachIsUsed(const std::map<PromptId, PromptTemplate>& prompts) {
  std::set<std::string, std::less<>> used;
  for (const auto& [id, prompt] : prompts) {
    for (std::string& name : VariablesOf(prompt)) used.insert(std::move(name));
  }
  for (const Variable& variable : kVariables) {
    if (!used.contains(variable.name)) {
      return Error{ErrorCode::kBadInput,
                   "prompts: none uses the variable '" + std::string(variable.name) + "'",
                   "use it, or take it out of the table"};
    }
  }
  return {};
}

}  // namespace

Result<Prompts> Prompts::Load(std::span<const EmbeddedFile> files) {
  Prompts prompts;
  for (const FileRow& row : kFiles) {
    const auto file = std::find_if(files.begin(), files.end(), [&](const EmbeddedFile& one) {
      return one.path.substr(one.path.rfind('/') + 1) == row.file;
    });
    if (file == files.end()) {
      return Error{ErrorCode::kBadInput, "prompts: no file '" + std::string(row.file) + "'",
                   "see src/agent/prompts/README.md"};
    }
    prompts.prompts_.emplace(row.id, TRY(ParseTemplate(row.file, file->contents, kVariables)));
  }
  TRY(EachIsUsed(prompts.prompts_));
  return prompts;
}

const Prompts& Prompts::Embedded() {
  static const Prompts& prompts = *[] {
    auto loaded = Load(embedded::AgentPrompts());
    CHECK(loaded.ok());
    return new Prompts(std::move(*loaded));
  }();
  return prompts;
}

}  // namespace warpsmith::prompts
