#include "compile/worker_compiler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/sha256.h"
#include "compile/artifact_cache.h"
#include "compile/flag_rules.h"
#include "compile/nvcc.h"
#include "compile/opcodes.h"
#include "compile/resource_report.h"
#include "compile/toolchain.h"
#include "compile/worker_pool.h"

namespace warpsmith::compile {
namespace {

CompilerOptions Filled(CompilerOptions options) {
  if (options.cache.empty()) options.cache = CacheHome() / "artifacts";
  if (options.worker_command.empty()) {
    options.worker_command = {ThisExecutable().string(), kWorkerSubcommand};
  }
  return options;
}

Limits LimitsOf(const CompilerOptions& options) {
  return {options.wall, options.memory_bytes, options.output_bytes, options.image_bytes};
}

std::string FirstErrorLine(const std::string& log) {
  size_t start = 0;
  while (start < log.size()) {
    const size_t end = std::min(log.find('\n', start), log.size());
    const std::string line = log.substr(start, end - start);
    if (line.find("error") != std::string::npos) return line;
    start = end + 1;
  }
  return "";
}

CompileFailed FailureOf(const Compiled& compiled) {
  CompileFailed failed;
  const std::string first = FirstErrorLine(compiled.log);
  failed.reason = compiled.failure + (first.empty() ? "" : ": " + first);
  failed.log = compiled.log;
  failed.timed_out = compiled.timed_out;
  return failed;
}

// Checked before anything is started: a candidate that cannot be one compilation.
std::optional<CompileFailed> FaultOf(const Candidate& candidate,
                                     const std::vector<std::string>& libraries) {
  if (auto refused = RefusedFlag(candidate.flags, libraries)) {
    return CompileFailed{std::move(*refused), "", false};
  }
  if (!candidate.sources.contains(candidate.entry)) {
    return CompileFailed{"no source is called '" + candidate.entry + "', the entry", "", false};
  }
  if (candidate.form == Form::kProgram && candidate.toolchain != "nvcc") {
    return CompileFailed{"the form 'program' has host code: it needs the toolchain nvcc", "",
                         false};
  }
  return std::nullopt;
}

}  // namespace

class WorkerCompiler::Pool {
 public:
  explicit Pool(const CompilerOptions& options)
      : limits_(LimitsOf(options)),
        count_opcodes_(options.count_opcodes),
        libraries_(options.libraries),
        launcher_(options.worker_command.front()),
        workers_(options.workers, options.worker_command, limits_),
        cache_(options.cache) {}

  Result<CompileOutcome> Compile(const Candidate& candidate, const std::string& architecture) {
    const Toolchain* toolchain = TRY(FindToolchain(candidate.toolchain));
    TRY(CheckArchitecture(*toolchain, architecture));
    if (const auto fault = FaultOf(candidate, libraries_)) return CompileOutcome(*fault);
    const Compilation compilation{candidate.entry, candidate.sources,
                                  CompileFlags(candidate, architecture)};
    const std::string key =
        CacheKey(candidate, compilation.flags, toolchain->identity, architecture);
    if (auto cached = cache_.Find(key)) return *std::move(cached);

    const double start_s = MonotonicSeconds();
    const Compiled compiled = TRY(Run(*toolchain, candidate.form, compilation));
    if (compiled.image.empty()) {
      const CompileOutcome failed = FailureOf(compiled);
      if (compiled.repeatable) TRY(cache_.Store(key, failed));
      return failed;
    }
    Artifact artifact = Describe(compiled);
    artifact.architecture = architecture;
    artifact.toolchain = toolchain->version;
    artifact.compile_ms = (MonotonicSeconds() - start_s) * 1e3;
    CompileOutcome outcome = std::move(artifact);
    TRY(cache_.Store(key, outcome));
    return outcome;
  }

 private:
  Result<Compiled> Run(const Toolchain& toolchain, Form form, const Compilation& compilation) {
    if (toolchain.name == "nvrtc") return workers_.CompileWithNvrtc(compilation);
    return workers_.CompileInPlace(
        [&] { return CompileWithNvcc(launcher_, toolchain.program, compilation, form, limits_); });
  }

  Artifact Describe(const Compiled& compiled) const {
    Artifact artifact;
    artifact.image = compiled.image;
    artifact.image_sha256 = Sha256Hex(compiled.image);
    artifact.log = compiled.log;
    ResourceReport report = ParseResourceReport(compiled.log);
    artifact.kernels = std::move(report.kernels);
    artifact.warnings = std::move(report.warnings);
    if (!compiled.unconfined.empty()) artifact.warnings.push_back(compiled.unconfined);
    artifact.writable_global_bytes = compiled.writable_global_bytes;
    if (count_opcodes_) {
      if (auto opcodes = CountOpcodes(artifact.image); opcodes.ok()) artifact.opcodes = *opcodes;
    }
    return artifact;
  }

  const Limits limits_;
  const bool count_opcodes_;
  const std::vector<std::string> libraries_;
  const std::filesystem::path launcher_;
  WorkerPool workers_;
  ArtifactCache cache_;
};

WorkerCompiler::WorkerCompiler(CompilerOptions options)
    : options_(Filled(std::move(options))), pool_(std::make_unique<Pool>(options_)) {}

WorkerCompiler::~WorkerCompiler() = default;

Result<CompileOutcome> WorkerCompiler::Compile(const Candidate& candidate,
                                               const std::string& architecture) {
  return pool_->Compile(candidate, architecture);
}

}  // namespace warpsmith::compile
