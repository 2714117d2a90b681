// What `warpsmith optimize --proposer agent` can be told.
#include "agent_command_line.h"

#include "agent/runs/options.h"

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
  flag("--plain-http", agent.plain_http, "allow http:// to other machines, where it can be read");
  add("--prices", agent.prices, "JSON file with what models cost");
  add("--temperature", agent.temperature, "of sampling; default: the server's")
      ->check(CLI::Range(0.0, 2.0));
  add("--top-p", agent.top_p, "of sampling; default: the server's")->check(CLI::Range(0.0, 1.0));
  add("--max-tokens", agent.max_tokens, "of one reply")->check(CLI::Range(1, 1'000'000));
  add("--sampling-seed", agent.sampling_seed, "passed on to servers that take one");
  add("--knowledge", agent.knowledge, "knowledge base; default: knowledge.db in the data folder");
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

}  // namespace warpsmith::cli
