// A family's parameters as one table: names, where the struct keeps it, the least value. Configs
// are made and read through it, so that a parameter is named once.
#ifndef WARPSMITH_HGEMM_PARAMETER_TABLE_H_
#define WARPSMITH_HGEMM_PARAMETER_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/candidate.h"

namespace warpsmith::hgemm {

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
  for (const Parameter<Parameters>& row : table) {
    config.emplace(row.name, parameters.*row.member);
  }
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

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_PARAMETER_TABLE_H_
