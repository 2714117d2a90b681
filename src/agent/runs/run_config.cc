#include "agent/runs/run_config.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "task/candidate_file.h"

namespace warpsmith::agent {
namespace {

// Where somebody answers by hand, a round that only names states is left out.
bool Asks(const AgentOptions& options, const char* question, bool by_hand) {
  if (options.ask == "auto") return !(by_hand && std::string_view(question) == "states");
  return options.ask.find(question) != std::string::npos;
}

agent::Settings SettingsOf(const AgentOptions& options, Form form, bool by_hand) {
  agent::Settings settings;
  if (options.minimal) settings.style = agent::Style::kMinimal;
  if (options.contrastive) settings.style = agent::Style::kContrastive;
  if (options.no_memory) settings.memory = agent::Memory::kNone;
  if (options.cycles_only) settings.profiles = agent::Profiles::kTimesOnly;
  settings.form = form;
  settings.breadth = options.breadth;
  settings.depth = options.depth;
  settings.top_k = options.top_k;
  settings.repairs = options.repairs;
  const bool learns = settings.style == agent::Style::kMaic;
  settings.asks_states = learns && Asks(options, "states", by_hand);
  settings.asks_reviews =
      learns && settings.memory == agent::Memory::kKept && Asks(options, "reviews", by_hand);
  settings.asks_doubts = Asks(options, "doubts", by_hand);
  settings.sampling.temperature = options.temperature;
  settings.sampling.top_p = options.top_p;
  settings.sampling.max_tokens = options.max_tokens;
  settings.sampling.seed = options.sampling_seed;
  return settings;
}

Result<Form> FormOf(const RunOptions& options, const Task& task,
                    const std::optional<Candidate>& start) {
  if (start.has_value()) return start->form;
  if (options.agent.form.empty()) return agent::FormFor(task);
  const Form form = options.agent.form == "kernel" ? Form::kKernel : Form::kProgram;
  Candidate wanted;
  wanted.form = form;
  TRY(task::CheckForm("--form " + options.agent.form, wanted, task));
  return form;
}

bool MayBeAsked(std::string_view word) {
  constexpr std::array<std::string_view, 5> kWords = {"states", "reviews", "doubts", "none",
                                                      "auto"};
  return std::ranges::find(kWords, word) != kWords.end();
}

Error NoQuestion(const std::string& asked, const std::string& word) {
  return {ErrorCode::kUsage, "--ask " + asked + ": '" + word + "' is no further question",
          "write states, reviews, doubts with commas between them, none, or auto"};
}

}  // namespace

Status CheckAsked(const AgentOptions& options) {
  const std::string& asked = options.ask;
  for (size_t at = 0; at <= asked.size();) {
    const size_t end = std::min(asked.find(',', at), asked.size());
    const std::string one = asked.substr(at, end - at);
    if (!MayBeAsked(one)) return NoQuestion(asked, one);
    at = end + 1;
  }
  return {};
}

Result<agent::RunConfig> RunConfigOf(const RunOptions& options, const Task& task, bool by_hand) {
  agent::RunConfig run_config;
  run_config.start = TRY(task::StartingKernel(options.candidate, task));
  // Where it came from is not what is proposed: the same code begins the same run.
  if (run_config.start.has_value()) run_config.start->provenance = {};
  const Form form = TRY(FormOf(options, task, run_config.start));
  run_config.settings = SettingsOf(options.agent, form, by_hand);
  run_config.settings.reward = TRY(ParseRewardShape(options.search.reward, kSearchReward));
  run_config.seed = options.search.seed;
  run_config.batch = options.agent.breadth * options.agent.top_k;
  return run_config;
}

}  // namespace warpsmith::agent
