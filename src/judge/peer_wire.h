// What the oracle says to a peer: a process that runs a whole program or PyTorch (docs/
// judge-protocol.md, "Programs"). One command and one reply at a time, like judge/wire.h.
#ifndef WARPSMITH_JUDGE_PEER_WIRE_H_
#define WARPSMITH_JUDGE_PEER_WIRE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/task.h"
#include "judge/problem.h"
#include "judge/slot_plan.h"

namespace warpsmith::judge {

inline constexpr int kPeerWireVersion = 1;

// Enters the sandbox, then opens the device.
struct PeerStart {
  std::string device_uuid;
  std::string sandbox;                   // the wanted level: "L0", "L1", "L2"
  std::vector<std::string> hidden = {};  // patterns of libraries that it must not open
};

// Slot s lies at mapping + offset_bytes + s * stride_bytes.
struct PeerRegion {
  std::string tensor;
  Role role = Role::kInput;
  DType dtype = DType::kF16;
  std::vector<int64_t> extents;
  int64_t bytes = 0, mapped_bytes = 0;
  int64_t slots = 1, stride_bytes = 0, offset_bytes = 0;
};

// Maps the arena. One descriptor for each region, then for each exact one; both are in the order of
// task.tensors. `regions` is empty for a reference process.
struct PeerArena {
  Task task;
  Workload workload;
  std::vector<PeerRegion> regions, exact;
};

// Makes a callee ready: "program" (payload: the shared library), "plan" (payload: the cubin), and
// of PyTorch "eager" and "compile". `entry` is the library's function, or the plan as JSON.
struct PeerLoad {
  std::string callee, entry;
};

// One call on the exact regions, then the device is synchronised.
struct PeerCheck {
  std::string callee;
};

// Calls released one by one through the page that comes as a descriptor (judge/burst_page.h). The
// callee "null" computes nothing. With `trace` the reply says gpu_busy_us.
struct PeerBurst {
  std::string callee;
  int64_t calls = 0;
  bool warmup = false, trace = false;
};

// References: the expected outputs of the inputs in the exact regions...
struct PeerExpect {};
// ...and of new inputs from a seed, which go into the exact regions too.
struct PeerDraw {
  uint64_t seed = 0;  // below 2^63
};

using PeerCommand =
    std::variant<PeerStart, PeerArena, PeerLoad, PeerCheck, PeerBurst, PeerExpect, PeerDraw>;

std::string_view CommandName(const PeerCommand& command);
std::string PeerCommandToText(const PeerCommand& command);
Result<PeerCommand> PeerCommandFromText(std::string_view text);

// From a program's process it is advice, whatever it says.
struct PeerReply {
  std::string text;     // load: what was loaded
  std::string sandbox;  // start: the level reached
  double gpu_busy_us = 0;
};
using PeerReplyOrError = std::variant<PeerReply, Error>;

std::string PeerReplyToText(const PeerReplyOrError& reply);
Result<PeerReplyOrError> PeerReplyFromText(std::string_view text);

// The descriptions of `regions` (by role, relative to their mappings), in the task's order. `task`
// gives the types: ReferenceTask() for a reference's stage.
Result<std::vector<PeerRegion>> PeerRegionsOf(const Task& task, const Workload& workload,
                                              const std::vector<Region>& regions,
                                              const std::vector<int64_t>& mapped_bytes);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PEER_WIRE_H_
