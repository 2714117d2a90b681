#include "search.h"

#include <cstdio>

#include "core/verdict.h"
#include "report/summary.h"

namespace warpsmith::cli {
namespace {

const KernelResources* Largest(const std::vector<KernelResources>& kernels) {
  const KernelResources* largest = nullptr;
  for (const KernelResources& kernel : kernels) {
    if (largest == nullptr || kernel.registers_per_thread > largest->registers_per_thread) {
      largest = &kernel;
    }
  }
  return largest;
}

// Within 80 columns.
void PrintBuilt(const std::string& workload, const Artifact& artifact, const Evidence& recorded) {
  const KernelResources* here = Largest(artifact.kernels);
  std::printf(
      "  %-24s %3d registers, %d spilled, %.0f ms, %s\n", workload.c_str(),
      here == nullptr ? 0 : here->registers_per_thread,
      here == nullptr ? 0 : here->spill_store_bytes, artifact.compile_ms,
      artifact.image_sha256 == recorded.artifact_sha256 ? "as measured" : "unlike the measured");
  std::fflush(stdout);
}

}  // namespace

Status CompileWinners(search::Machine& machine, const std::vector<search::SearchEnd>& ends) {
  int built = 0, failed = 0;
  std::string toolchain;
  std::printf("\nthe winners, built here for %s:\n", machine.info().architecture.c_str());
  for (const search::SearchEnd& end : ends) {
    if (!end.winner) continue;
    const auto outcome =
        machine.compiler().Compile(end.winner->candidate, machine.info().architecture);
    if (!outcome.ok()) {
      std::printf("  not built: %s\n", outcome.error().Line().c_str());
      return {};
    }
    if (const auto* artifact = std::get_if<Artifact>(&*outcome)) {
      PrintBuilt(report::ShapeLabel(end.report), *artifact, end.winner->verdict.evidence);
      toolchain = artifact->toolchain;
      ++built;
    } else {
      std::printf("  %-18s %s\n", report::ShapeLabel(end.report).c_str(),
                  std::get<CompileFailed>(*outcome).reason.c_str());
      ++failed;
    }
  }
  std::printf("%d built by %s, %d failed\n", built, toolchain.c_str(), failed);
  return {};
}

}  // namespace warpsmith::cli
