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
#include "cuda/plan/prepared_plan.h"
#include "cuda/stream.h"
#include "judge/arena_mapping.h"
#include "judge/burst_page.h"
#include "judge/wire.h"
#include "sandbox/sandbox.h"

namespace warpsmith::judge {

// What a program's process may see and do: the sandbox's policy for it.
// Threads, descriptors, the size of a file (a memfd is one, too), private memory: far more than
// CUDA and an honest host program take, far less than would harm the machine.
sandbox::Limits ProgramLimits();

// Patterns of the libraries that compute for others, without those that a task allows ("cublas").
// Where it allows none, of the toolkit only what every program needs is left.
std::vector<std::string> HiddenLibraries(const std::vector<std::string>& allow);
// The files that they match, as looked up in the last minute.
std::vector<std::string> HiddenLibraryFiles(const std::vector<std::string>& allow);

// The hidden subcommand: `warpsmith internal-program <socket>`.
inline constexpr std::string_view kProgramSubcommand = "internal-program";

// Answers commands on the socket until it closes; the process's exit status.
int ProgramMain(int socket);

class ProgramSession {
 public:
  explicit ProgramSession(int socket) : socket_(socket) {}

  Result<Reply> Run(const StartCommand& command, const Frame& frame);
  Result<Reply> Run(const ArenaCommand& command, const Frame& frame);
  Result<Reply> Run(const LoadCommand& command, const Frame& frame);
  Result<Reply> Run(const CheckCommand& command, const Frame& frame);
  Result<Reply> Run(const BurstCommand& command, const Frame& frame);

 private:
  // What the generated shim defines (core/program_shim.h): device addresses in the task's order.
  using ProgramCall = void (*)(void* const* tensors);
  struct LoadedPlan {
    LaunchPlan plan;
    std::string image;
    // Made at the first call, when the arena has said which task the plan is for.
    std::optional<plan::PreparedPlan> prepared = {};
    std::optional<cuda::Stream> stream = {};
  };
  // A callee's call on the tensors' addresses, in the task's order.
  using Call = std::function<Status(const std::vector<void*>& tensors)>;

  Result<Call> CalleeOf(const std::string& name);
  static Result<ProgramCall> LoadLibrary(std::string_view image, const std::string& entry);
  Status PreparePlan();
  Status RunCalls(const BurstCommand& burst, BurstPage& page, const Call& call) const;
  Status PrepareCall(std::span<const uint32_t> slots, std::vector<void*>& tensors) const;

  int socket_;
  std::optional<cuda::Context> context_;
  std::optional<MappedMemory> memory_;
  ProgramCall program_ = nullptr;
  std::optional<LoadedPlan> plan_;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_PROGRAM_SESSION_H_
