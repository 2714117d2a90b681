#include "agent/prompts/prompt_values.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "agent/prompts/prompts.h"
#include "agent/prompts/reply_text.h"
#include "base/display_text.h"
#include "base/json_reader.h"
#include "core/serialize.h"
#include "judge/profile/bottleneck.h"

namespace warpsmith::prompts {
namespace {

using nlohmann::json;

// The task's own JSON is exact and knows every field; what a model must not see is taken out.
json VisibleTask(const Task& task) {
  Task shown = task;
  std::erase_if(shown.workloads, [](const Workload& workload) { return workload.hidden; });
  return ToJson(shown);
}

std::string Section(const std::string& title, const json& items) {
  std::string text = title + ":\n";
  for (const json& item : items) text += "  " + JsonText(item) + "\n";
  return text;
}

std::string Part(PromptId id) { return Render(Prompts::Embedded().Get(id), {}).value(); }

}  // namespace

std::string TaskFacts(const Task& task) {
  const json visible = VisibleTask(task);
  // Fields that hold their default are left out.
  const auto list = [&](const char* field) { return visible.value(field, json::array()); };
  std::string text = Section("tensors (shapes are expressions over the sizes)", list("tensors"));
  json sizes = json::array();
  for (const json& workload : list("workloads")) sizes.push_back(workload["sizes"]);
  text += Section("sizes", sizes);
  text += "tolerance: " + JsonText(visible.value("tolerance", json::object())) + "\n";
  for (const char* field : {"program", "allow", "precision", "flops"}) {
    if (visible.contains(field))
      text += std::string(field) + ": " + JsonText(visible[field]) + "\n";
  }
  return text;
}

std::string ReferenceText(const Task& task) {
  std::string text = "kind: " + task.reference.kind + "\n";
  for (const auto& [name, value] : task.reference.options) text += name + ": " + value + "\n";
  if (task.reference.kind == "gemm") text += "the product A * B, built in\n";
  for (const auto& [path, source] : task.reference.sources) {
    text += "\n--- " + path + "\n" + source + (source.ends_with('\n') ? "" : "\n");
  }
  return text;
}

std::string SourcesText(const std::map<std::string, std::string>& sources) {
  std::string text;
  for (const auto& [path, source] : sources) {
    text += (text.empty() ? "" : "\n") + ForTerminal(path) + "\n" + Fenced(source);
  }
  return text.empty() ? "none\n" : text;
}

std::string PlanText(Form form, const LaunchPlan& plan) {
  return form == Form::kProgram ? "none: a program launches its kernels itself"
                                : JsonText(ToJson(plan), 1);
}

std::string ReplyFormat(Form form, MayKeep kept) {
  std::string text = Part(form == Form::kKernel ? PromptId::kReplyKernel : PromptId::kReplyProgram);
  if (form == Form::kKernel) {
    text.back() = ' ';  // on the plan's own line
    text += Part(kept == MayKeep::kNothing ? PromptId::kReplyNames : PromptId::kReplyKeptPlan);
  }
  if (kept == MayKeep::kPlanAndLines) text += "\n" + Part(PromptId::kReplyEdits);
  return text;
}

std::string KnownStatesText() {
  std::string text;
  for (const profile::BottleneckRow& row : profile::BottleneckTable()) {
    text += "- " + std::string(row.name) + ": " + std::string(row.meaning) + "\n";
  }
  return text;
}

namespace {

using Lines = std::vector<std::string_view>;

constexpr size_t kMaxCells = size_t{4} << 20;  // of the table of common lengths
constexpr size_t kAround = 2;

struct Edited {
  char mark = ' ';  // ' ', '-', '+'
  std::string_view line;
};

// Lengths of the longest common subsequence of the two tails that begin at (i, j).
class CommonTails {
 public:
  CommonTails(const Lines& a, const Lines& b)
      : width_(b.size() + 1), lengths_((a.size() + 1) * (b.size() + 1)) {
    for (size_t i = a.size(); i-- > 0;) {
      for (size_t j = b.size(); j-- > 0;) {
        lengths_[i * width_ + j] =
            a[i] == b[j] ? At(i + 1, j + 1) + 1 : std::max(At(i + 1, j), At(i, j + 1));
      }
    }
  }
  uint32_t At(size_t i, size_t j) const { return lengths_[i * width_ + j]; }

 private:
  size_t width_;
  std::vector<uint32_t> lengths_;
};

void AddAll(char mark, const Lines& lines, std::vector<Edited>& edited) {
  for (const std::string_view line : lines) edited.push_back({mark, line});
}

void AddBetween(const Lines& a, const Lines& b, std::vector<Edited>& edited) {
  if ((a.size() + 1) * (b.size() + 1) > kMaxCells) {
    AddAll('-', a, edited);
    AddAll('+', b, edited);
    return;
  }
  const CommonTails tails(a, b);
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      edited.push_back({' ', a[i++]});
      ++j;
    } else if (j == b.size() || (i < a.size() && tails.At(i + 1, j) >= tails.At(i, j + 1))) {
      edited.push_back({'-', a[i++]});
    } else {
      edited.push_back({'+', b[j++]});
    }
  }
}

std::vector<Edited> Compared(const Lines& a, const Lines& b) {
  const auto [end_a, end_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const auto tail = std::mismatch(a.rbegin(), std::make_reverse_iterator(end_a), b.rbegin(),
                                  std::make_reverse_iterator(end_b));
  std::vector<Edited> edited;
  AddAll(' ', Lines(a.begin(), end_a), edited);
  AddBetween(Lines(end_a, tail.first.base()), Lines(end_b, tail.second.base()), edited);
  AddAll(' ', Lines(tail.first.base(), a.end()), edited);
  return edited;
}

// Which lines stand near a change.
std::vector<bool> Near(const std::vector<Edited>& edited) {
  std::vector<bool> near(edited.size());
  for (size_t i = 0; i < edited.size(); ++i) {
    if (edited[i].mark == ' ') continue;
    const size_t first = i < kAround ? 0 : i - kAround;
    const size_t last = std::min(i + kAround, edited.size() - 1);
    for (size_t near_by = first; near_by <= last; ++near_by) near[near_by] = true;
  }
  return near;
}

}  // namespace

std::string LineDiff(std::string_view before, std::string_view after) {
  const std::vector<Edited> edited = Compared(LinesOf(before), LinesOf(after));
  const std::vector<bool> near = Near(edited);
  std::string text;
  for (size_t i = 0; i < edited.size(); ++i) {
    if (!near[i]) continue;
    if (i > 0 && !near[i - 1]) text += "@@\n";
    text += edited[i].mark;
    text += std::string(edited[i].line) + "\n";
  }
  return text;
}

std::string SourcesDiff(const std::map<std::string, std::string>& before,
                        const std::map<std::string, std::string>& after, size_t most_bytes) {
  std::map<std::string, std::string> names = before;
  names.insert(after.begin(), after.end());
  const auto text_in = [](const std::map<std::string, std::string>& sources,
                          const std::string& name) {
    const auto found = sources.find(name);
    return found == sources.end() ? std::string_view() : std::string_view(found->second);
  };
  std::string text;
  for (const auto& [name, unused] : names) {
    const std::string diff = LineDiff(text_in(before, name), text_in(after, name));
    if (!diff.empty()) text += ForTerminal(name) + "\n" + diff;
  }
  if (text.size() <= most_bytes) return text;
  const size_t end = text.rfind('\n', most_bytes);
  return text.substr(0, end == text.npos ? 0 : end + 1) + "(more follows)\n";
}

namespace {

std::string ScoreOf(const Variant& variant) {
  if (!variant.ratio) return "unknown";
  return fmt::format("{:.3g}x [{:.3g}x, {:.3g}x]", *variant.ratio, variant.interval.lo,
                     variant.interval.hi);
}

// `shown`: files of the variants before it, with the numbers of these; its own are added.
std::string CodeOfVariant(const Candidate& candidate, size_t number,
                          std::map<std::pair<std::string, std::string>, size_t>& shown) {
  std::map<std::string, std::string> fresh;
  std::string others;
  for (const auto& file : candidate.sources) {
    const auto [first, is_fresh] = shown.emplace(file, number);
    if (is_fresh) {
      fresh.insert(file);
    } else {
      others += ForTerminal(file.first) + ": as in variant " + std::to_string(first->second) + "\n";
    }
  }
  std::string text = (fresh.empty() ? "" : SourcesText(fresh)) + others;
  if (candidate.form == Form::kKernel) {
    text += "\nIts launch plan:\n" + Fenced(PlanText(Form::kKernel, candidate.plan));
  }
  return text;
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

std::string VariantsText(std::span<const Variant> variants, bool as_configurations) {
  std::string text;
  std::map<std::pair<std::string, std::string>, size_t> shown;
  for (size_t number = 1; number <= variants.size(); ++number) {
    const Variant& variant = variants[number - 1];
    const Provenance& from = variant.candidate->provenance;
    text += "## Variant " + std::to_string(number) + ": score " + ScoreOf(variant) + "\n\n" +
            (as_configurations && !from.family.empty()
                 ? Fenced(JsonText(json{{"family", from.family}, {"values", from.config}}))
                 : CodeOfVariant(*variant.candidate, number, shown)) +
            "\n";
  }
  return text;
}

std::string ContrastivePrompt(const Contrast& contrast) {
  Values values = {{"device", contrast.device},
                   {"task_name", contrast.task_name},
                   {"task_facts", contrast.facts},
                   {"reference", contrast.reference},
                   {"reply_format", ReplyFormat(contrast.form, contrast.kept)}};
  const bool takes_configurations = !contrast.configurations.empty();
  if (takes_configurations) {
    values["reply_format"].insert(
        0, Rendered(PromptId::kReplyConfiguration, {{"configurations", contrast.configurations}}));
  }
  if (contrast.variants.empty()) return Rendered(PromptId::kBootstrap, values);
  std::string background;
  if (!contrast.profile.empty()) {
    background += "# Profile of the best of them\n\n" + contrast.profile + "\n";
  }
  if (!contrast.documents.empty()) {
    background += "# Passages from documents\n\n" + Fenced(contrast.documents) + "\n";
  }
  values["exemplars"] = VariantsText(contrast.variants, takes_configurations);
  values["background"] = background;
  values["attempt"] = std::to_string(contrast.attempt);
  return Rendered(PromptId::kContrastive, values);
}

std::string DeviceText(const DeviceInfo& device) {
  return device.name + " (" + device.architecture + ")";
}

}  // namespace warpsmith::prompts
