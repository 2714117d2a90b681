#include "agent/prompts/contrastive.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "agent/prompts/prompt_values.h"
#include "agent/prompts/prompts.h"

namespace warpsmith::prompts {
namespace {

std::string ScoreOf(const Variant& variant) {
  if (!variant.ratio) return "unknown";
  return fmt::format("{:.3g}x [{:.3g}x, {:.3g}x]", *variant.ratio, variant.interval.lo,
                     variant.interval.hi);
}

std::string TextOfVariant(const Variant& variant, size_t number) {
  const Candidate& candidate = *variant.candidate;
  std::string text = "## Variant " + std::to_string(number) + ": score " + ScoreOf(variant) +
                     "\n\n" + SourcesText(candidate.sources);
  if (candidate.form == Form::kKernel) {
    text += "\nIts launch plan:\n" + Fenced(PlanText(Form::kKernel, candidate.plan));
  }
  return text + "\n";
}

std::string Rendered(PromptId prompt, const Values& values) {
  const auto text = Render(Prompts::Embedded().Get(prompt), values);
  CHECK(text.ok());  // our own templates and our own values
  return *text;
}

}  // namespace

std::vector<size_t> DrawExemplars(std::span<const double> scores, const ExemplarRule& rule,
                                  Random& random) {
  std::map<int64_t, std::vector<size_t>> buckets;  // by score
  double mean = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    buckets[std::llround(scores[i] / rule.bucket)].push_back(i);
    mean += scores[i] / static_cast<double>(scores.size());
  }
  std::vector<size_t> chosen;
  while (chosen.size() < rule.most && !buckets.empty()) {
    std::vector<double> weights;
    std::vector<int64_t> names;
    for (const auto& [name, members] : buckets) {
      double score = 0;
      for (const size_t one : members) score += scores[one] / static_cast<double>(members.size());
      weights.push_back(std::exp((score - mean) / rule.tau));
      names.push_back(name);
    }
    const int64_t name = names[random.Pick(weights)];
    const std::vector<size_t>& members = buckets.at(name);
    chosen.push_back(members[random.Below(members.size())]);
    buckets.erase(name);
  }
  std::ranges::stable_sort(chosen, [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  return chosen;
}

std::string ContrastivePrompt(const Contrast& contrast) {
  Values values = {{"device", contrast.device},
                   {"task_name", contrast.task_name},
                   {"task_facts", contrast.facts},
                   {"reference", contrast.reference},
                   {"reply_format", ReplyFormat(contrast.form, contrast.kept)}};
  if (contrast.variants.empty()) return Rendered(PromptId::kBootstrap, values);
  std::string exemplars;
  for (size_t i = 0; i < contrast.variants.size(); ++i) {
    exemplars += TextOfVariant(contrast.variants[i], i + 1);
  }
  const auto or_none = [](const std::string& text, const char* none) {
    return text.empty() ? std::string(none) : text;
  };
  values["exemplars"] = exemplars;
  values["profile"] = or_none(contrast.profile, "none: no profile could be taken\n");
  values["documents"] = or_none(contrast.documents, "nothing");
  values["attempt"] = std::to_string(contrast.attempt);
  return Rendered(PromptId::kContrastive, values);
}

std::string DeviceText(const DeviceInfo& device) {
  return device.name + " (" + device.architecture + ")";
}

}  // namespace warpsmith::prompts
