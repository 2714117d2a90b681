// The command line of `warpsmith kb`.
#include "command_tree.h"
#include "knowledge_commands.h"

namespace warpsmith::cli {
namespace {

void AddBase(CLI::App* command, KnowledgeOptions& options) {
  command->add_option("--knowledge", options.knowledge,
                      "the base; default: knowledge.db in the data folder");
}

void AddKnowledgeShow(CLI::App* kb, Chosen& chosen) {
  CLI::App* command = kb->add_subcommand("show", "what is known of techniques, and how well");
  auto options = std::make_shared<KnowledgeShowOptions>();
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

using RunFiles = Result<int> (*)(const KnowledgeFilesOptions& options);

void AddFiles(CLI::App* kb, Chosen& chosen, const char* name, const char* help, const char* files,
              int least, int most, RunFiles run) {
  CLI::App* command = kb->add_subcommand(name, help);
  auto options = std::make_shared<KnowledgeFilesOptions>();
  AddBase(command, *options);
  command->add_option("files", options->files, files)->required()->expected(least, most);
  Choose(command, chosen, options, run);
}

}  // namespace

void AddKnowledge(CLI::App& app, Chosen& chosen) {
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
