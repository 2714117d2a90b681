#include "store/verdict_parts.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/compression.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "core/json_fields.h"
#include "core/serialize.h"

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

static_assert(std::endian::native == std::endian::little, "packed samples are little endian");

constexpr size_t kMaxPackedBytes = size_t{64} << 20;
constexpr int kPackLevel = 1;  // a few hundred bytes: higher levels only cost time

template <typename T>
void PackColumn(const std::vector<Sample>& samples, T Sample::*field, std::string& bytes) {
  for (const Sample& sample : samples) {
    bytes.append(reinterpret_cast<const char*>(&(sample.*field)), sizeof(T));
  }
}

template <typename T>
const char* UnpackColumn(const char* bytes, T Sample::*field, std::vector<Sample>& samples) {
  for (Sample& sample : samples) {
    std::memcpy(&(sample.*field), bytes, sizeof(T));
    bytes += sizeof(T);
  }
  return bytes;
}

void TakeMode(int workload, int index, ModeTiming& mode, std::vector<Contender>& contenders) {
  const std::string name(Name(mode.mode));
  contenders.push_back({workload, index, 0, name, std::exchange(mode.candidate, {})});
  int contender = 1;
  for (ContenderTiming& baseline : mode.baselines) {
    contenders.push_back({workload, index, contender++, name, std::move(baseline)});
  }
  mode.baselines.clear();
}

ModeTiming* FindMode(Passed& passed, int workload, int mode) {
  if (workload < 0 || static_cast<size_t>(workload) >= passed.timings.size()) return nullptr;
  std::vector<ModeTiming>& modes = passed.timings[static_cast<size_t>(workload)].modes;
  if (mode < 0 || static_cast<size_t>(mode) >= modes.size()) return nullptr;
  return &modes[static_cast<size_t>(mode)];
}

}  // namespace

CandidateText TextOf(const Candidate& candidate) {
  Candidate bare = WithoutSources(candidate);
  CandidateText text;
  for (const auto& [path, source] : candidate.sources) text.sources[path] = Sha256Hex(source);
  bare.sources = text.sources;
  text.body = JsonText(ToJson(bare));
  return text;
}

Result<Candidate> CandidateOf(const JsonReader& body, const SourceFinder& find_source) {
  Candidate candidate = TRY(CandidateFrom(body));
  for (auto& [path, source] : candidate.sources) source = TRY(find_source(source));
  return candidate;
}

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

VerdictParts TakeApart(const Verdict& verdict) {
  VerdictParts parts{verdict, {}};
  auto* passed = std::get_if<Passed>(&parts.body.outcome);
  if (passed == nullptr) return parts;
  for (size_t i = 0; i < passed->timings.size(); ++i) {
    std::vector<ModeTiming>& modes = passed->timings[i].modes;
    for (size_t j = 0; j < modes.size(); ++j) {
      TakeMode(static_cast<int>(i), static_cast<int>(j), modes[j], parts.contenders);
    }
  }
  return parts;
}

Result<Verdict> PutTogether(std::string_view source, VerdictParts parts) {
  auto* passed = std::get_if<Passed>(&parts.body.outcome);
  for (Contender& contender : parts.contenders) {
    ModeTiming* mode =
        passed != nullptr ? FindMode(*passed, contender.workload, contender.mode) : nullptr;
    const auto index = static_cast<size_t>(contender.index);
    if (mode == nullptr || (index != 0 && index != mode->baselines.size() + 1)) {
      return Error{ErrorCode::kBadInput,
                   std::string(source) + ": the times of \"" + contender.timing.name +
                       "\" belong to no mode of its verdict",
                   "the file is damaged; restore it from a copy"};
    }
    if (index == 0) {
      mode->candidate = std::move(contender.timing);
    } else {
      mode->baselines.push_back(std::move(contender.timing));
    }
  }
  return std::move(parts.body);
}

std::string PackSamples(const std::vector<Sample>& samples) {
  const auto count = static_cast<uint32_t>(samples.size());
  std::string bytes(reinterpret_cast<const char*>(&count), sizeof(count));
  bytes.reserve(sizeof(count) + samples.size() * sizeof(Sample));
  PackColumn(samples, &Sample::process, bytes);
  PackColumn(samples, &Sample::round, bytes);
  PackColumn(samples, &Sample::us, bytes);
  PackColumn(samples, &Sample::sm_mhz, bytes);
  PackColumn(samples, &Sample::temperature_c, bytes);
  PackColumn(samples, &Sample::power_w, bytes);
  return Compress(bytes, kPackLevel);
}

Result<std::vector<Sample>> UnpackSamples(std::string_view source, std::string_view packed) {
  constexpr size_t kSampleBytes = 2 * sizeof(int32_t) + 4 * sizeof(float);
  const std::string bytes = TRY(Decompress(source, packed, kMaxPackedBytes));
  uint32_t count = 0;
  if (bytes.size() >= sizeof(count)) std::memcpy(&count, bytes.data(), sizeof(count));
  if (bytes.size() != sizeof(count) + size_t{count} * kSampleBytes) {
    return Error{ErrorCode::kBadInput, std::string(source) + ": packed samples of the wrong size",
                 "the file is damaged; restore it from a copy"};
  }
  std::vector<Sample> samples(count);
  const char* at = bytes.data() + sizeof(count);
  at = UnpackColumn(at, &Sample::process, samples);
  at = UnpackColumn(at, &Sample::round, samples);
  at = UnpackColumn(at, &Sample::us, samples);
  at = UnpackColumn(at, &Sample::sm_mhz, samples);
  at = UnpackColumn(at, &Sample::temperature_c, samples);
  UnpackColumn(at, &Sample::power_w, samples);
  return samples;
}

bool IsConclusive(const Outcome& outcome) {
  if (const auto* failed = std::get_if<CompileFailed>(&outcome)) return !failed->timed_out;
  return !std::holds_alternative<Inconclusive>(outcome);
}

}  // namespace warpsmith::store
