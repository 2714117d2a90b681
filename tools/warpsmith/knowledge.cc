#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "agent/knowledge/knowledge_base.h"
#include "agent/knowledge/knowledge_text.h"
#include "agent/knowledge/posterior.h"
#include "agent/knowledge/render.h"
#include "base/build_info.h"
#include "base/compression.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "command_tree.h"
#include "commands.h"
#include "report/knowledge_report.h"
#include "report/terminal.h"
#include "store/database.h"

namespace warpsmith::cli {
namespace {

struct KnowledgeOptions {
  search::CommonOptions common;
  std::string knowledge;           // the base; empty: $XDG_DATA_HOME/warpsmith/knowledge.db
  std::vector<std::string> files;  // merge, import, diff, export
  // show:
  std::string state;                            // one state whole
  std::string html;                             // write a page here
  int top = 3;                                  // techniques a state; 0: all
  int64_t budget_tokens = 0, budget_bytes = 0;  // render as a prompt holds it
  std::string task;                             // content id: names what failed on it
  std::optional<std::string> architecture, dtype, toolchain, previous;
};

using knowledge::Contents;
using knowledge::KnowledgeBase;
using knowledge::Overview;
using nlohmann::json;

constexpr size_t kTransitionsShown = 10;

void Print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void Print(const json& document) { Print(JsonText(document, 1) + "\n"); }

report::KnowledgeTitle TitleOf(const KnowledgeOptions& options) {
  return {store::ShownDatabase(knowledge::KnowledgePath(options.knowledge)),
          "warpsmith " + std::string(build_info::Version())};
}

Error NoSuchState(const KnowledgeOptions& options) {
  return {ErrorCode::kBadInput,
          "the base " + store::ShownDatabase(knowledge::KnowledgePath(options.knowledge)) +
              " has no state '" + options.state + "'",
          "'warpsmith kb show' lists its states"};
}

knowledge::Viewpoint ViewpointOf(const KnowledgeOptions& options) {
  return {options.architecture, options.dtype, options.toolchain, options.previous};
}

// What a prompt holds is about one situation.
Result<int> ShowAsPrompt(const KnowledgeOptions& options, KnowledgeBase& base) {
  if (options.state.empty()) {
    return Error{ErrorCode::kUsage, "a prompt's block is about one state", "add --state NAME"};
  }
  if (!TRY(base.FindState(options.state))) return NoSuchState(options);
  const knowledge::Situation situation{options.state, knowledge::ContextOf(ViewpointOf(options)),
                                       options.task};
  const auto page = TRY(knowledge::PageFor(base, situation));
  const size_t most = options.budget_bytes > 0
                          ? static_cast<size_t>(options.budget_bytes)
                          : knowledge::BytesOfTokens(static_cast<size_t>(options.budget_tokens));
  const std::string text = knowledge::Render(page, most);
  if (options.common.json) {
    PrintDocument(
        "knowledge-prompt",
        {{"state", options.state}, {"most_bytes", most}, {"bytes", text.size()}, {"text", text}});
  } else {
    Print(text);
  }
  return 0;
}

std::string TextOf(const KnowledgeOptions& options, const Overview& overview,
                   report::Colour colour) {
  report::KnowledgeTitle title = TitleOf(options);
  if (!options.state.empty()) title.title += ", " + options.state;
  const std::string head = report::KnowledgeLine(overview, title) + "\n";
  if (!options.state.empty()) return head + report::RenderState(overview, options.state, colour);
  const std::string transitions = report::RenderTransitions(overview, kTransitionsShown, colour);
  return head + report::RenderStates(overview, static_cast<size_t>(options.top), colour) +
         (transitions.empty() ? "" : "\n" + transitions);
}

// What is about this state alone.
Contents OfState(Contents contents, const std::string& state) {
  const std::string coarser = knowledge::CoarserState(state);
  const auto is_other = [&](const auto& item) { return item.state != state; };
  const auto bears_not = [&](const auto& item) { return is_other(item) && item.state != coarser; };
  std::erase_if(contents.states, [&](const auto& one) { return one.name != state; });
  std::erase_if(contents.priors, bears_not);
  std::erase_if(contents.outcomes, bears_not);
  std::erase_if(contents.notes, is_other);
  return contents;
}

Result<int> PrintTaken(const KnowledgeOptions& options, const KnowledgeBase::Taken& taken) {
  const std::string path = store::ShownDatabase(knowledge::KnowledgePath(options.knowledge));
  if (options.common.json) {
    PrintDocument("knowledge-taken",
                  {{"base", path}, {"new_outcomes", taken.outcomes}, {"new_notes", taken.notes}});
  } else {
    std::printf("%s: %lld outcomes and %lld notes were new\n", path.c_str(),
                static_cast<long long>(taken.outcomes), static_cast<long long>(taken.notes));
  }
  return 0;
}

// Every file is read before the first is taken in: all of them, or none.
Result<std::vector<Contents>> ReadOthers(const KnowledgeOptions& options) {
  const std::string base = knowledge::KnowledgePath(options.knowledge);
  std::vector<Contents> others;
  for (const std::string& file : options.files) {
    if (knowledge::IsSameBase(file, base)) {
      return Error{ErrorCode::kUsage,
                   store::ShownDatabase(file) + " is the base itself: there is nothing to merge",
                   "name another base, or with --knowledge the one to merge into"};
    }
    others.push_back(TRY(knowledge::ReadKnowledge(file)));
  }
  return others;
}

Result<Contents> AllOf(std::vector<Contents> others) {
  Contents all;
  for (const Contents& other : others) all = TRY(knowledge::Merged(std::move(all), other));
  return all;
}

Result<int> RunKnowledgeShow(const KnowledgeOptions& options) {
  const auto base = TRY(knowledge::OpenKnowledgeToRead(options.knowledge));
  if (options.budget_tokens > 0 || options.budget_bytes > 0) return ShowAsPrompt(options, *base);
  Contents contents = TRY(base->Read());
  if (!options.state.empty()) contents = OfState(std::move(contents), options.state);
  const Overview overview = knowledge::OverviewOf(contents, ViewpointOf(options));
  if (!options.state.empty() && overview.states.empty()) return NoSuchState(options);
  if (!options.html.empty()) {
    TRY(WriteFileAtomic(options.html, report::ToHtml(overview, TitleOf(options))));
  }
  if (options.common.json) {
    Print(report::ToJson(overview, TitleOf(options)));
  } else if (options.html.empty()) {
    Print(TextOf(options, overview, report::StyleOf(STDOUT_FILENO).colour));
  } else {
    std::printf("page: %s\n", options.html.c_str());
  }
  return 0;
}

Result<int> RunKnowledgeMerge(const KnowledgeOptions& options) {
  const Contents others = TRY(AllOf(TRY(ReadOthers(options))));
  const auto base = TRY(knowledge::OpenKnowledge(options.knowledge));
  return PrintTaken(options, TRY(base->Take(others)));
}

// The same as merge; the base is new.
Result<int> RunKnowledgeImport(const KnowledgeOptions& options) {
  const Contents others = TRY(AllOf(TRY(ReadOthers(options))));
  const auto base =
      TRY(KnowledgeBase::Open(knowledge::KnowledgePath(options.knowledge),
                              store::Durability::kPowerLoss, store::WhenMissing::kCreate));
  return PrintTaken(options, TRY(base->Take(others)));
}

Result<int> RunKnowledgeDiff(const KnowledgeOptions& options) {
  const bool against_base = options.files.size() == 1;
  const Contents before = against_base
                              ? TRY(TRY(knowledge::OpenKnowledgeToRead(options.knowledge))->Read())
                              : TRY(knowledge::ReadKnowledge(options.files.front()));
  const Contents after = TRY(knowledge::ReadKnowledge(options.files.back()));
  const knowledge::Difference difference = knowledge::Differences(before, after);
  if (options.common.json) {
    Print(report::ToJson(difference));
  } else {
    Print(knowledge::DifferenceText(difference));
  }
  return knowledge::Empty(difference) ? 0 : 1;
}

Result<int> RunKnowledgeExport(const KnowledgeOptions& options) {
  const auto base = TRY(knowledge::OpenKnowledgeToRead(options.knowledge));
  const std::string text = knowledge::ToText(TRY(base->Read()));
  const std::string& file = options.files.front();
  if (file == "-") {
    Print(text);
    return 0;
  }
  TRY(WriteFileAtomic(file, file.ends_with(".zst") ? Compress(text) : text));
  if (options.common.json) {
    PrintDocument("knowledge-export", {{"file", file}});
  } else {
    std::printf("%s: %zu bytes of text\n", file.c_str(), text.size());
  }
  return 0;
}

Result<int> RunKnowledgeVerify(const KnowledgeOptions& options) {
  const auto base = TRY(knowledge::OpenKnowledgeToRead(options.knowledge));
  TRY(base->Verify());
  const Overview overview = knowledge::OverviewOf(TRY(base->Read()), {});
  const std::string path = store::ShownDatabase(knowledge::KnowledgePath(options.knowledge));
  if (options.common.json) {
    PrintDocument("knowledge-verified", {{"base", path}, {"outcomes", overview.outcomes.size()}});
  } else {
    std::printf("%s: sound; every statistic is the sum of its %zu outcomes\n", path.c_str(),
                overview.outcomes.size());
  }
  return 0;
}

void AddBase(CLI::App* command, KnowledgeOptions& options) {
  command->add_option(
      "--knowledge", options.knowledge,
      "the base: a file, or postgresql://...; default: knowledge.db in the data folder");
}

void AddKnowledgeShow(CLI::App* kb, SelectedCommand& chosen) {
  CLI::App* command = kb->add_subcommand("show", "what is known of techniques, and how well");
  auto options = std::make_shared<KnowledgeOptions>();
  AddBase(command, *options);
  command->add_option("--state", options->state, "one state whole, with failures and notes");
  command->add_option("--top", options->top, "techniques a state; 0: all")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command->add_option("--html", options->html, "write it as one page here");
  CLI::Option* tokens =
      command->add_option("--budget-tokens", options->budget_tokens,
                          "print the block that a prompt with so much room takes in");
  tokens->check(CLI::Range(1, 100'000'000));
  command->add_option("--budget-bytes", options->budget_bytes, "the same, in bytes")
      ->check(CLI::Range(1, 1'000'000'000))
      ->excludes(tokens);
  command->add_option("--arch", options->architecture, "seen from this GPU: sm_90a");
  command->add_option("--dtype", options->dtype, "seen from this type: f16");
  command->add_option("--toolchain", options->toolchain, "seen from this one: 'nvrtc 13.0'");
  command->add_option("--previous", options->previous, "after this technique; '': none before");
  command->add_option("--task", options->task, "content id: names what must not be repeated on it");
  Choose(command, chosen, options, RunKnowledgeShow);
}

using RunFiles = Result<int> (*)(const KnowledgeOptions& options);

void AddFiles(CLI::App* kb, SelectedCommand& chosen, const char* name, const char* help,
              const char* files, int least, int most, RunFiles run) {
  CLI::App* command = kb->add_subcommand(name, help);
  auto options = std::make_shared<KnowledgeOptions>();
  AddBase(command, *options);
  command->add_option("files", options->files, files)->required()->expected(least, most);
  Choose(command, chosen, options, run);
}

}  // namespace

void AddKnowledge(CLI::App& app, SelectedCommand& chosen) {
  constexpr int kMany = 1000;
  CLI::App* kb = app.add_subcommand("kb", "the knowledge base: what was learned of techniques");
  kb->require_subcommand(1);
  AddKnowledgeShow(kb, chosen);
  AddFiles(kb, chosen, "merge", "take other bases into this one; shared evidence counts once",
           "bases or their texts", 1, kMany, RunKnowledgeMerge);
  AddFiles(kb, chosen, "diff", "how two bases differ; exit status 1 where they do",
           "one: this base against it; two: the first against the second", 1, 2, RunKnowledgeDiff);
  AddFiles(kb, chosen, "export", "the base as text that version control can compare",
           "file to write (.zst: packed), or - for stdout", 1, 1, RunKnowledgeExport);
  AddFiles(kb, chosen, "import", "make a base of a text, or take a text into one",
           "a text or a base", 1, 1, RunKnowledgeImport);
  CLI::App* verify = kb->add_subcommand("verify", "is the file sound, do its sums fit");
  auto options = std::make_shared<KnowledgeOptions>();
  AddBase(verify, *options);
  Choose(verify, chosen, options, RunKnowledgeVerify);
}

}  // namespace warpsmith::cli
