#include "core/serialize_timing.h"

#include <cmath>

#include "core/json_fields.h"

namespace warpsmith {
namespace {

using nlohmann::json;
using namespace json_fields;  // NOLINT(google-build-using-namespace): made for these files

// Samples are the bulk of a verdict, so they are written as columns; one of zeros only (never read)
// is left out.
template <typename T>
void PutColumn(json& object, const char* key, const std::vector<Sample>& samples,
               T Sample::*field) {
  const auto is_zero = [field](const Sample& sample) { return sample.*field == T{}; };
  if (std::ranges::all_of(samples, is_zero)) return;
  json& column = object[key] = json::array();
  column.get_ref<json::array_t&>().reserve(samples.size());
  for (const Sample& sample : samples) column.push_back(Value(sample.*field));
}

json SamplesToJson(const std::vector<Sample>& samples) {
  json object{{"n", samples.size()}};
  PutColumn(object, "us", samples, &Sample::us);
  PutColumn(object, "process", samples, &Sample::process);
  PutColumn(object, "round", samples, &Sample::round);
  PutColumn(object, "mhz", samples, &Sample::sm_mhz);
  PutColumn(object, "c", samples, &Sample::temperature_c);
  PutColumn(object, "w", samples, &Sample::power_w);
  return object;
}

// The common case of a number, without a JsonReader to name its place.
bool ReadNumber(const json& item, float& value) {
  if (!item.is_number_float()) return false;
  value = static_cast<float>(item.get<double>());
  return std::isfinite(value);
}
bool ReadNumber(const json& item, int& value) {
  if (!item.is_number_unsigned()) return false;
  const auto wide = item.get<uint64_t>();
  value = static_cast<int>(wide);
  return wide <= static_cast<uint64_t>(std::numeric_limits<int>::max());
}

Status ReadColumn(const JsonReader& object, std::string_view key, std::vector<Sample>& samples,
                  auto Sample::*field) {
  if (!object.Has(key)) return {};
  const JsonReader column = object.At(key);
  if (!column.json()->is_array() || column.json()->size() != samples.size()) {
    return column.Bad("an array of " + std::to_string(samples.size()) + " numbers");
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    if (ReadNumber((*column.json())[i], samples[i].*field)) continue;
    TRY(Read(column.At(i), samples[i].*field));
  }
  return {};
}

Result<std::vector<Sample>> SamplesFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"n", "us", "process", "round", "mhz", "c", "w"}));
  std::vector<Sample> samples(static_cast<size_t>(TRY(json.At("n").IntIn(0, kMaxSamples))));
  TRY(ReadColumn(json, "us", samples, &Sample::us));
  TRY(ReadColumn(json, "process", samples, &Sample::process));
  TRY(ReadColumn(json, "round", samples, &Sample::round));
  TRY(ReadColumn(json, "mhz", samples, &Sample::sm_mhz));
  TRY(ReadColumn(json, "c", samples, &Sample::temperature_c));
  TRY(ReadColumn(json, "w", samples, &Sample::power_w));
  return samples;
}

bool IsZero(const Interval& interval) { return interval.lo == 0 && interval.hi == 0; }

json ToJson(const ContenderTiming& contender) {
  json object{{"name", Value(contender.name)}};
  Put(object, "median_us", contender.median_us, 0.0);
  Put(object, "gpu_busy_us", contender.gpu_busy_us, 0.0);
  if (!IsZero(contender.interval_us)) object["interval_us"] = Value(contender.interval_us);
  if (!contender.samples.empty()) object["samples"] = SamplesToJson(contender.samples);
  return object;
}

Result<ContenderTiming> ContenderFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"name", "median_us", "gpu_busy_us", "interval_us", "samples"}));
  ContenderTiming contender;
  TRY(Need(json, "name", contender.name));
  TRY(Take(json, "median_us", contender.median_us));
  TRY(Take(json, "gpu_busy_us", contender.gpu_busy_us));
  TRY(Take(json, "interval_us", contender.interval_us));
  if (json.Has("samples")) contender.samples = TRY(SamplesFrom(json.At("samples")));
  return contender;
}

json ToJson(const Comparison& comparison) {
  return {{"baseline", Value(comparison.baseline)},
          {"ratio", Value(comparison.ratio)},
          {"interval", Value(comparison.interval)},
          {"finding", Value(comparison.finding)}};
}

Result<Comparison> ComparisonFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"baseline", "ratio", "interval", "finding"}));
  Comparison comparison;
  TRY(Need(json, "baseline", comparison.baseline));
  TRY(Need(json, "ratio", comparison.ratio));
  TRY(Need(json, "interval", comparison.interval));
  TRY(Need(json, "finding", comparison.finding));
  return comparison;
}

json ToJson(const ModeTiming& timing) {
  json object{{"mode", Value(timing.mode)}, {"candidate", ToJson(timing.candidate)}};
  Put(object, "floor_us", timing.floor_us, 0.0);
  Put(object, "aa_noise", timing.aa_noise, 0.0);
  Put(object, "below_floor", timing.below_floor, false);
  for (const ContenderTiming& baseline : timing.baselines) {
    object["baselines"].push_back(ToJson(baseline));
  }
  for (const Comparison& comparison : timing.comparisons) {
    object["comparisons"].push_back(ToJson(comparison));
  }
  return object;
}

Result<ModeTiming> ModeTimingFrom(const JsonReader& json) {
  TRY(json.OnlyFields(
      {"mode", "candidate", "floor_us", "aa_noise", "below_floor", "baselines", "comparisons"}));
  ModeTiming timing;
  TRY(Need(json, "mode", timing.mode));
  timing.candidate = TRY(ContenderFrom(json.At("candidate")));
  TRY(Take(json, "floor_us", timing.floor_us));
  TRY(Take(json, "aa_noise", timing.aa_noise));
  TRY(Take(json, "below_floor", timing.below_floor));
  if (json.Has("baselines")) {
    TRY(ReadList<ContenderTiming>(json.At("baselines"), timing.baselines, ContenderFrom));
  }
  if (json.Has("comparisons")) {
    TRY(ReadList<Comparison>(json.At("comparisons"), timing.comparisons, ComparisonFrom));
  }
  return timing;
}

}  // namespace

json ToJson(const Timing& timing) {
  json object{{"workload", Value(timing.workload)}, {"modes", json::array()}};
  for (const ModeTiming& mode : timing.modes) object["modes"].push_back(ToJson(mode));
  return object;
}

Result<Timing> TimingFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"workload", "modes"}));
  Timing timing;
  TRY(Need(json, "workload", timing.workload));
  TRY(ReadList<ModeTiming>(json.At("modes"), timing.modes, ModeTimingFrom));
  return timing;
}

}  // namespace warpsmith
