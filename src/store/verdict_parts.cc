#include "store/verdict_parts.h"

#include <bit>
#include <cstring>

#include "base/compression.h"

namespace warpsmith::store {
namespace {

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
