// What the oracle and the processes that it calls say to each other: one command, then one reply.
// Each is a frame (base/frame.h; in Python torch/warpsmith_peer/frames.py) with a JSON header.
// docs/judge-protocol.md says which processes there are:
//
//   runner    launches kernels' plans and libraries' calls; also computes a task's CUDA reference
//   program   runs a candidate's shared library, or its plan, call by call
//   PyTorch   runs the task's PyTorch code, and computes references (judge/torch/warpsmith_peer)
//
// Each answers the commands that are marked for it, and refuses the others.
#ifndef WARPSMITH_JUDGE_WIRE_H_
#define WARPSMITH_JUDGE_WIRE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/frame.h"
#include "base/result.h"
#include "core/launch_plan.h"
#include "core/protocol.h"
#include "core/task.h"
#include "judge/slot_plan.h"

namespace warpsmith::judge {

inline constexpr int kWireVersion = 1;

// All. Opens the device; a program's process enters its sandbox before that. A runner's payload: the
// cubin of the judge's kernels.
struct StartCommand {
  std::string device_uuid;
  std::string sandbox = {};              // the wanted level: "L0", "L1", "L2"
  std::vector<std::string> hidden = {};  // files that it must not open
};

// A tensor's memory: slot s lies at mapping + offset_bytes + s * stride_bytes.
struct WireRegion {
  std::string tensor;
  Role role = Role::kInput;
  DType dtype = DType::kF16;
  std::vector<int64_t> extents;
  int64_t bytes = 0, mapped_bytes = 0;
  int64_t slots = 1, stride_bytes = 0, offset_bytes = 0;
};

// All. Maps the arena. One descriptor for each region, then one for each exact region; both lists
// are in the order of task.tensors. `regions` is empty for a process that computes references.
struct ArenaCommand {
  Task task;
  Workload workload;
  std::vector<WireRegion> regions, exact;
};

// All. Makes a callee ready, in place of what had its name before.
//   runner:   any name; `plan`; payload: the cubin
//   program:  "program"; `entry` is the library's function; payload: the shared library;
//             or "plan"; `plan`; payload: the cubin
//   PyTorch:  "eager", "compile"
struct LoadCommand {
  std::string callee;
  std::string entry = {};
  std::optional<LaunchPlan> plan = {};
  int replicas =
      1;  // runner: copies of the workspaces, so that no two launches of a batch share one
};

// Runner. Asks in which ways a library's baseline may be computed. The reply's text is a JSON array
// of choices (baseline/entrants.h), of which the oracle's contest takes one.
struct EntrantsCommand {
  std::string name;
  double exhaustive_seconds = 0;
};

// Runner. Makes a choice ready as a callee of this name.
struct BaselineCommand {
  std::string name, choice;
};

inline constexpr std::string_view kCandidateName = "candidate";

// All. One call on the exact regions, then the device is synchronised. A runner poisons the outputs
// itself, and runs a plan that may begin early behind a kernel that writes the inputs late.
struct CheckCommand {
  std::string callee;
  uint16_t poison = 0;
};

// The slot of every tensor, by role.
using WireLaunch = std::vector<int>;

// Runner. One batch.
struct SampleCommand {
  std::string callee;
  Mode mode = Mode::kDeviceHot;
  uint16_t poison = 0;
  std::vector<WireLaunch> touch, timed;
  std::vector<int> idle_us;  // kServer: before each timed call
  bool read_inputs = false;  // hot modes: the runner reads the timed launches' inputs beforehand
  // Batch modes: those of the first timed launch are written just before it, and late. Its times
  // mean nothing then.
  bool late_inputs = false;
  // > 0: each timed launch begins while all SMs but these are taken. Its times mean nothing then.
  int free_sms = 0;
};

// Program, PyTorch. Calls that are released one by one through the page that comes as a descriptor
// (judge/burst_page.h). The callee "null" computes nothing. With `trace` the reply has gpu_busy_us.
struct BurstCommand {
  std::string callee;
  int64_t calls = 0;
  bool warmup = false, trace = false;
};

// PyTorch: the expected outputs of the inputs in the exact regions...
struct ExpectCommand {};
// ...and of new inputs from a seed, which go into the exact regions too.
struct DrawCommand {
  int64_t seed = 0;
};

using Command =
    std::variant<StartCommand, ArenaCommand, LoadCommand, EntrantsCommand, BaselineCommand,
                 CheckCommand, SampleCommand, BurstCommand, ExpectCommand, DrawCommand>;

// A frame's header in JSON. The readers refuse unknown fields and kinds (kBadInput) and other versions
// of the protocol (kVersion).
std::string CommandToText(const Command& command);
Result<Command> CommandFromText(std::string_view text);

// What a program's process says is the candidate's word: advice, never evidence.
struct Reply {
  std::vector<double> elapsed_us;  // sample: per launch; one value a batch, in kServer one a call
  std::string text;                // start, load, expect, draw: what was started, loaded, computed
  std::string sandbox;             // start: the level reached
  double gpu_busy_us = 0;          // a traced burst: per call
};
// The process could not do it: its Error, to be told apart by its code and cuda::FailureFrom.
using ReplyOrError = std::variant<Reply, Error>;

std::string ReplyToText(const ReplyOrError& reply);
Result<ReplyOrError> ReplyFromText(std::string_view text);

// --- The end of the called process.

// A command that needs one which has not come.
Error OutOfOrder(std::string_view command, std::string_view missing);

// Answers each frame on the socket until the other end closes; the process's exit status.
int AnswerUntilClosed(int socket, const std::function<ReplyOrError(const Frame&)>& answer);

void CloseAll(const std::vector<int>& descriptors);

// What session.Run(command, frame) answers to the frame's command; a session has a Run for each kind
// of command that it knows. The frame's descriptors are closed here.
template <typename Session>
ReplyOrError AnswerOf(Session& session, const Frame& frame) {
  const auto run = [&](const auto& command) -> Result<Reply> {
    if constexpr (requires { session.Run(command, frame); }) return session.Run(command, frame);
    return Error{ErrorCode::kInternal, "a judge command for another kind of process", ""};
  };
  const auto reply = [&]() -> Result<Reply> {
    return std::visit(run, TRY(CommandFromText(frame.header)));
  }();
  CloseAll(frame.descriptors);
  if (!reply.ok()) return reply.error();
  return reply.value();
}

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_WIRE_H_
