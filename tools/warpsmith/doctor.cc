#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/build_info.h"
#include "command_tree.h"
#include "commands.h"
#include "compile/toolchain.h"
#include "cuda/cublaslt.h"
#include "cuda/cupti.h"
#include "cuda/driver.h"
#include "cuda/library.h"
#include "cuda/nvml.h"
#include "sandbox/sandbox.h"
#include "search/machine/machine.h"

namespace warpsmith::cli {
namespace {

struct DoctorOptions {
  search::CommonOptions common;
};

// One thing that may be here, what it is for, and what to do where it is not.
struct Prerequisite {
  std::string name, needed_for, found, fix;
  bool here() const { return fix.empty(); }
};

// Without the list of places that were searched: that is for the JSON.
std::string_view Short(std::string_view found) { return found.substr(0, found.find(" (tried ")); }

Prerequisite Found(std::string name, std::string needed_for, const Result<std::string>& found) {
  Prerequisite finding{std::move(name), std::move(needed_for), "", ""};
  if (found.ok()) {
    finding.found = *found;
  } else {
    finding.found = found.error().message;
    finding.fix = found.error().fix.empty() ? "not here" : found.error().fix;
  }
  return finding;
}

Result<std::string> DriverLine() {
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  const auto release = cuda::DriverRelease();
  return "CUDA " + cuda::VersionText(driver->version()) +
         (release.ok() ? ", release " + *release : "");
}

Result<std::string> DeviceLine() {
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  std::string line;
  for (const cuda::DeviceProperties& device : TRY(driver->Devices())) {
    line += (line.empty() ? "" : "; ") + std::to_string(device.ordinal) + ": " + device.name +
            ", " + cuda::ArchitectureOf(device) + ", " + std::to_string(device.sm_count) +
            " SMs, " + device.uuid;
  }
  return line;
}

Result<std::string> ToolchainLine(const char* name) {
  const compile::Toolchain* toolchain = TRY(compile::FindToolchain(name));
  std::string line = toolchain->version + " for sm_";
  for (int architecture : toolchain->architectures) {
    line += (architecture == toolchain->architectures.front() ? "" : ", ") +
            std::to_string(architecture);
  }
  return line;
}

Result<std::string> ToolLine(const char* name) { return TRY(cuda::FindTool(name)).string(); }

// Here at L2 only: a lower level works, and its line says why it is not a higher one.
Result<std::string> SandboxLine() {
  const sandbox::Reached reached = TRY(sandbox::Probe());
  if (reached.level == sandbox::Level::kL2) return sandbox::Describe(reached);
  return Error{ErrorCode::kUnavailable, sandbox::Describe(reached),
               "docs/sandbox.md says what each level stops and how to get the next one"};
}

Result<std::string> RecordingsLine() { return TRY(search::ShippedRecordings()).string(); }

std::vector<Prerequisite> InspectMachine() {
  return {
      Found("NVIDIA driver", "measuring", DriverLine()),
      Found("GPU", "measuring; without one, recorded measurements are replayed", DeviceLine()),
      Found("NVRTC", "compiling candidates", ToolchainLine("nvrtc")),
      Found("nvcc", "candidates that ask for it", ToolchainLine("nvcc")),
      Found("cuBLASLt", "the baselines", cuda::CublasLtVersion()),
      Found("CUPTI", "kernel names and times without counters", cuda::CuptiVersion()),
      Found("cuobjdump", "opcode histograms", ToolLine("cuobjdump")),
      Found("sandbox", "keeping candidates' programs and the compilers in", SandboxLine()),
      Found("recordings", "replaying without a GPU", RecordingsLine()),
  };
}

void PrintJson(const std::vector<Prerequisite>& findings) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Prerequisite& finding : findings) {
    rows.push_back({{"name", finding.name},
                    {"here", finding.here()},
                    {"found", finding.found},
                    {"needed_for", finding.needed_for},
                    {"fix", finding.fix}});
  }
  PrintDocument("doctor", {{"warpsmith", build_info::Version()}, {"findings", rows}});
}

Result<int> RunDoctor(const DoctorOptions& options) {
  const std::vector<Prerequisite> findings = InspectMachine();
  if (options.common.json) {
    PrintJson(findings);
    return 0;
  }
  std::printf("warpsmith %s\n", build_info::VersionText().c_str());
  for (const Prerequisite& finding : findings) {
    std::printf("%-4s %-14s %s\n", finding.here() ? "ok" : "--", finding.name.c_str(),
                std::string(Short(finding.found)).c_str());
    if (!finding.here()) {
      std::printf("     %-14s for %s\n     %-14s %s\n", "", finding.needed_for.c_str(), "",
                  finding.fix.c_str());
    }
  }
  return 0;
}

}  // namespace

void AddDoctor(CLI::App& app, SelectedCommand& chosen) {
  CLI::App* command =
      app.add_subcommand("doctor", "what is here, what works, what to do about the rest");
  Choose(command, chosen, std::make_shared<DoctorOptions>(), RunDoctor);
}

}  // namespace warpsmith::cli
