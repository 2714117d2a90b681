// Contenders' times as JSON, samples in columns: compact, and quick to read back.
#ifndef WARPSMITH_STORE_CONTENDER_JSON_H_
#define WARPSMITH_STORE_CONTENDER_JSON_H_

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"
#include "store/verdict_parts.h"

namespace warpsmith::store {

// Recordings write derived numbers with 9 significant digits: more than the samples they are made
// of have (those are written exactly), and half the bytes.
double Rounded(double value);
void RoundNumbers(nlohmann::json& value);  // every non-integer number inside

nlohmann::json ContendersJson(const std::vector<Contender>& contenders);
Result<std::vector<Contender>> ContendersFrom(const JsonReader& json);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_CONTENDER_JSON_H_
