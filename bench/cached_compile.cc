// How long a compilation takes that the cache can answer: the bound is 5 ms.
#include <benchmark/benchmark.h>

#include <utility>
#include <variant>

#include "base/file.h"
#include "compile/worker_compiler.h"
#include "core/candidate.h"

namespace warpsmith {
namespace {

// About as much machine code as a GEMM kernel with a fully unrolled main loop.
Candidate LargeKernel() {
  Candidate candidate;
  candidate.entry = "large.cu";
  std::string body;
  for (int i = 0; i < 4000; ++i) {
    body += "  a[i * " + std::to_string(i) + "] = b[i] * " + std::to_string(i) + ".5f + a[i];\n";
  }
  candidate.sources["large.cu"] =
      "extern \"C\" __global__ void large(float* a, const float* b, int i) {\n" + body + "}\n";
  return candidate;
}

// The command line tool beside this program serves as the worker.
compile::CompilerOptions Options(const TemporaryDirectory& folder) {
  compile::CompilerOptions options;
  options.cache = folder.path();
  options.worker_command = {(ThisExecutable().parent_path() / "warpsmith").string(),
                            compile::kWorkerSubcommand};
  return options;
}

void CachedCompile(benchmark::State& state) {
  const TemporaryDirectory folder =
      std::move(TemporaryDirectory::Create("warpsmith-bench")).value();
  compile::WorkerCompiler compiler(Options(folder));
  const Candidate candidate = LargeKernel();
  const auto first = compiler.Compile(candidate, "sm_90a");
  if (!first.ok() || !std::holds_alternative<Artifact>(*first)) {
    state.SkipWithError(first.ok() ? std::get<CompileFailed>(*first).reason.c_str()
                                   : first.error().message.c_str());
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(compiler.Compile(candidate, "sm_90a"));
  state.counters["image_bytes"] = static_cast<double>(std::get<Artifact>(*first).image.size());
}
BENCHMARK(CachedCompile)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace warpsmith
