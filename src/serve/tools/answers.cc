#include "serve/tools/answers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/serialize.h"

namespace warpsmith::serve {
namespace {

using nlohmann::json;

constexpr size_t kLogBytes = 6000;

// Errors come first in a compiler's log, but its summary last: both ends are kept.
std::string Shortened(const std::string& log) {
  if (log.size() <= kLogBytes) return log;
  return log.substr(0, kLogBytes / 2) + "\n[...]\n" + log.substr(log.size() - kLogBytes / 2);
}

json ModeJson(const ModeTiming& mode) {
  json comparisons = json::array();
  for (const Comparison& comparison : mode.comparisons) {
    comparisons.push_back({{"baseline", comparison.baseline},
                           {"ratio", comparison.ratio},
                           {"lo", NumberToJson(comparison.interval.lo)},
                           {"hi", NumberToJson(comparison.interval.hi)},
                           {"finding", Name(comparison.finding)}});
  }
  json value = {{"mode", Name(mode.mode)},
                {"time_us", mode.candidate.median_us},
                {"lo_us", NumberToJson(mode.candidate.interval_us.lo)},
                {"hi_us", NumberToJson(mode.candidate.interval_us.hi)},
                {"floor_us", mode.roofline_us},
                {"baselines", std::move(comparisons)}};
  if (mode.candidate.gpu_busy_us > 0) value["gpu_busy_us"] = mode.candidate.gpu_busy_us;
  if (mode.below_roofline) {
    value["below_floor"] = true;
    value["suspicious"] = "faster than the hardware allows";
  }
  return value;
}

void AddPassed(const Passed& passed, json* answer) {
  json modes = json::array();
  for (const Timing& timing : passed.timings) {
    for (const ModeTiming& mode : timing.modes) modes.push_back(ModeJson(mode));
  }
  (*answer)["times"] = std::move(modes);
  json audits = json::array();
  for (const AuditReport& audit : passed.audits) {
    audits.push_back({{"tool", audit.tool},
                      {"status", audit.status == AuditStatus::kClean ? "clean" : "absent"},
                      {"detail", audit.detail}});
  }
  if (!audits.empty()) (*answer)["audits"] = std::move(audits);
  if (!passed.correctness.absent.empty()) (*answer)["not_checked"] = passed.correctness.absent;
}

json ResourcesJson(const Evidence& evidence) {
  json kernels = json::array();
  for (const KernelResources& kernel : evidence.kernels) {
    kernels.push_back({{"name", kernel.name},
                       {"registers_per_thread", kernel.registers_per_thread},
                       {"static_shared_bytes", kernel.static_shared_bytes},
                       {"spilled_bytes", kernel.spill_store_bytes + kernel.spill_load_bytes}});
  }
  return kernels;
}

void AddLimit(const char* name, double spent, double limit, json* budget) {
  json entry = {{"spent", spent}};
  if (std::isfinite(limit)) {
    entry["limit"] = limit;
    entry["left"] = std::max(0.0, limit - spent);
  }
  (*budget)[name] = std::move(entry);
}

double LimitOf(int64_t limit) {
  return limit == std::numeric_limits<int64_t>::max() ? std::numeric_limits<double>::infinity()
                                                      : static_cast<double>(limit);
}

}  // namespace

mcp::ToolResult Structured(json value, bool is_error) {
  return {"", std::make_shared<const json>(std::move(value)), is_error};
}

json VerdictAnswer(const search::FoundStep& found, const std::optional<search::FoundStep>& base) {
  const Verdict& verdict = found.step.verdict;
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  json answer = {{"verdict", found.id()},
                 {"outcome", OutcomeName(verdict.outcome)},
                 {"passed", passed != nullptr},
                 {"words", Describe(verdict.outcome)},
                 {"level", Name(found.record.protocol.level)},
                 {"candidate", CandidateId(found.step.candidate)},
                 {"workload", found.record.workload.name},
                 {"device", verdict.evidence.device}};
  if (const auto ratio = RatioToPrimary(verdict, found.record.protocol.modes.front())) {
    answer["ratio_to_bar"] = *ratio;
  }
  if (passed != nullptr) AddPassed(*passed, &answer);
  if (const auto* failed = std::get_if<CompileFailed>(&verdict.outcome)) {
    answer["compiler_log"] = Shortened(failed->log);
  }
  if (!verdict.evidence.kernels.empty()) answer["kernels"] = ResourcesJson(verdict.evidence);
  if (base) {
    answer["base"] = base->id();
    if (const auto gain = search::LogGain(*base, found)) answer["gain_over_base"] = std::exp(*gain);
  }
  return answer;
}

json CandidateAnswer(const search::FoundStep& found) {
  const Candidate& candidate = found.step.candidate;
  json answer = VerdictAnswer(found, std::nullopt);
  answer["form"] = Name(candidate.form);
  answer["entry"] = candidate.entry;
  answer["sources"] = candidate.sources;
  if (candidate.form == Form::kKernel) answer["plan"] = ToJson(candidate.plan);
  if (!candidate.provenance.technique.empty()) answer["technique"] = candidate.provenance.technique;
  return answer;
}

json BudgetAnswer(const search::Workbench& bench) {
  const Budget& budget = bench.request().budget;
  const Cost spent = bench.spending().SpentByNow();
  json limits = json::object();
  AddLimit("evaluations", static_cast<double>(spent.evaluations), LimitOf(budget.evaluations),
           &limits);
  AddLimit("gpu_seconds", spent.gpu_seconds, budget.gpu_seconds, &limits);
  AddLimit("wall_seconds", spent.wall_seconds, budget.wall_seconds, &limits);
  AddLimit("tokens", static_cast<double>(spent.tokens), LimitOf(budget.tokens), &limits);
  AddLimit("money", spent.money, budget.money, &limits);
  json answer = {{"run", bench.request().run}, {"limits", std::move(limits)}};
  const auto exhausted = bench.spending().Exhausted();
  answer["room_for_another"] = !exhausted.has_value();
  if (exhausted) answer["reached"] = *exhausted;
  return answer;
}

}  // namespace warpsmith::serve
