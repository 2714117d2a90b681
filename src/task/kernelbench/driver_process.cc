#include "task/kernelbench/driver_process.h"

#include <csignal>
#include <cstring>

#include "base/file.h"
#include "base/subprocess.h"
#include "judge/torch/torch_process.h"

namespace warpsmith::kernelbench {
namespace {

std::string LastLine(const std::string& output) {
  const size_t end = output.find_last_not_of(" \n");
  if (end == output.npos) return "";
  const std::string text = output.substr(0, end + 1);
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

// The answer is a file, because a driver prints what it likes.
Result<std::string> RunDescribe(std::vector<std::string> arguments, const DescribeLimits& limits) {
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("warpsmith-driver"));
  const std::filesystem::path result = folder.path() / "result.json";
  arguments.insert(
      arguments.begin(),
      {TRY(torch::FindPython()), "-c",
       torch::PeerProgram("from warpsmith_driver.describe import main\nmain(sys.argv[1:])\n"),
       result.string()});
  ProcessLimits process;
  process.wall = limits.wall;
  const ProcessOutcome ran =
      TRY(RunProcess(arguments, process, {"TMPDIR=" + folder.path().string()}));
  if (ran.timed_out) {
    return BadInput("compiling and running it did not end within " +
                    std::to_string(limits.wall.count()) + " s");
  }
  if (ran.signal != 0)
    return BadInput(std::string("its main() ends with ") + strsignal(ran.signal));
  std::error_code ignored;
  if (!std::filesystem::exists(result, ignored)) {
    return BadInput("its process ended without an answer (status " +
                    std::to_string(ran.exit_status) + "): " + LastLine(ran.output));
  }
  return ReadFile(result);
}

}  // namespace warpsmith::kernelbench
