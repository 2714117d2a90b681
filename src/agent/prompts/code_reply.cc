#include "agent/prompts/code_reply.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/prompts/edit.h"
#include "agent/prompts/reply_text.h"
#include "base/display_text.h"
#include "base/json_reader.h"
#include "base/result.h"
#include "base/text.h"
#include "core/launch_plan.h"
#include "core/serialize.h"
#include "task/toml_text.h"

namespace warpsmith::prompts {
namespace {

// What of a candidate document is taken: never flags, entry, toolchain or where it came from.
struct PlanDocument {
  std::optional<LaunchPlan> plan;
  std::map<std::string, std::string> sources;  // candidate.json's, unchecked names
};

using nlohmann::json;

Result<json> Parse(std::string_view text) {
  if (Trimmed(text).starts_with('{')) return ParseJson("the reply's plan", text);
  return task::ParseTomlAsJson("the reply's plan", text);
}

Result<LaunchPlan> ReadPlan(json plan) {
  if (plan.is_object() && !plan.contains("version")) plan["version"] = kLaunchPlanVersion;
  return LaunchPlanFrom(JsonReader("the reply's plan", plan));
}

Error Plain(const Error& error) { return BadReply(error.message); }

bool LooksLikePlan(std::string_view text) {
  const bool json_like = Trimmed(text).starts_with('{');
  for (const std::string_view word : {"operations", "\"plan\"", "\"sources\"", "[plan]"}) {
    if (text.find(word) == text.npos) continue;
    if (json_like || text.find("[[") != text.npos || text.find(" = ") != text.npos) return true;
  }
  return false;
}

// JSON or TOML: a plan, or a candidate (docs/task-format.md) with one. Read by the readers
// of those formats; a missing "version" counts as the one that the prompts show. kBadInput for
// anything else, in the readers' words, and for [tunables].
Result<PlanDocument> ReadPlanDocument(std::string_view text) {
  auto parsed = Parse(text);
  if (!parsed.ok()) return Plain(parsed.error());
  if (!parsed->is_object()) return BadReply("the reply's plan is no object");
  PlanDocument document;
  if (parsed->contains("tunables")) {
    return BadReply("the reply's plan has tunables: give the values themselves");
  }
  const bool bare = parsed->contains("operations");
  if (bare || parsed->contains("plan")) {
    auto plan = ReadPlan(bare ? *parsed : (*parsed)["plan"]);
    if (!plan.ok()) return Plain(plan.error());
    document.plan = std::move(*plan);
  }
  if (!bare && parsed->contains("sources") && (*parsed)["sources"].is_object()) {
    for (const auto& [name, source] : (*parsed)["sources"].items()) {
      if (!source.is_string()) return BadReply("the reply's sources are not all texts");
      document.sources[name] = source.get<std::string>();
    }
  }
  if (!document.plan && document.sources.empty()) {
    return BadReply("the reply's plan has no operations");
  }
  return document;
}

// "..." in a comment also stands for a series (a[0], a[1], ...), so it takes a word with it.
bool StandsForOthers(std::string_view line) {
  constexpr std::array<std::string_view, 9> kWords = {
      "unchanged",        "rest of", "existing code", "same as before", "as before",
      "remains the same", "omitted", "previous code", "your code here"};
  line = Trimmed(line);
  if (!line.starts_with("//") && !line.starts_with("/*") && !line.starts_with("...")) return false;
  if (line.find("...") == line.npos && line.find("\xE2\x80\xA6") == line.npos) return false;
  std::string lower(line);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

// The first line of `text` that only stands for others, as "// ... rest unchanged ..." does, and
// that `before` does not have.
std::optional<std::string> ElidedLine(std::string_view text, std::string_view before) {
  for (const std::string_view line : LinesOf(text)) {
    if (StandsForOthers(line) && before.find(Trimmed(line)) == before.npos) {
      return std::string(Trimmed(line));
    }
  }
  return std::nullopt;
}

using Sources = std::map<std::string, std::string>;

std::string Quoted(std::string_view name) { return "'" + ForTerminal(name, 80) + "'"; }

bool IsCodeLanguage(std::string_view language) {
  constexpr std::array<std::string_view, 9> kCode = {"cuda", "cu", "cuh", "cpp", "c++",
                                                     "cc",   "c",  "hpp", ""};
  return std::find(kCode.begin(), kCode.end(), language) != kCode.end();
}

bool Has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

// A file rather than lines of one.
bool LooksWhole(std::string_view text) {
  return Has(text, "__global__") || Has(text, "#include") || Has(text, "#pragma once");
}

// A reply that is nothing but code begins like code.
bool IsBareCode(std::string_view text) {
  text = Trimmed(text);
  constexpr std::array<std::string_view, 6> kBeginnings = {
      "#include", "#define", "#pragma", "//", "extern \"C\"", "__global__"};
  const bool begins = std::any_of(kBeginnings.begin(), kBeginnings.end(),
                                  [&](std::string_view one) { return text.starts_with(one); });
  return begins && Has(text, "__global__");
}

std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

bool IsComment(std::string_view line) {
  line = Trimmed(line);
  return line.starts_with("//") || line.starts_with("/*") || line.starts_with("#");
}

// What the block is called, and how sure that is.
struct BlockName {
  std::string name;  // empty: none
  bool by_sentence = false;
};

BlockName NameOf(const Block& block) {
  if (const auto name = NameInInfo(block.info)) return {*name};
  if (const auto name = NameAsLabel(block.above)) return {*name};
  const std::string_view first = FirstLine(block.text);
  if (IsComment(first)) {
    if (const auto name = NameAsLabel(first)) return {*name};
  }
  if (const auto name = NameInSentence(block.above)) return {*name, true};
  return {};
}

// The reply's blocks, taken in one after the other.
class Assembly {
 public:
  explicit Assembly(const ReplyBase& base) : base_(base), sources_(base.sources) {}

  Status Take(const Block& block) {
    if (block.fenced && Trimmed(block.text).empty()) return {};
    if (HasSearchBlocks(block.text)) {
      return TakeEdits(TRY(ReadSearchBlocks(block.text)), NameOf(block).name);
    }
    if (!block.closed) return HalfAFile(block);
    if (IsUnifiedDiff(block.text)) {
      return TakeEdits(TRY(ReadUnifiedDiff(block.text)), NameOf(block).name);
    }
    return block.fenced ? TakeFenced(block) : Status();
  }

  // The whole reply, where it has no fence.
  Status TakeBare(std::string_view text) {
    if (IsBareCode(text)) return TakeFile(base_.entry, std::string(text));
    if (Trimmed(text).starts_with('{') && LooksLikePlan(text)) return TakePlan(text);
    return {};
  }

  Result<CodeReply> Done(std::string_view reply) {
    TRY(TakeUnnamed());
    if (!found_) return NothingIn(reply);
    const std::string entry = TRY(Entry());
    TRY(CheckSources());
    if (sources_ == base_.sources && !plan_) {
      return BadReply("the reply gives the code back unchanged");
    }
    return CodeReply{std::move(sources_), entry, std::move(plan_)};
  }

 private:
  static Status HalfAFile(const Block& block) {
    const std::string name = NameOf(block).name;
    return BadReply("the reply ends inside " +
                    (name.empty() ? std::string("a block of code") : Quoted(name)) +
                    ", before its fence is closed");
  }

  Status TakeFenced(const Block& block) {
    const auto [name, by_sentence] = NameOf(block);
    const bool source = HasSourceExtension(name);
    const bool data =
        block.language == "json" || block.language == "toml" || block.language.empty();
    if (IsPlanName(name) || (!source && data && LooksLikePlan(block.text))) {
      return TakePlan(block.text);
    }
    if (source && !(by_sentence && !LooksWhole(block.text))) return TakeFile(name, block.text);
    if (IsCodeLanguage(block.language) && (name.empty() || source)) {
      if (LooksWhole(block.text)) unnamed_.push_back(block.text);
      return {};
    }
    if (passed_over_.empty()) {
      passed_over_ = name.empty() ? "a block of " + Quoted(block.language) : Quoted(name);
    }
    return {};
  }

  Status TakeFile(const std::string& name, std::string text) {
    TRY(CheckSourceName(name));
    sources_[name] = std::move(text);
    written_.push_back(name);
    last_file_ = name;
    found_ = true;
    return {};
  }

  Status TakePlan(std::string_view text) {
    PlanDocument document = TRY(ReadPlanDocument(text));
    for (auto& [name, source] : document.sources) TRY(TakeFile(name, std::move(source)));
    if (document.plan) plan_ = std::move(document.plan);
    found_ = true;
    return {};
  }

  Status TakeEdits(std::vector<FileEdit> edits, const std::string& block_name) {
    for (FileEdit& edit : edits) {
      if (++edits_ > kMaxEdits)
        return BadReply("more than " + std::to_string(kMaxEdits) + " edits");
      if (edit.file.empty()) edit.file = DefaultFile(block_name);
      if (IsPlanName(edit.file)) return BadReply("a plan cannot be edited: give it whole");
      TRY(CheckSourceName(edit.file));
      edit.edit.name = "edit " + std::to_string(edits_) + " of " + Quoted(edit.file);
      TRY(TakeEdit(edit));
      last_file_ = edit.file;
      found_ = true;
    }
    return {};
  }

  Status TakeEdit(const FileEdit& edit) {
    if (edit.creates) {
      sources_[edit.file] = edit.edit.replace;
      return {};
    }
    const auto file = sources_.find(edit.file);
    const bool fresh = file == sources_.end() && Trimmed(edit.edit.search).empty();
    if (file == sources_.end() && !fresh) {
      return BadReply(edit.edit.name + ": there is no such file");
    }
    std::string text = TRY(ApplyEdit(fresh ? std::string() : file->second, edit.edit));
    sources_[edit.file] = std::move(text);
    return CheckSize(edit.file, sources_[edit.file]);
  }

  std::string DefaultFile(const std::string& block_name) const {
    if (!block_name.empty()) return block_name;
    return last_file_.empty() ? base_.entry : last_file_;
  }

  // Blocks of code without a name: the entry, where nothing else in the reply is.
  Status TakeUnnamed() {
    if (unnamed_.empty()) return {};
    const bool has_kernel = std::any_of(unnamed_.begin(), unnamed_.end(),
                                        [](const auto& text) { return Has(text, "__global__"); });
    if (has_kernel)
      std::erase_if(unnamed_, [](const auto& text) { return !Has(text, "__global__"); });
    if (edits_ > 0 || std::find(written_.begin(), written_.end(), base_.entry) != written_.end() ||
        (base_.sources.empty() && !written_.empty())) {
      return {};
    }
    const auto longest =
        std::max_element(unnamed_.begin(), unnamed_.end(),
                         [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (unnamed_.back().size() < longest->size()) {
      return BadReply("the reply has " + std::to_string(unnamed_.size()) +
                      " blocks of code without a name, and the last is not the longest");
    }
    return TakeFile(base_.entry, unnamed_.back());
  }

  // A new file that takes the entry's place under another name takes its name too.
  Result<std::string> Entry() {
    std::vector<std::string> units;
    for (const std::string& name : written_) {
      const bool fresh = !base_.sources.contains(name) && name.ends_with(".cu");
      if (fresh && std::find(units.begin(), units.end(), name) == units.end())
        units.push_back(name);
    }
    const bool untouched = std::all_of(written_.begin(), written_.end(), [&](const auto& name) {
      return !base_.sources.contains(name);
    });
    if (base_.sources.contains(base_.entry) && untouched && edits_ == 0 && units.size() == 1 &&
        !Has(sources_[base_.entry], units.front())) {
      sources_[base_.entry] = std::move(sources_[units.front()]);
      sources_.erase(units.front());
    }
    if (sources_.contains(base_.entry)) return base_.entry;
    return EntryByText();
  }

  Result<std::string> EntryByText() const {
    std::vector<std::string> units, with_kernels;
    for (const auto& [name, text] : sources_) {
      if (!name.ends_with(".cu")) continue;
      units.push_back(name);
      if (Has(text, "__global__")) with_kernels.push_back(name);
    }
    if (units.size() == 1) return units.front();
    if (with_kernels.size() == 1) return with_kernels.front();
    return BadReply("the reply has " + std::to_string(units.size()) +
                    " .cu files and none is called " + Quoted(base_.entry));
  }

  static Status CheckSize(const std::string& name, const std::string& text) {
    if (text.size() <= kMaxSourceBytes) return {};
    return BadReply(Quoted(name) + " has " + std::to_string(text.size()) + " bytes, at most " +
                    std::to_string(kMaxSourceBytes) + " are taken");
  }

  Status CheckSources() const {
    if (sources_.size() > kMaxSourceFiles) {
      return BadReply("the reply leads to " + std::to_string(sources_.size()) + " files, at most " +
                      std::to_string(kMaxSourceFiles) + " are taken");
    }
    for (const auto& [name, text] : sources_) {
      const auto before = base_.sources.find(name);
      if (before != base_.sources.end() && before->second == text) continue;
      TRY(CheckSize(name, text));
      if (Has(text, std::string_view("\0", 1))) return BadReply(Quoted(name) + " holds a NUL byte");
      const std::string_view old =
          before == base_.sources.end() ? std::string_view() : before->second;
      if (const auto line = ElidedLine(text, old)) {
        return BadReply(Quoted(name) + " leaves code out: " + Quoted(*line));
      }
    }
    return {};
  }

  Error NothingIn(std::string_view reply) const {
    constexpr std::string_view kMark = "NOT APPLICABLE:";
    for (const std::string_view line : LinesOf(reply)) {
      if (Trimmed(line).starts_with(kMark)) {
        return BadReply(std::string(kDeclined) +
                        ForTerminal(Trimmed(Trimmed(line).substr(kMark.size()))));
      }
    }
    if (!passed_over_.empty()) {
      return BadReply("the reply has no CUDA source; passed over: " + passed_over_);
    }
    return BadReply("the reply has no code; it begins " + Quoted(FirstLine(Trimmed(reply))));
  }

  const ReplyBase& base_;
  Sources sources_;
  std::optional<LaunchPlan> plan_;
  std::vector<std::string> unnamed_, written_;
  std::string last_file_, passed_over_;  // the first block that is no source
  size_t edits_ = 0;
  bool found_ = false;
};

}  // namespace

Result<CodeReply> ReadCodeReply(std::string_view reply, const ReplyBase& base) {
  const std::string clean = TRY(CleanReply(reply));
  const std::vector<Block> blocks = CutBlocks(clean);
  Assembly assembly(base);
  for (const Block& block : blocks) TRY(assembly.Take(block));
  if (blocks.size() == 1 && !blocks.front().fenced) TRY(assembly.TakeBare(clean));
  return assembly.Done(clean);
}

Candidate WithReply(const Candidate& base, const CodeReply& reply) {
  Candidate candidate = WithoutSources(base);
  candidate.sources = reply.sources;
  candidate.entry = reply.entry;
  if (reply.plan && base.form == Form::kKernel) candidate.plan = *reply.plan;
  return candidate;
}

}  // namespace warpsmith::prompts
