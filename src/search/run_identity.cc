#include "search/run_identity.h"

#include <nlohmann/json.hpp>
#include <string>

#include "core/serialize.h"

namespace warpsmith::search {
namespace {

struct Trait {
  const char* name;
  std::string stored, now;
};

// Another GPU of the same kind will do, since rented machines change: what counts is measured
// against baselines beside it, and every verdict's evidence names its own GPU.
std::string DeviceText(const DeviceInfo& device) {
  const bool replays = !device.needs_artifacts && device.origin != "local";
  return device.name + " " + device.architecture + (replays ? " (recorded)" : "");
}

}  // namespace

Status CheckSameRun(const RunRecord& stored, const RunRecord& now) {
  const Trait traits[] = {
      {"proposer", stored.proposer, now.proposer},
      {"seed", std::to_string(stored.seed), std::to_string(now.seed)},
      {"batch", std::to_string(stored.batch), std::to_string(now.batch)},
      {"space", stored.space, now.space},
      {"device", DeviceText(stored.device), DeviceText(now.device)},
      {"protocol", ProtocolId(stored.protocol), ProtocolId(now.protocol)},
      {"workload", ToJson(stored.workload).dump(), ToJson(now.workload).dump()},
      {"task", ToJson(stored.task).dump(), ToJson(now.task).dump()},
  };
  for (const Trait& trait : traits) {
    if (trait.stored == trait.now) continue;
    return Error{ErrorCode::kConfig,
                 "run \"" + now.id + "\" was begun with " + trait.name + " " + trait.stored +
                     ", now it is " + trait.now,
                 "resume it with what it was begun with, or begin another run"};
  }
  return {};
}

}  // namespace warpsmith::search
