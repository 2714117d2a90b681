// What the families are put together from: their tables of parameters, their sources, arithmetic.
#ifndef WARPSMITH_HGEMM_FAMILY_PARTS_H_
#define WARPSMITH_HGEMM_FAMILY_PARTS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/candidate.h"

namespace warpsmith::hgemm {

// A family's parameters as one table: names, where the struct keeps it, the least value. Configs
// are made and read through it, so that a parameter is named once.
template <class Parameters>
struct Parameter {
  std::string_view name;
  int64_t Parameters::*member;
  int64_t least = 1;  // 0 where nothing is divided by it
};

// Every parameter, in the order of the table.
template <class Parameters>
Config ConfigOf(const Parameters& parameters, std::span<const Parameter<Parameters>> table) {
  Config config;
  for (const Parameter<Parameters>& row : table) config.emplace(row.name, parameters.*row.member);
  return config;
}

template <class Parameters>
Config LeastOf(std::span<const Parameter<Parameters>> table) {
  Config config;
  for (const Parameter<Parameters>& row : table) config.emplace(row.name, row.least);
  return config;
}

// What a config does not name keeps its default: it was recorded before the parameter was there,
// when every kernel was as the default now says.
template <class Parameters>
Parameters ParametersOf(const Config& config, std::span<const Parameter<Parameters>> table) {
  Parameters parameters;
  for (const Parameter<Parameters>& row : table) {
    const auto found = config.find(row.name);
    if (found != config.end()) parameters.*row.member = found->second;
  }
  return parameters;
}

// Each configuration with each value, in that order: how a space is enumerated.
template <class Parameters>
std::vector<Parameters> Extend(const std::vector<Parameters>& from, int64_t Parameters::*member,
                               std::initializer_list<int64_t> values) {
  std::vector<Parameters> all;
  for (const Parameters& parameters : from) {
    for (const int64_t value : values) {
      all.push_back(parameters);
      all.back().*member = value;
    }
  }
  return all;
}

template <class Parameters, class Keep>
std::vector<Parameters> Filter(std::vector<Parameters> all, Keep keep) {
  std::erase_if(all, [&](const Parameters& parameters) { return !keep(parameters); });
  return all;
}

// Files of device/ by their names, which are the names their #includes use: {"ptx.cuh", ...}.
// A name that is not there is a bug.
std::map<std::string, std::string> DeviceSources(std::initializer_list<std::string_view> names);

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Launches that wait on the SMs for the one ahead (overlap) take places where there is most room,
// that is, many on the few SMs that the one ahead left idle. Shared memory to ask for, so that no
// SM takes more than the even shares of two launches; 0 where many CTAs share an SM anyway. A wrong
// number of SMs would only cost speed.
constexpr int64_t SpreadSharedBytes(int64_t ctas) {
  constexpr int64_t kSms = 132, kSmSharedBytes = 233472, kReservedPerCta = 1024;
  const int64_t an_sm = 2 * CeilDiv(ctas, kSms);
  if (an_sm > 8) return 0;
  return kSmSharedBytes / an_sm / 128 * 128 - kReservedPerCta;
}

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_FAMILY_PARTS_H_
