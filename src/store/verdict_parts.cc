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
#include "core/field_list.h"
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

// In the order of PackSamples.
template <typename Visit>
void ForEachSampleColumn(const Visit& visit) {
  static_assert(MemberCount<Sample>() == 6, "each member has its column");
  visit("process", &Sample::process);
  visit("round", &Sample::round);
  visit("us", &Sample::us);
  visit("sm_mhz", &Sample::sm_mhz);
  visit("temperature_c", &Sample::temperature_c);
  visit("power_w", &Sample::power_w);
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
  ForEachSampleColumn([&](const char* name, auto field) {
    const auto is_zero = [field](const Sample& sample) { return sample.*field == 0; };
    if (std::ranges::all_of(timing.samples, is_zero)) return;  // not read
    json& column = object[name] = json::array();
    for (const Sample& sample : timing.samples) column.push_back(json_fields::Value(sample.*field));
  });
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
  Status status;
  ForEachSampleColumn([&](const char* name, auto field) {
    if (status.ok()) status = ReadColumn(object, name, field, samples);
  });
  TRY(std::move(status));
  return contender;
}

static_assert(std::endian::native == std::endian::little, "packed samples are little endian");

constexpr size_t kMaxPackedBytes = size_t{64} << 20;
constexpr int kPackLevel = 1;  // a few hundred bytes: higher levels only cost time

// Moves what has columns of its own; every other member stays in the body.
void MoveColumns(ContenderTiming& from, ContenderTiming& to) {
  to.name = std::exchange(from.name, {});
  to.median_us = std::exchange(from.median_us, 0);
  to.interval_us = std::exchange(from.interval_us, {});
  to.samples = std::exchange(from.samples, {});
}

void TakeMode(int workload, int index, ModeTiming& mode, std::vector<Contender>& contenders) {
  const auto take = [&](ContenderTiming& timing, int contender) {
    contenders.push_back({workload, index, contender, std::string(Name(mode.mode)), {}});
    MoveColumns(timing, contenders.back().timing);
  };
  take(mode.candidate, 0);
  int contender = 1;
  for (ContenderTiming& baseline : mode.baselines) take(baseline, contender++);
  const auto is_blank = [](const ContenderTiming& rest) {
    return json_fields::IsStandard(rest, ContenderTiming());
  };
  if (std::ranges::all_of(mode.baselines, is_blank)) mode.baselines.clear();
}

// Where the contender's times go; nullptr: nowhere. Of baselines the body has all or none.
ContenderTiming* FindPlace(Passed& passed, const Contender& contender) {
  const auto workload = static_cast<size_t>(contender.workload);
  const auto index = static_cast<size_t>(contender.index);
  if (workload >= passed.timings.size()) return nullptr;
  std::vector<ModeTiming>& modes = passed.timings[workload].modes;
  if (static_cast<size_t>(contender.mode) >= modes.size()) return nullptr;
  ModeTiming& mode = modes[static_cast<size_t>(contender.mode)];
  if (index == 0) return &mode.candidate;
  if (index == mode.baselines.size() + 1) return &mode.baselines.emplace_back();
  if (index > mode.baselines.size() || !mode.baselines[index - 1].name.empty()) return nullptr;
  return &mode.baselines[index - 1];
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
    ContenderTiming* place = passed != nullptr ? FindPlace(*passed, contender) : nullptr;
    if (place == nullptr) {
      return Error{ErrorCode::kBadInput,
                   std::string(source) + ": the times of \"" + contender.timing.name +
                       "\" belong to no mode of its verdict",
                   "the file is damaged; restore it from a copy"};
    }
    MoveColumns(contender.timing, *place);
  }
  return std::move(parts.body);
}

std::string PackSamples(const std::vector<Sample>& samples) {
  const auto count = static_cast<uint32_t>(samples.size());
  std::string bytes(reinterpret_cast<const char*>(&count), sizeof(count));
  bytes.reserve(sizeof(count) + samples.size() * sizeof(Sample));
  ForEachSampleColumn([&](const char* /*name*/, auto field) {
    for (const Sample& sample : samples) {
      bytes.append(reinterpret_cast<const char*>(&(sample.*field)), sizeof(sample.*field));
    }
  });
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
  ForEachSampleColumn([&](const char* /*name*/, auto field) {
    for (Sample& sample : samples) {
      std::memcpy(&(sample.*field), at, sizeof(sample.*field));
      at += sizeof(sample.*field);
    }
  });
  return samples;
}

bool IsConclusive(const Outcome& outcome) {
  if (const auto* failed = std::get_if<CompileFailed>(&outcome)) return !failed->timed_out;
  return !std::holds_alternative<Inconclusive>(outcome);
}

}  // namespace warpsmith::store
