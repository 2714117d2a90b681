#include "judge/peer_wire.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_reader.h"
#include "core/serialize.h"
#include "judge/wire_error.h"

namespace warpsmith::judge {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, std::variant_size_v<PeerCommand>> kPeerCommandNames = {
    "start", "arena", "load", "check", "burst", "expect", "draw"};
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr int64_t kMostSlots = 4096, kMostPeerCalls = 1'000'000;
constexpr double kMostBusyUs = 1e12;

json ToJson(const PeerRegion& r) {
  return {{"tensor", r.tensor},
          {"role", r.role == Role::kInput ? "input" : "output"},
          {"dtype", Name(r.dtype)},
          {"extents", r.extents},
          {"bytes", r.bytes},
          {"mapped_bytes", r.mapped_bytes},
          {"slots", r.slots},
          {"stride_bytes", r.stride_bytes},
          {"offset_bytes", r.offset_bytes}};
}

json ToJson(const std::vector<PeerRegion>& regions) {
  json list = json::array();
  for (const PeerRegion& region : regions) list.push_back(ToJson(region));
  return list;
}

json PeerFields(const PeerStart& c) {
  return {{"device_uuid", c.device_uuid}, {"sandbox", c.sandbox}};
}
json PeerFields(const PeerArena& c) {
  return {{"task", warpsmith::ToJson(c.task)},
          {"workload", warpsmith::ToJson(c.workload)},
          {"regions", ToJson(c.regions)},
          {"exact", ToJson(c.exact)}};
}
json PeerFields(const PeerLoad& c) { return {{"callee", c.callee}, {"entry", c.entry}}; }
json PeerFields(const PeerCheck& c) { return {{"callee", c.callee}}; }
json PeerFields(const PeerBurst& c) {
  json fields{{"callee", c.callee}, {"calls", c.calls}, {"warmup", c.warmup}};
  if (c.trace) fields["trace"] = true;
  return fields;
}
json PeerFields(const PeerExpect&) { return json::object(); }
json PeerFields(const PeerDraw& c) { return {{"seed", c.seed}}; }

Result<PeerRegion> ReadRegion(const JsonReader& r) {
  PeerRegion region;
  region.tensor = TRY(r.At("tensor").String());
  const std::string role = TRY(r.At("role").String());
  if (role != "input" && role != "output") return r.At("role").Bad("input or output");
  region.role = role == "input" ? Role::kInput : Role::kOutput;
  const auto dtype = DTypeFromName(TRY(r.At("dtype").String()));
  if (!dtype) return r.At("dtype").Bad("an element type");
  region.dtype = *dtype;
  for (const JsonReader& extent : TRY(r.At("extents").Items())) {
    region.extents.push_back(TRY(extent.IntIn(1, kMostBytes)));
  }
  region.bytes = TRY(r.At("bytes").IntIn(1, kMostBytes));
  region.mapped_bytes = TRY(r.At("mapped_bytes").IntIn(1, kMostBytes));
  region.slots = TRY(r.At("slots").IntIn(1, kMostSlots));
  region.stride_bytes = TRY(r.At("stride_bytes").IntIn(0, kMostBytes));
  region.offset_bytes = TRY(r.At("offset_bytes").IntIn(0, kMostBytes));
  const int64_t last = region.offset_bytes + (region.slots - 1) * region.stride_bytes;
  if (last > region.mapped_bytes - region.bytes) return r.Bad("slots within the mapping");
  return region;
}

Result<std::vector<PeerRegion>> ReadRegions(const JsonReader& list) {
  std::vector<PeerRegion> regions;
  for (const JsonReader& item : TRY(list.Items())) regions.push_back(TRY(ReadRegion(item)));
  return regions;
}

Result<PeerCommand> ReadPeerArena(const JsonReader& r) {
  PeerArena arena;
  arena.task = TRY(TaskFrom(r.At("task")));
  arena.workload = TRY(WorkloadFrom(r.At("workload")));
  arena.regions = TRY(ReadRegions(r.At("regions")));
  arena.exact = TRY(ReadRegions(r.At("exact")));
  return PeerCommand(std::move(arena));
}

Result<PeerCommand> ReadBurst(const JsonReader& r) {
  PeerBurst burst;
  burst.callee = TRY(r.At("callee").String());
  burst.calls = TRY(r.At("calls").IntIn(1, kMostPeerCalls));
  burst.warmup = TRY(r.At("warmup").Bool());
  if (r.Has("trace")) burst.trace = TRY(r.At("trace").Bool());
  return PeerCommand(std::move(burst));
}

Result<PeerCommand> ReadPeerStart(const JsonReader& r) {
  PeerStart start;
  start.device_uuid = TRY(r.At("device_uuid").String());
  start.sandbox = TRY(r.At("sandbox").String());
  if (r.Has("hidden")) {
    for (const JsonReader& item : TRY(r.At("hidden").Items())) {
      start.hidden.push_back(TRY(item.String()));
    }
  }
  return PeerCommand(std::move(start));
}

Result<PeerCommand> ReadLoad(const JsonReader& r) {
  PeerLoad load;
  load.callee = TRY(r.At("callee").String());
  load.entry = TRY(r.At("entry").String());
  return PeerCommand(std::move(load));
}

Result<PeerCommand> ReadDraw(const JsonReader& r) {
  const int64_t seed = TRY(r.At("seed").IntIn(0, std::numeric_limits<int64_t>::max()));
  return PeerCommand(PeerDraw{static_cast<uint64_t>(seed)});
}

}  // namespace

std::string_view CommandName(const PeerCommand& command) {
  return kPeerCommandNames.at(command.index());
}

std::string PeerCommandToText(const PeerCommand& command) {
  json document = std::visit([](const auto& c) { return PeerFields(c); }, command);
  document["command"] = CommandName(command);
  document["version"] = kPeerWireVersion;
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<PeerCommand> PeerCommandFromText(std::string_view text) {
  const json document = TRY(ParseJson("command", text));
  const JsonReader reader("command", document);
  if (TRY(reader.At("version").Int()) != kPeerWireVersion) {
    return Error{ErrorCode::kVersion, "a judge command of another version than 1",
                 "use the program that the judge came with"};
  }
  const std::string name = TRY(reader.At("command").String());
  if (name == "start") return ReadPeerStart(reader);
  if (name == "arena") return ReadPeerArena(reader);
  if (name == "load") return ReadLoad(reader);
  if (name == "check") return PeerCommand(PeerCheck{TRY(reader.At("callee").String())});
  if (name == "burst") return ReadBurst(reader);
  if (name == "expect") return PeerCommand(PeerExpect{});
  if (name == "draw") return ReadDraw(reader);
  return reader.At("command").Bad("a judge command");
}

std::string PeerReplyToText(const PeerReplyOrError& reply) {
  json document{{"version", kPeerWireVersion}};
  if (const auto* error = std::get_if<Error>(&reply)) {
    document["error"] = WireErrorToJson(*error);
  } else {
    const auto& good = std::get<PeerReply>(reply);
    if (!good.text.empty()) document["text"] = good.text;
    if (!good.sandbox.empty()) document["sandbox"] = good.sandbox;
    if (good.gpu_busy_us > 0) document["gpu_busy_us"] = good.gpu_busy_us;
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<PeerReplyOrError> PeerReplyFromText(std::string_view text) {
  const json document = TRY(ParseJson("reply", text));
  const JsonReader reader("reply", document);
  if (TRY(reader.At("version").Int()) != kPeerWireVersion) {
    return reader.At("version").Bad("version 1");
  }
  if (reader.Has("error")) {
    Error told;
    TRY(ReadWireError(reader.At("error"), &told));
    return PeerReplyOrError(std::move(told));
  }
  PeerReply reply;
  if (reader.Has("text")) reply.text = TRY(reader.At("text").String());
  if (reader.Has("sandbox")) reply.sandbox = TRY(reader.At("sandbox").String());
  if (reader.Has("gpu_busy_us")) {
    const double us = TRY(reader.At("gpu_busy_us").Number());
    if (!(us >= 0) || us > kMostBusyUs) return reader.At("gpu_busy_us").Bad("microseconds");
    reply.gpu_busy_us = us;
  }
  return PeerReplyOrError(std::move(reply));
}

Result<std::vector<PeerRegion>> PeerRegionsOf(const Task& task, const Workload& workload,
                                              const std::vector<Region>& regions,
                                              const std::vector<int64_t>& mapped_bytes) {
  const std::vector<size_t> roles = RolesInTaskOrder(task);
  CHECK(regions.size() == roles.size() && mapped_bytes.size() == roles.size());
  std::vector<PeerRegion> described;
  for (size_t i = 0; i < roles.size(); ++i) {
    const TensorSpec& tensor = task.tensors[i];
    const Region& region = regions[roles[i]];
    PeerRegion peer;
    peer.tensor = tensor.name;
    peer.role = tensor.role;
    peer.dtype = tensor.dtype;
    peer.extents = TRY(Extents(tensor, workload.sizes));
    peer.bytes = region.bytes;
    peer.mapped_bytes = mapped_bytes[roles[i]];
    peer.slots = region.slots;
    peer.stride_bytes = region.slots > 1 ? region.OffsetOf(1) - region.OffsetOf(0) : 0;
    peer.offset_bytes = static_cast<int64_t>(region.base) + region.OffsetOf(0);
    described.push_back(std::move(peer));
  }
  return described;
}

}  // namespace warpsmith::judge
