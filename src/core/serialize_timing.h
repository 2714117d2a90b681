// JSON of the times inside a verdict, and of kernels' resources: shared by the serialize_*.cc
// files.
#ifndef WARPSMITH_CORE_SERIALIZE_TIMING_H_
#define WARPSMITH_CORE_SERIALIZE_TIMING_H_

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "base/json_reader.h"
#include "core/verdict.h"

namespace warpsmith {

nlohmann::json ToJson(const Timing& timing);
Result<Timing> TimingFrom(const JsonReader& json);

nlohmann::json KernelsToJson(const std::vector<KernelResources>& kernels);
Result<KernelResources> KernelResourcesFrom(const JsonReader& json);

}  // namespace warpsmith

#endif  // WARPSMITH_CORE_SERIALIZE_TIMING_H_
