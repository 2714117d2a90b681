#include <cmath>
#include <nlohmann/json.hpp>

#include "core/serialize.h"
#include "report/comparison_report.h"
#include "report/page_template.h"
#include "report/report_json.h"

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

json TransitionJson(const TransitionUse& use) {
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

json CurvePointJson(const CurvePoint& point) {
  return {{"evaluations", point.evaluations}, {"geomean", point.geomean}};
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

}  // namespace warpsmith::report
