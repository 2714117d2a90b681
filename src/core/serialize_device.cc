#include <cmath>

#include "core/json_fields.h"
#include "core/serialize.h"

namespace warpsmith {
namespace {

using nlohmann::json;
using namespace json_fields;  // NOLINT(google-build-using-namespace): made for these files

Status CheckCounts(const JsonReader& json, const Protocol& protocol) {
  if (protocol.modes.empty()) return json.At("modes").Bad("at least one mode");
  if (protocol.rounds < 1) return json.At("rounds").Bad("at least 1");
  if (protocol.samples_per_round < 1) return json.At("samples_per_round").Bad("at least 1");
  if (protocol.runner_processes < 1) return json.At("runner_processes").Bad("at least 1");
  if (protocol.max_rounds < protocol.rounds) return json.At("max_rounds").Bad("at least rounds");
  if (protocol.step_timeout_ms < 1) return json.At("step_timeout_ms").Bad("at least 1");
  return {};
}

Status CheckNumbers(const JsonReader& json, const Protocol& protocol) {
  if (!(protocol.confidence > 0 && protocol.confidence < 1)) {
    return json.At("confidence").Bad("a number between 0 and 1");
  }
  if (!(protocol.band >= 0 && protocol.band < 1)) {
    return json.At("band").Bad("a number from 0 to below 1");
  }
  const auto is_amount = [](double value) { return value >= 0 && std::isfinite(value); };
  if (!is_amount(protocol.target_half_width)) {
    return json.At("target_half_width").Bad("a number from 0");
  }
  if (!is_amount(protocol.warmup_seconds)) return json.At("warmup_seconds").Bad("a number from 0");
  if (!is_amount(protocol.measure_seconds)) {
    return json.At("measure_seconds").Bad("a number from 0");
  }
  return {};
}

}  // namespace

json ToJson(const Protocol& protocol) {
  json object{{"version", kJudgeProtocolVersion},
              {"level", Value(protocol.level)},
              {"modes", Value(protocol.modes)},
              {"rounds", protocol.rounds},
              {"samples_per_round", protocol.samples_per_round},
              {"runner_processes", protocol.runner_processes},
              {"confidence", Value(protocol.confidence)},
              {"band", Value(protocol.band)},
              {"max_rounds", protocol.max_rounds},
              {"step_timeout_ms", protocol.step_timeout_ms}};
  Put(object, "renew_contents", protocol.renew_contents, false);
  Put(object, "every_baseline", protocol.every_baseline, false);
  Put(object, "target_half_width", protocol.target_half_width, 0.0);
  Put(object, "warmup_seconds", protocol.warmup_seconds, 0.0);
  Put(object, "measure_seconds", protocol.measure_seconds, 0.0);
  return object;
}

Result<Protocol> ProtocolFrom(const JsonReader& json) {
  TRY(NeedVersion(json, kJudgeProtocolVersion, "a judge protocol"));
  TRY(json.OnlyFields({"version", "level", "modes", "rounds", "samples_per_round",
                       "runner_processes", "renew_contents", "every_baseline", "confidence", "band",
                       "target_half_width", "max_rounds", "warmup_seconds", "measure_seconds",
                       "step_timeout_ms"}));
  Protocol protocol;
  TRY(Need(json, "level", protocol.level));
  TRY(Need(json, "modes", protocol.modes));
  TRY(Need(json, "rounds", protocol.rounds));
  TRY(Need(json, "samples_per_round", protocol.samples_per_round));
  TRY(Need(json, "runner_processes", protocol.runner_processes));
  TRY(Take(json, "renew_contents", protocol.renew_contents));
  TRY(Take(json, "every_baseline", protocol.every_baseline));
  TRY(Need(json, "confidence", protocol.confidence));
  TRY(Need(json, "band", protocol.band));
  TRY(Take(json, "target_half_width", protocol.target_half_width));
  TRY(Need(json, "max_rounds", protocol.max_rounds));
  TRY(Take(json, "warmup_seconds", protocol.warmup_seconds));
  TRY(Take(json, "measure_seconds", protocol.measure_seconds));
  TRY(Need(json, "step_timeout_ms", protocol.step_timeout_ms));
  TRY(CheckCounts(json, protocol));
  TRY(CheckNumbers(json, protocol));
  return protocol;
}

json ToJson(const DeviceInfo& info) {
  json object{{"name", Value(info.name)},
              {"uuid", Value(info.uuid)},
              {"driver", Value(info.driver)},
              {"architecture", Value(info.architecture)},
              {"sm_count", info.sm_count},
              {"max_shared_bytes_per_block", info.max_shared_bytes_per_block},
              {"l2_bytes", info.l2_bytes},
              {"memory_bytes", info.memory_bytes},
              {"max_sm_mhz", Value(info.max_sm_mhz)},
              {"hbm_bytes_per_s", Value(info.hbm_bytes_per_s)},
              {"l2_bytes_per_s", Value(info.l2_bytes_per_s)},
              {"tensor_f16_flops", Value(info.tensor_f16_flops)}};
  Put(object, "needs_artifacts", info.needs_artifacts, true);
  Put(object, "origin", info.origin, {});
  return object;
}

Result<DeviceInfo> DeviceInfoFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"name", "uuid", "driver", "architecture", "sm_count",
                       "max_shared_bytes_per_block", "l2_bytes", "memory_bytes", "max_sm_mhz",
                       "hbm_bytes_per_s", "l2_bytes_per_s", "tensor_f16_flops", "needs_artifacts",
                       "origin"}));
  DeviceInfo info;
  TRY(Need(json, "name", info.name));
  TRY(Need(json, "uuid", info.uuid));
  TRY(Need(json, "driver", info.driver));
  TRY(Need(json, "architecture", info.architecture));
  TRY(Need(json, "sm_count", info.sm_count));
  TRY(Need(json, "max_shared_bytes_per_block", info.max_shared_bytes_per_block));
  TRY(Need(json, "l2_bytes", info.l2_bytes));
  TRY(Need(json, "memory_bytes", info.memory_bytes));
  TRY(Need(json, "max_sm_mhz", info.max_sm_mhz));
  TRY(Need(json, "hbm_bytes_per_s", info.hbm_bytes_per_s));
  TRY(Need(json, "l2_bytes_per_s", info.l2_bytes_per_s));
  TRY(Need(json, "tensor_f16_flops", info.tensor_f16_flops));
  TRY(Take(json, "needs_artifacts", info.needs_artifacts));
  TRY(Take(json, "origin", info.origin));
  return info;
}

json ToJson(const Point& point) {
  return {{"family", Value(point.family)}, {"config", Value(point.config)}};
}

Result<Point> PointFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"family", "config"}));
  Point point;
  TRY(Need(json, "family", point.family));
  TRY(Need(json, "config", point.config));
  return point;
}

json ToJson(const Cost& cost) {
  json object = json::object();
  Put(object, "evaluations", cost.evaluations, int64_t{0});
  Put(object, "gpu_seconds", cost.gpu_seconds, 0.0);
  Put(object, "wall_seconds", cost.wall_seconds, 0.0);
  Put(object, "tokens", cost.tokens, int64_t{0});
  Put(object, "money", cost.money, 0.0);
  return object;
}

Result<Cost> CostFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"evaluations", "gpu_seconds", "wall_seconds", "tokens", "money"}));
  Cost cost;
  TRY(Take(json, "evaluations", cost.evaluations));
  TRY(Take(json, "gpu_seconds", cost.gpu_seconds));
  TRY(Take(json, "wall_seconds", cost.wall_seconds));
  TRY(Take(json, "tokens", cost.tokens));
  TRY(Take(json, "money", cost.money));
  return cost;
}

json ToJson(const RewardTerms& terms) {
  return {{"ratios", Value(terms.ratios)},
          {"deviations", Value(terms.deviations)},
          {"code_length_bytes", terms.code_length_bytes}};
}

Result<RewardTerms> RewardTermsFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"ratios", "deviations", "code_length_bytes"}));
  RewardTerms terms;
  TRY(Need(json, "ratios", terms.ratios));
  TRY(Need(json, "deviations", terms.deviations));
  TRY(Need(json, "code_length_bytes", terms.code_length_bytes));
  return terms;
}

}  // namespace warpsmith
