#include <fmt/core.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/serialize.h"
#include "report/run_comparison.h"
#include "report/run_report.h"

namespace warpsmith::report {
namespace {

using nlohmann::json;

json SpreadJson(const Spread& spread) {
  return {{"tasks", spread.tasks},
          {"geomean", NumberToJson(spread.geomean)},
          {"lo", NumberToJson(spread.interval.lo)},
          {"hi", NumberToJson(spread.interval.hi)}};
}

json CostJson(const Cost& cost) {
  return {{"evaluations", cost.evaluations},
          {"gpu_seconds", NumberToJson(cost.gpu_seconds)},
          {"wall_seconds", NumberToJson(cost.wall_seconds)},
          {"tokens", cost.tokens},
          {"money", NumberToJson(cost.money)}};
}

json RatioJson(double ratio, const Interval& interval) {
  if (ratio <= 0) return nullptr;
  return {{"ratio", ratio}, {"lo", NumberToJson(interval.lo)}, {"hi", NumberToJson(interval.hi)}};
}

json TaskJson(const TaskResult& task) {
  json progress = json::array();
  for (const ProgressPoint& point : task.progress) {
    progress.push_back({{"evaluations", point.evaluations}, {"best_ratio", point.best_ratio}});
  }
  return {{"key", task.key},
          {"label", task.label},
          {"evaluations", task.evaluations},
          {"passed", task.passed},
          {"first_ratio", task.first_ratio},
          {"screened", RatioJson(task.screened_ratio, task.screened_interval)},
          {"certified", RatioJson(task.certified_ratio, task.certified_interval)},
          {"cost", CostJson(task.cost)},
          {"progress", std::move(progress)},
          {"states", task.states}};
}

json TechniqueJson(const TechniqueUse& use) {
  json value = {{"technique", use.technique}, {"uses", use.uses},
                {"passed", use.passed},       {"gained", use.gained},
                {"measured", use.measured},   {"failures", use.failures}};
  if (use.measured > 0) value["mean_gain"] = std::exp(use.mean_log_gain);
  return value;
}

json TransitionJson(const TechniqueUse& use) {
  json value = {{"previous", use.previous},
                {"technique", use.technique},
                {"uses", use.uses},
                {"measured", use.measured}};
  if (use.measured > 0) value["mean_gain"] = std::exp(use.mean_log_gain);
  return value;
}

template <typename T>
json Each(const std::vector<T>& items, json (*to_json)(const T&)) {
  json list = json::array();
  for (const T& item : items) list.push_back(to_json(item));
  return list;
}

json CurvePointJson(const ProgressPoint& point) {
  return {{"evaluations", point.evaluations}, {"geomean", point.best_ratio}};
}

json SideJson(const Side& side) {
  json value = {{"name", side.name},
                {"proposer", side.proposer},
                {"valid", side.valid},
                {"reached", SpreadJson(side.reached)},
                {"cost", CostJson(side.cost)},
                {"tasks", Each(side.tasks, TaskJson)},
                {"curve", Each(side.curve, CurvePointJson)},
                {"techniques", Each(side.techniques, TechniqueJson)},
                {"transitions", Each(side.transitions, TransitionJson)}};
  if (side.tokens_a_doubling) value["tokens_a_doubling"] = *side.tokens_a_doubling;
  if (side.states_a_task) value["states_a_task"] = *side.states_a_task;
  return value;
}

json PairJson(const PairedRatio& pair) {
  return {{"side", pair.side},
          {"against", pair.against},
          {"certified", pair.certified},
          {"ratio", SpreadJson(pair.ratio)},
          {"finding", Name(pair.finding)}};
}

constexpr size_t kTechniquesShown = 12, kTransitionsShown = 8;

std::string Ratio(double ratio) { return ratio > 0 ? fmt::format("{:.3f}", ratio) : "-"; }

std::string Range(const Interval& interval) {
  return std::isfinite(interval.hi) ? fmt::format("{:.3f}..{:.3f}", interval.lo, interval.hi) : "-";
}

std::string Optional(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

Tone ToneOfOutcome(Finding finding) {
  if (finding == Finding::kFaster) return Tone::kGood;
  return finding == Finding::kSlower ? Tone::kBad : Tone::kPlain;
}

std::string SideTable(const RunComparison& comparison, Colour colour) {
  std::vector<std::vector<Cell>> rows;
  for (const Side& side : comparison.sides) {
    rows.push_back({{side.name},
                    {side.proposer},
                    {fmt::format("{} of {}", side.valid, side.tasks.size())},
                    {Ratio(side.reached.geomean)},
                    {Range(side.reached.interval)},
                    {fmt::format("{}", side.cost.evaluations)},
                    {fmt::format("{:.1f}", side.cost.gpu_seconds)},
                    {fmt::format("{}", side.cost.tokens)},
                    {fmt::format("{:.2f}", side.cost.money)},
                    {Optional(side.tokens_a_doubling, 0)},
                    {Optional(side.states_a_task, 1)}});
  }
  return RenderTable({{"run"},
                      {"proposer"},
                      {"valid", Align::kRight},
                      {"geomean", Align::kRight},
                      {"95 % interval", Align::kRight},
                      {"evals", Align::kRight},
                      {"GPU s", Align::kRight},
                      {"tokens", Align::kRight},
                      {"money", Align::kRight},
                      {"tokens/doubling", Align::kRight},
                      {"states/task", Align::kRight}},
                     rows, colour);
}

std::string PairLines(const RunComparison& comparison, Colour colour) {
  std::string text;
  for (const PairedRatio& pair : comparison.pairs) {
    const std::string finding(Name(pair.finding));
    text += fmt::format("{} against {}: {} x [{}] on {} tasks, {} of them certified: ",
                        Printable(pair.side), Printable(pair.against), Ratio(pair.ratio.geomean),
                        Range(pair.ratio.interval), pair.ratio.tasks, pair.certified) +
            Paint(finding, ToneOfOutcome(pair.finding), colour) + "\n";
  }
  return text;
}

// Tasks down, sides across: the ratio that each reached.
std::string TaskTable(const RunComparison& comparison, Colour colour) {
  std::vector<Column> columns = {{"task"}};
  std::map<std::string, std::string> labels;
  for (const Side& side : comparison.sides) {
    columns.push_back({side.name, Align::kRight});
    for (const TaskResult& task : side.tasks) labels.emplace(task.key, task.label);
  }
  std::vector<std::vector<Cell>> rows;
  for (const auto& [key, label] : labels) {
    rows.push_back({{label}});
    for (const Side& side : comparison.sides) {
      Cell cell{"-"};
      for (const TaskResult& task : side.tasks) {
        if (task.key != key) continue;
        const bool certified = task.certified_ratio > 0;
        cell.text =
            Ratio(certified ? task.certified_ratio : task.screened_ratio) + (certified ? "" : " s");
      }
      rows.back().push_back(cell);
    }
  }
  return RenderTable(columns, rows, colour) + "s: screened only\n";
}

std::string TechniqueTable(const Side& side, Colour colour) {
  std::vector<std::vector<Cell>> rows;
  for (const TechniqueUse& use : side.techniques) {
    if (rows.size() == kTechniquesShown) break;
    rows.push_back({{use.technique},
                    {fmt::format("{}", use.uses)},
                    {fmt::format("{}", use.passed)},
                    {fmt::format("{}", use.gained)},
                    {use.measured > 0 ? Ratio(std::exp(use.mean_log_gain)) : "-"}});
  }
  if (rows.empty()) return "";
  return "\n" + Printable(side.name) + ": techniques\n" +
         RenderTable({{"technique"},
                      {"used", Align::kRight},
                      {"passed", Align::kRight},
                      {"gained", Align::kRight},
                      {"mean gain", Align::kRight}},
                     rows, colour);
}

std::string TransitionTable(const Side& side, Colour colour) {
  std::vector<std::vector<Cell>> rows;
  for (const TechniqueUse& use : side.transitions) {
    if (rows.size() == kTransitionsShown || use.measured == 0 || use.mean_log_gain <= 0) break;
    rows.push_back({{use.previous},
                    {use.technique},
                    {fmt::format("{}", use.measured)},
                    {Ratio(std::exp(use.mean_log_gain))}});
  }
  if (rows.empty()) return "";
  return "\n" + Printable(side.name) + ": transitions that pay\n" +
         RenderTable(
             {{"after"}, {"technique"}, {"measured", Align::kRight}, {"mean gain", Align::kRight}},
             rows, colour);
}

}  // namespace

json ToJson(const RunComparison& comparison) {
  const Origin& origin = comparison.origin;
  return {{"schema", "warpsmith.run-comparison"},
          {"version", kComparisonVersion},
          {"title", comparison.title},
          {"origin",
           {{"device", origin.device},
            {"driver", origin.driver},
            {"toolkit", origin.toolkit},
            {"date", origin.date},
            {"recording", origin.recording},
            {"program", origin.program}}},
          {"sides", Each(comparison.sides, SideJson)},
          {"pairs", Each(comparison.pairs, PairJson)}};
}

std::string ToHtml(const RunComparison& comparison) {
  return FillPage(comparison.title, "compare.js", ToJson(comparison));
}

std::string RenderComparison(const RunComparison& comparison, Colour colour) {
  std::string text = SideTable(comparison, colour) + PairLines(comparison, colour) + "\n" +
                     TaskTable(comparison, colour);
  for (const Side& side : comparison.sides) {
    text += TechniqueTable(side, colour) + TransitionTable(side, colour);
  }
  return text;
}

std::string ToCsv(const RunComparison& comparison) {
  std::string csv =
      "run,task,evaluations,passed,first_ratio,screened,screened_lo,screened_hi,certified,"
      "certified_lo,certified_hi,gpu_seconds,wall_seconds,tokens,money,states\n";
  for (const Side& side : comparison.sides) {
    for (const TaskResult& task : side.tasks) {
      csv += fmt::format(
          "{},{},{},{},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.4f},{:.3f},"
          "{:.3f},{},{:.4f},{}\n",
          CsvCell(side.name), CsvCell(task.label), task.evaluations, task.passed, task.first_ratio,
          task.screened_ratio, task.screened_interval.lo, task.screened_interval.hi,
          task.certified_ratio, task.certified_interval.lo, task.certified_interval.hi,
          task.cost.gpu_seconds, task.cost.wall_seconds, task.cost.tokens, task.cost.money,
          task.states.size());
    }
  }
  return csv;
}

}  // namespace warpsmith::report
