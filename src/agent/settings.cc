#include "agent/settings.h"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>

#include "agent/prompts/prompts.h"
#include "base/json_reader.h"
#include "core/serialize.h"

namespace warpsmith::agent {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kStyles = {"maic", "minimal", "contrastive"};

// The chat format's own words for sampling.
json SamplingJson(const ChatSampling& sampling) {
  ChatRequest request;
  request.sampling = sampling;
  return ToJson(request);
}

json SettingsJson(const Settings& settings) {
  json text = {{"style", Name(settings.style)},
               {"memory", settings.memory == MemoryUse::kKept},
               {"full_profiles", settings.profiles == Profiles::kFull},
               {"program", settings.form == Form::kProgram},
               {"breadth", settings.breadth},
               {"depth", settings.depth},
               {"top_k", settings.top_k},
               {"repairs", settings.repairs},
               {"bootstrap_repairs", settings.bootstrap_repairs},
               {"states", settings.asks_states},
               {"reviews", settings.asks_reviews},
               {"doubts", settings.asks_doubts},
               {"knowledge_bytes", settings.knowledge_bytes},
               {"request", SamplingJson(settings.sampling)}};
  // Only another one: a run without it begins as it always did.
  if (settings.reward != kSearchReward) text["reward"] = warpsmith::TextOf(settings.reward);
  return text;
}

json PromptVersions(Style style) {
  json versions = json::object();
  for (int id = 0; id <= static_cast<int>(prompts::PromptId::kReplyEdits); ++id) {
    const prompts::PromptTemplate& prompt =
        prompts::Prompts::Embedded().Get(static_cast<prompts::PromptId>(id));
    // Of what a run never asks, the version when runs were first recorded: it begins as it did.
    const bool is_asked = style == Style::kContrastive ||
                          static_cast<prompts::PromptId>(id) != prompts::PromptId::kContrastive;
    versions[prompt.name] = is_asked ? prompt.version : 1;
  }
  return versions;
}

// Only where there are any: a run without parts begins as it always did.
void PutParts(const std::vector<PartKernel>& parts, json& text) {
  text["parts"] = json::array();
  for (const PartKernel& part : parts) {
    text["parts"].push_back(
        {{"name", part.name}, {"facts", part.facts}, {"candidate", ToJson(part.candidate)}});
  }
  const prompts::PromptTemplate& join = prompts::Prompts::Embedded().Get(prompts::PromptId::kJoin);
  text["prompts"][join.name] = join.version;
}

Result<std::vector<PartKernel>> PartsFrom(const JsonReader& json) {
  std::vector<PartKernel> parts;
  for (const JsonReader& item : TRY(json.Items())) {
    PartKernel& part = parts.emplace_back();
    part.name = TRY(item.At("name").String());
    part.facts = TRY(item.At("facts").String());
    part.candidate = TRY(CandidateFrom(item.At("candidate")));
  }
  return parts;
}

Result<int> Count(const JsonReader& json, std::string_view key) {
  constexpr int64_t kMost = 1 << 20;
  return static_cast<int>(TRY(json.At(key).IntIn(0, kMost)));
}

Result<Style> StyleFrom(const JsonReader& json) {
  const std::string name = TRY(json.String());
  for (size_t i = 0; i < kStyles.size(); ++i) {
    if (kStyles[i] == name) return static_cast<Style>(i);
  }
  return json.Bad("maic, minimal or contrastive");
}

Result<Settings> SettingsFrom(const JsonReader& json) {
  Settings settings;
  settings.style = TRY(StyleFrom(json.At("style")));
  settings.memory = TRY(json.At("memory").Bool()) ? MemoryUse::kKept : MemoryUse::kNone;
  settings.profiles = TRY(json.At("full_profiles").Bool()) ? Profiles::kFull : Profiles::kTimesOnly;
  settings.form = TRY(json.At("program").Bool()) ? Form::kProgram : Form::kKernel;
  settings.breadth = TRY(Count(json, "breadth"));
  settings.depth = TRY(Count(json, "depth"));
  settings.top_k = TRY(Count(json, "top_k"));
  settings.repairs = TRY(Count(json, "repairs"));
  settings.bootstrap_repairs = TRY(Count(json, "bootstrap_repairs"));
  settings.asks_states = TRY(json.At("states").Bool());
  settings.asks_reviews = TRY(json.At("reviews").Bool());
  settings.asks_doubts = TRY(json.At("doubts").Bool());
  settings.knowledge_bytes = static_cast<size_t>(TRY(Count(json, "knowledge_bytes")));
  settings.sampling = TRY(ChatRequestFrom(json.At("request"))).sampling;
  if (json.Has("reward")) settings.reward = TRY(ParseRewardShape(TRY(json.At("reward").String())));
  return settings;
}

}  // namespace

std::string_view Name(Style style) { return kStyles.at(static_cast<size_t>(style)); }

std::string TextOf(const RunConfig& run_config) {
  json text{{"settings", SettingsJson(run_config.settings)},
            {"prompts", PromptVersions(run_config.settings.style)},
            {"seed", std::to_string(run_config.seed)},
            {"batch", run_config.batch}};
  if (run_config.start.has_value()) text["start"] = ToJson(*run_config.start);
  if (!run_config.parts.empty()) PutParts(run_config.parts, text);
  return JsonText(text);
}

Result<RunConfig> RunConfigFrom(const std::string& source, const std::string& text) {
  const json parsed = TRY(ParseJson(source, text));
  const JsonReader root(source, parsed);
  RunConfig run_config;
  run_config.settings = TRY(SettingsFrom(root.At("settings")));
  const std::string seed = TRY(root.At("seed").String());
  const auto read = std::from_chars(seed.data(), seed.data() + seed.size(), run_config.seed);
  if (read.ec != std::errc() || read.ptr != seed.data() + seed.size()) {
    return root.At("seed").Bad("a whole number in quotes, below 2^64");
  }
  run_config.batch = TRY(Count(root, "batch"));
  if (root.Has("parts")) run_config.parts = TRY(PartsFrom(root.At("parts")));
  if (root.Has("start")) run_config.start = TRY(CandidateFrom(root.At("start")));
  return run_config;
}

Form FormFor(const Task& task) { return task.forms.empty() ? Form::kKernel : task.forms.front(); }

}  // namespace warpsmith::agent
