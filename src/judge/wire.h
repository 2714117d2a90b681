// What oracle and runner say to each other, one command and one reply at a time.
// Each is a frame (base/frame.h) with a JSON header; docs/judge-protocol.md says who is who.
#ifndef WARPSMITH_JUDGE_WIRE_H_
#define WARPSMITH_JUDGE_WIRE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/launch_plan.h"
#include "core/protocol.h"
#include "core/task.h"
#include "judge/slot_plan.h"

namespace warpsmith::judge {

inline constexpr int kWireVersion = 1;

// Opens the device and loads the judge's kernels. Payload: their cubin.
struct StartCommand {
  std::string device_uuid;
};

// Maps the arena: descriptors of every tensor's slots by role, then of the exact mappings by role.
// With no slots (input_slots 0) only the latter.
struct ArenaCommand {
  Task task;
  Workload workload;
  std::vector<int64_t> mapped_bytes;  // one per descriptor
  int input_slots = 0, output_slots = 0;
};

// Payload: the artifact's image. Replaces what was there under this name: kCandidateName, or a
// rival's.
struct CandidateCommand {
  std::string name;
  LaunchPlan plan;
  int replicas = 1;  // copies of its workspaces: no two launches of a batch share one
};

// Asks in which ways a library's baseline may be computed; the reply's text is a JSON array of
// choices (baseline/entrants.h), of which the oracle's contest takes one.
struct EntrantsCommand {
  std::string name;
  double exhaustive_seconds = 0;
};

// Makes a choice ready, as a contender of this name.
struct BaselineCommand {
  std::string name, choice;
};

inline constexpr std::string_view kCandidateName = "candidate";

// One launch on the exact mappings, then a synchronisation. Where it may begin early, it runs
// behind a kernel that writes the inputs late.
struct CheckCommand {
  std::string contender;
  uint16_t poison = 0;
};

// The slot of every tensor, by role.
using WireLaunch = std::vector<int>;

struct SampleCommand {
  std::string contender;
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

using Command = std::variant<StartCommand, ArenaCommand, CandidateCommand, EntrantsCommand,
                             BaselineCommand, CheckCommand, SampleCommand>;

std::string_view CommandName(const Command& command);
std::string CommandToText(const Command& command);
Result<Command> CommandFromText(std::string_view text);

// elapsed_us: per launch; one value a batch, in kServer one value a call.
struct Reply {
  std::vector<double> elapsed_us;
  std::string text;
};
// The runner could not do it: its Error, to be told apart by code and cuda::FailureFrom.
using ReplyOrError = std::variant<Reply, Error>;

std::string ReplyToText(const ReplyOrError& reply);
Result<ReplyOrError> ReplyFromText(std::string_view text);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_WIRE_H_
