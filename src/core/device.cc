#include "core/device.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"

namespace warpsmith {

std::string MeasurementKey(const Candidate& candidate, const Task& task, const Workload& workload,
                           const Protocol& protocol) {
  const nlohmann::json identity{{"candidate", CandidateId(candidate)},
                                {"task", TaskId(task)},
                                {"sizes", workload.sizes},
                                {"protocol", ProtocolId(protocol)}};
  return Sha256Hex(identity.dump());
}

}  // namespace warpsmith
