#include "store/contender_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_fields.h"

namespace warpsmith::store {
namespace {

using nlohmann::json;

double FromText(const char* begin, const char* end) {
  double value = 0;
  std::from_chars(begin, end, value);
  return value;
}

// A column that is zero throughout (not read) is left out.
template <typename T>
void AddColumn(const std::vector<Sample>& samples, const char* name, T Sample::*field,
               json& object) {
  const bool all_zero =
      std::ranges::all_of(samples, [field](const Sample& sample) { return sample.*field == T{}; });
  if (all_zero) return;
  json& column = object[name] = json::array();
  for (const Sample& sample : samples) column.push_back(json_fields::Value(sample.*field));
}

json ContenderJson(const Contender& contender) {
  const ContenderTiming& timing = contender.timing;
  json object{{"at", {contender.workload, contender.mode, contender.index}},
              {"name", timing.name},
              {"median_us", NumberToJson(Rounded(timing.median_us))},
              {"interval_us",
               {NumberToJson(Rounded(timing.interval_us.lo)),
                NumberToJson(Rounded(timing.interval_us.hi))}},
              {"samples", timing.samples.size()}};
  AddColumn(timing.samples, "process", &Sample::process, object);
  AddColumn(timing.samples, "round", &Sample::round, object);
  AddColumn(timing.samples, "us", &Sample::us, object);
  AddColumn(timing.samples, "sm_mhz", &Sample::sm_mhz, object);
  AddColumn(timing.samples, "temperature_c", &Sample::temperature_c, object);
  AddColumn(timing.samples, "power_w", &Sample::power_w, object);
  return object;
}

// Reads the column without a JsonReader an element: this is most of what a look-up costs.
template <typename T>
Status ReadColumn(const JsonReader& object, std::string_view name, T Sample::*field,
                  std::vector<Sample>& samples) {
  if (!object.Has(name)) return {};
  const json& column = object.json()->at(std::string(name));
  if (!column.is_array() || column.size() != samples.size()) {
    return object.At(name).Bad("an array of " + std::to_string(samples.size()) + " numbers");
  }
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i].*field = column[i].is_number() ? column[i].get<T>()
                                              : static_cast<T>(TRY(object.At(name).At(i).Number()));
  }
  return {};
}

Result<Contender> ContenderFrom(const JsonReader& object) {
  constexpr int64_t kMostPlaces = 1 << 16;
  constexpr int64_t kMostSamples = 1 << 20;
  TRY(object.OnlyFields({"at", "name", "median_us", "interval_us", "samples", "process", "round",
                         "us", "sm_mhz", "temperature_c", "power_w"}));
  Contender contender;
  contender.workload = static_cast<int>(TRY(object.At("at").At(0).IntIn(0, kMostPlaces)));
  contender.mode = static_cast<int>(TRY(object.At("at").At(1).IntIn(0, kMostPlaces)));
  contender.index = static_cast<int>(TRY(object.At("at").At(2).IntIn(0, kMostPlaces)));
  contender.timing.name = TRY(object.At("name").String());
  contender.timing.median_us = TRY(object.At("median_us").Number());
  contender.timing.interval_us = {TRY(object.At("interval_us").At(0).Number()),
                                  TRY(object.At("interval_us").At(1).Number())};
  std::vector<Sample>& samples = contender.timing.samples;
  samples.resize(static_cast<size_t>(TRY(object.At("samples").IntIn(0, kMostSamples))));
  TRY(ReadColumn(object, "process", &Sample::process, samples));
  TRY(ReadColumn(object, "round", &Sample::round, samples));
  TRY(ReadColumn(object, "us", &Sample::us, samples));
  TRY(ReadColumn(object, "sm_mhz", &Sample::sm_mhz, samples));
  TRY(ReadColumn(object, "temperature_c", &Sample::temperature_c, samples));
  TRY(ReadColumn(object, "power_w", &Sample::power_w, samples));
  return contender;
}

}  // namespace

double Rounded(double value) {
  constexpr int kDigits = 9;
  if (!std::isfinite(value)) return value;
  std::array<char, 64> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), value,
                                    std::chars_format::general, kDigits);
  return FromText(text.data(), result.ptr);
}

void RoundNumbers(json& value) {
  if (value.is_number_float()) {
    value = Rounded(value.get<double>());
  } else if (value.is_structured()) {
    for (json& element : value) RoundNumbers(element);
  }
}

json ContendersJson(const std::vector<Contender>& contenders) {
  json array = json::array();
  for (const Contender& contender : contenders) array.push_back(ContenderJson(contender));
  return array;
}

Result<std::vector<Contender>> ContendersFrom(const JsonReader& json) {
  std::vector<Contender> contenders;
  for (const JsonReader& object : TRY(json.Items())) {
    contenders.push_back(TRY(ContenderFrom(object)));
  }
  return contenders;
}

}  // namespace warpsmith::store
