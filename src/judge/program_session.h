// The hostile side of a program's judging: a process that loads a candidate's shared library and
// calls it. From the moment of loading on, whatever this process says is the candidate's word.
#ifndef WARPSMITH_JUDGE_PROGRAM_SESSION_H_
#define WARPSMITH_JUDGE_PROGRAM_SESSION_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/frame.h"
#include "base/result.h"
#include "core/launch_plan.h"
#include "cuda/context.h"
#include "cuda/shared_memory.h"
#include "judge/burst_page.h"
#include "judge/peer_wire.h"
#include "judge/plan_call.h"
#include "judge/program_library.h"

namespace warpsmith::judge {

// The hidden subcommand: `warpsmith internal-program <socket>`.
inline constexpr std::string_view kProgramSubcommand = "internal-program";

// Answers commands on the socket until it closes; the process's exit status.
int ProgramMain(int socket);

class ProgramSession {
 public:
  explicit ProgramSession(int socket) : socket_(socket) {}
  // `frame` carries the command's payload and descriptors, which are closed here.
  PeerReplyOrError Handle(const Frame& frame);

 private:
  struct MappedRegion {
    PeerRegion region;
    uint64_t base = 0;
    void* AddressOf(int64_t slot) const;
  };

  struct PendingPlan {
    LaunchPlan plan;
    std::string image;
  };
  // A callee's call on the tensors' addresses, in the task's order.
  using Call = std::function<Status(const std::vector<void*>& tensors)>;

  Result<PeerReply> Run(const PeerStart& command, const Frame& frame);
  Result<PeerReply> Run(const PeerArena& command, const Frame& frame);
  Result<PeerReply> Run(const PeerLoad& command, const Frame& frame);
  Result<PeerReply> Run(const PeerCheck& command, const Frame& frame);
  Result<PeerReply> Run(const PeerBurst& command, const Frame& frame);
  Result<PeerReply> Run(const PeerExpect& command, const Frame& frame);
  Result<PeerReply> Run(const PeerDraw& command, const Frame& frame);

  Result<MappedRegion> Map(const PeerRegion& region, int descriptor);
  Result<Call> CalleeOf(const std::string& name);
  Result<Call> PreparedPlanCall();
  Status RunCalls(const PeerBurst& burst, BurstPage& page, const Call& call) const;
  Status PrepareCall(std::span<const uint32_t> slots, std::vector<void*>& tensors) const;

  int socket_;
  std::optional<cuda::Context> context_;
  std::vector<cuda::Mapping> mappings_;
  std::vector<MappedRegion> slots_, exact_;
  Task task_;
  Workload workload_;
  ProgramCall program_ = nullptr;
  std::optional<PendingPlan> pending_;  // until the arena says which task it is for
  std::optional<PlanCall> plan_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PROGRAM_SESSION_H_
