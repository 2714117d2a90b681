#include "compile/toolchain.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>

#include "base/subprocess.h"
#include "core/device.h"
#include "cuda/driver.h"
#include "cuda/library.h"
#include "cuda/nvrtc.h"

namespace warpsmith::compile {
namespace {

Result<std::string> OutputOf(const std::filesystem::path& program, const std::string& flag) {
  const ProcessOutcome outcome = TRY(RunProcess({program.string(), flag}, {}));
  if (outcome.exit_status == 0 && outcome.signal == 0 && !outcome.timed_out) return outcome.output;
  return Error{ErrorCode::kUnavailable,
               program.string() + " " + flag + " failed: " + outcome.output,
               "repair the CUDA toolkit, or set CUDA_HOME to another"};
}

Result<Toolchain> FindNvrtc() {
  const cuda::Nvrtc* nvrtc = TRY(cuda::Nvrtc::Open());
  Toolchain toolchain;
  toolchain.name = "nvrtc";
  toolchain.version = "nvrtc " + cuda::VersionText(nvrtc->version());
  toolchain.architectures = nvrtc->architectures();
  // The API does not tell the patch level; another build of the library is another size.
  std::error_code unknown;
  const auto bytes = std::filesystem::file_size(nvrtc->path(), unknown);
  toolchain.identity = toolchain.version + (unknown ? "" : " " + std::to_string(bytes));
  return toolchain;
}

// "Cuda compilation tools, release 13.0, V13.0.88" -> "13.0.88"
std::string NvccVersion(const std::string& output) {
  const size_t start = output.rfind(", V");
  if (start == std::string::npos) return "unknown";
  return output.substr(start + 3, output.find_first_not_of("0123456789.", start + 3) - start - 3);
}

std::vector<int> ListedArchitectures(const std::string& output) {
  std::vector<int> architectures;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    int number = 0;
    if (!line.starts_with("sm_")) continue;
    const char* end = line.data() + line.size();
    if (std::from_chars(line.data() + 3, end, number).ec != std::errc()) continue;
    if (std::find(architectures.begin(), architectures.end(), number) == architectures.end()) {
      architectures.push_back(number);
    }
  }
  return architectures;
}

Result<Toolchain> FindNvcc() {
  Toolchain toolchain;
  toolchain.name = "nvcc";
  toolchain.program = TRY(cuda::FindTool("nvcc"));
  toolchain.version = "nvcc " + NvccVersion(TRY(OutputOf(toolchain.program, "--version")));
  toolchain.identity = toolchain.version;
  toolchain.architectures =
      ListedArchitectures(TRY(OutputOf(toolchain.program, "--list-gpu-code")));
  return toolchain;
}

Result<const Toolchain*> Kept(const Result<Toolchain>& found) {
  if (!found.ok()) return found.error();
  return &*found;
}

}  // namespace

Result<const Toolchain*> FindToolchain(std::string_view name) {
  if (name == "nvrtc") {
    static const Result<Toolchain> nvrtc = FindNvrtc();
    return Kept(nvrtc);
  }
  if (name == "nvcc") {
    static const Result<Toolchain> nvcc = FindNvcc();
    return Kept(nvcc);
  }
  return Error{ErrorCode::kBadInput, "toolchain '" + std::string(name) + "' is unknown",
               "use nvrtc or nvcc"};
}

Status CheckArchitecture(const Toolchain& toolchain, std::string_view architecture) {
  const int number = ArchitectureNumber(architecture);
  const std::vector<int>& known = toolchain.architectures;
  if (number != 0 && std::find(known.begin(), known.end(), number) != known.end()) return {};
  std::string list;
  for (const int one : known) list += (list.empty() ? "sm_" : ", sm_") + std::to_string(one);
  return Error{ErrorCode::kBadInput,
               toolchain.version + " cannot compile for '" + std::string(architecture) +
                   "'; it knows: " + list,
               "use one of these, with 'a' where the device has specific instructions (sm_90a)"};
}

namespace {

// Of a whole program nvcc makes code for sm_90, too, where it is told --gpu-architecture=sm_90a,
// and fails at what sm_90a alone has.
std::string ArchitectureFlag(Form form, const std::string& architecture) {
  if (form == Form::kKernel) return "--gpu-architecture=" + architecture;
  return "-gencode=arch=compute_" + architecture.substr(architecture.find('_') + 1) +
         ",code=" + architecture;
}

}  // namespace

std::vector<std::string> CompileFlags(const Candidate& candidate, std::string_view architecture) {
  std::vector<std::string> flags = {ArchitectureFlag(candidate.form, std::string(architecture)),
                                    "-std=c++17", "--ptxas-options=-v"};
  if (candidate.toolchain == "nvrtc") flags.emplace_back("-default-device");
  flags.insert(flags.end(), candidate.flags.begin(), candidate.flags.end());
  return flags;
}

}  // namespace warpsmith::compile
