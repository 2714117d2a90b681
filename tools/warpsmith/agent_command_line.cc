// The command lines of the agent, of `warpsmith mcp` and of `warpsmith kb`.
#include "command_tree.h"
#include "commands.h"

namespace warpsmith::cli {
namespace {

constexpr const char* kGroup = "With --proposer agent";

}  // namespace

void AddAgent(CLI::App* command, agent::AgentOptions& agent) {
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command->add_option(name, value, help)->group(kGroup);
  };
  const auto flag = [&](const char* name, bool& value, const char* help) {
    return command->add_flag(name, value, help)->group(kGroup);
  };
  add("--model", agent.models,
      "[ROLE=]openai:MODEL@URL, endpoint:FILE, exchange:DIR or recorded:FILE; may be repeated")
      ->expected(1, 16);
  add("--key-variable", agent.key_variable,
      "environment variable with the key of openai: models; default: OPENAI_API_KEY, to "
      "api.openai.com only");
  add("--prices", agent.prices, "JSON file with what models cost");
  add("--temperature", agent.temperature, "of sampling; default: the server's")
      ->check(CLI::Range(0.0, 2.0));
  add("--top-p", agent.top_p, "of sampling; default: the server's")->check(CLI::Range(0.0, 1.0));
  add("--max-tokens", agent.max_tokens, "of one reply")->check(CLI::Range(1, 1'000'000));
  add("--sampling-seed", agent.sampling_seed, "passed on to servers that take one");
  add("--knowledge", agent.knowledge,
      "knowledge base: a file, or postgresql://...; default: the store's server, else knowledge.db "
      "in the data folder");
  add("--documents", agent.documents, "folder of texts that prompts may quote from");
  add("--breadth", agent.breadth, "rollouts side by side")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  add("--depth", agent.depth, "steps of a rollout")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add("--top-k", agent.top_k, "techniques tried at each step")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  add("--repairs", agent.repairs, "of one attempt")
      ->check(CLI::Range(0, 16))
      ->capture_default_str();
  add("--ask", agent.ask, "further questions: states,reviews,doubts; none; auto")
      ->capture_default_str();
  add("--form", agent.form, "of what is written: kernel or program")
      ->check(CLI::IsMember({"kernel", "program"}));
  add("--parts", agent.parts,
      "folder of the task's parts (task split): the first kernel is joined from their best");
  add("--record", agent.record, "write the whole run into this .wsrec when it has ended");
  flag("--no-memory", agent.no_memory, "ablation: neither read nor write what techniques brought");
  flag("--cycles-only", agent.cycles_only, "ablation: of profiles only each kernel's time");
  CLI::Option* minimal =
      flag("--minimal-agent", agent.minimal, "ablation: code and profile in, code out");
  flag("--contrastive", agent.contrastive, "prompts of variants with their scores")
      ->excludes(minimal);
  command->parse_complete_callback([command] {
    if (command->get_option("--proposer")->as<std::string>() == "agent") return;
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_group() != kGroup || option->count() == 0) continue;
      throw CLI::ValidationError(option->get_name(), "goes with --proposer agent");
    }
  });
}

void AddMcp(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command =
      app.add_subcommand("mcp", "serve a task to a coding agent (Model Context Protocol, stdio)");
  auto options = std::make_shared<McpOptions>();
  command->add_option("task", options->task, kTaskHelp)->required();
  command->add_option("--candidate", options->candidate, "the kernel that the agent starts from");
  command->add_option("--workload", options->workload, "by name; default: the first");
  command->add_option("--budget", options->budget, "evals=N,gpu=30s,time=10m,tokens=1e6,money=5")
      ->capture_default_str();
  CLI::Option* run = command->add_option("--run", options->run, "name of the run");
  command->add_option("--resume", options->resume, "go on with this run")->excludes(run);
  command->add_option(
      "--knowledge", options->knowledge,
      "the base: a file, or postgresql://...; default: knowledge.db in the data folder");
  command->add_option("--seed", options->seed, "of draws from the base")
      ->check(CheckWholeNumber)
      ->capture_default_str();
  command->add_option("--ncu", options->ncu, "Nsight Compute's program");
  AddDevice(command, options->device);
  command->add_flag("-q,--quiet", options->quiet, "nothing on stderr but errors");
  command->callback([&chosen, options] { chosen.run = [options] { return RunMcp(*options); }; });
}

namespace {

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
