#include "agent/prompts/model_answer.h"

#include <algorithm>
#include <initializer_list>
#include <set>

#include <nlohmann/json.hpp>

#include "agent/prompts/code_reply.h"
#include "agent/prompts/edit.h"
#include "agent/prompts/reply_text.h"
#include "base/display_text.h"
#include "base/text.h"
#include "core/serialize.h"
#include "task/candidate_file.h"

namespace warpsmith::prompts {
namespace {

using nlohmann::json;

constexpr std::string_view kSource = "the answer";
constexpr size_t kMaxStateName = 40;

// The text from the first brace to the last.
std::string_view Braced(std::string_view text) {
  const size_t open = text.find('{'), close = text.rfind('}');
  if (open == text.npos || close == text.npos || close < open) return {};
  return text.substr(open, close + 1 - open);
}

Result<json> ObjectIn(std::string_view reply) {
  const std::string clean = TRY(CleanReply(reply));
  std::string braced;
  for (const Block& block : CutBlocks(clean)) {
    if (block.fenced && !block.closed) return BadReply("the answer ends inside a block");
    if (block.fenced && !Braced(block.text).empty()) braced = Braced(block.text);
  }
  if (braced.empty()) braced = Braced(clean);
  if (braced.empty()) return BadReply("the answer has no JSON object");
  auto parsed = ParseJson(kSource, braced);
  if (!parsed.ok()) return BadReply(ForTerminal(parsed.error().message, kMaxAnswerText));
  return std::move(*parsed);
}

Result<std::string> Text(const JsonReader& json) {
  return ForTerminal(TRY(json.String()), kMaxAnswerText);
}

// Null and missing are empty.
Result<std::string> OptionalText(const JsonReader& object, std::string_view key) {
  if (!object.Has(key) || object.At(key).json()->is_null()) return std::string();
  return Text(object.At(key));
}

Result<std::vector<JsonReader>> List(const JsonReader& json) {
  std::vector<JsonReader> items = TRY(json.Items());
  if (items.size() > kMaxAnswerItems) {
    return json.Bad("at most " + std::to_string(kMaxAnswerItems) + " items");
  }
  return items;
}

Result<std::vector<std::string>> Texts(const JsonReader& object, std::string_view key) {
  std::vector<std::string> texts;
  if (!object.Has(key)) return texts;
  for (const JsonReader& item : TRY(List(object.At(key)))) texts.push_back(TRY(Text(item)));
  return texts;
}

Result<std::string> OneOf(const JsonReader& json, std::initializer_list<std::string_view> known) {
  std::string text = TRY(Text(json)), all;
  if (std::find(known.begin(), known.end(), text) != known.end()) return text;
  for (const std::string_view one : known)
    all += (all.empty() ? "one of " : ", ") + std::string(one);
  return json.Bad(all);
}

Result<std::string> StateName(const JsonReader& json) {
  std::string name = TRY(Text(json));
  if (!IsStateName(name)) return json.Bad("a state's name");
  return name;
}

Result<NamedState> StateFrom(const JsonReader& json, size_t kernels) {
  NamedState state;
  state.kernel =
      static_cast<size_t>(TRY(json.At("kernel").IntIn(1, static_cast<int64_t>(kernels)))) - 1;
  state.state = TRY(StateName(json.At("state")));
  if (!TRY(OptionalText(json, "secondary")).empty()) {
    state.secondary = TRY(StateName(json.At("secondary")));
  }
  state.confidence = TRY(json.At("confidence").Number());
  if (!(state.confidence >= 0 && state.confidence <= 1)) {
    return json.At("confidence").Bad("a number from 0 to 1");
  }
  state.evidence = TRY(Texts(json, "evidence"));
  return state;
}

Result<std::vector<NamedState>> StatesFrom(const JsonReader& root, size_t kernels) {
  std::vector<NamedState> states;
  std::set<size_t> named;
  for (const JsonReader& item : TRY(List(root.At("states")))) {
    states.push_back(TRY(StateFrom(item, kernels)));
    if (!named.insert(states.back().kernel).second) {
      return item.At("kernel").Bad("each kernel once");
    }
  }
  if (states.empty()) return root.At("states").Bad("at least one state");
  return states;
}

Result<GapAnalysis> GapFrom(const JsonReader& root) {
  GapAnalysis gap;
  gap.cause = TRY(Text(root.At("cause")));
  gap.verdict = TRY(OneOf(root.At("verdict"), {"technique-wrong-here", "applied-badly",
                                               "other-limit-took-over", "noise", "as-expected"}));
  gap.next = TRY(OptionalText(root, "next"));
  gap.evidence = TRY(Texts(root, "evidence"));
  return gap;
}

Result<std::vector<Doubt>> DoubtsFrom(const JsonReader& root) {
  std::vector<Doubt> doubts;
  for (const JsonReader& item : TRY(List(root.At("doubts")))) {
    Doubt doubt;
    doubt.reason = TRY(Text(item.At("reason")));
    doubt.where = TRY(OptionalText(item, "where"));
    doubt.severity = TRY(OneOf(item.At("severity"), {"high", "medium", "low"}));
    doubts.push_back(std::move(doubt));
  }
  return doubts;
}

Result<Note> NoteFrom(const JsonReader& root) {
  Note note;
  note.note = TRY(Text(root.At("note")));
  if (Trimmed(note.note).empty()) return root.At("note").Bad("a sentence");
  note.when = TRY(OptionalText(root, "when"));
  note.replaces = TRY(OptionalText(root, "replaces"));
  return note;
}

// In one line, whatever the answer called its fields.
template <typename T>
Result<T> OrBadReply(Result<T> result) {
  if (result.ok()) return result;
  return BadReply(ForTerminal(result.error().message, kMaxAnswerText));
}

}  // namespace

bool IsStateName(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > kMaxStateName || !plain(name.front()) || !plain(name.back())) {
    return false;
  }
  return name.find("--") == name.npos &&
         std::all_of(name.begin(), name.end(), [&](char c) { return c == '-' || plain(c); });
}

Result<std::vector<NamedState>> ReadStates(std::string_view reply, size_t kernels) {
  const json object = TRY(ObjectIn(reply));
  return OrBadReply(StatesFrom(JsonReader(std::string(kSource), object), kernels));
}

Result<GapAnalysis> ReadGapAnalysis(std::string_view reply) {
  const json object = TRY(ObjectIn(reply));
  return OrBadReply(GapFrom(JsonReader(std::string(kSource), object)));
}

Result<std::vector<Doubt>> ReadDoubts(std::string_view reply) {
  const json object = TRY(ObjectIn(reply));
  return OrBadReply(DoubtsFrom(JsonReader(std::string(kSource), object)));
}

Result<Note> ReadNote(std::string_view reply) {
  const json object = TRY(ObjectIn(reply));
  return OrBadReply(NoteFrom(JsonReader(std::string(kSource), object)));
}

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
