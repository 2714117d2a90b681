// The compiler: NVRTC and nvcc in worker processes with limits, behind a content-addressed cache.
#ifndef WARPSMITH_COMPILE_WORKER_COMPILER_H_
#define WARPSMITH_COMPILE_WORKER_COMPILER_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/artifact.h"
#include "core/candidate.h"
#include "core/compiler.h"

namespace warpsmith::compile {

// --- Compile outcomes by content: <root>/<2 hex>/<62 hex>, zstd, written aside and renamed.

// SHA-256 over everything that decides the outcome: sources, entry, form, flags, the toolchain's
// identity, architecture, and the version of what we read out of an image.
std::string CacheKey(const Candidate& candidate, const std::vector<std::string>& flags,
                     const std::string& toolchain_identity, const std::string& architecture);

// Of the cache in the folder `root`. Thread-safe, and safe between processes: an entry is whole or
// absent. Nothing for a missing, damaged or foreign entry: the caller compiles and stores again.
std::optional<CompileOutcome> FindOutcome(const std::filesystem::path& root,
                                          const std::string& key);
Status StoreOutcome(const std::filesystem::path& root, const std::string& key,
                    const CompileOutcome& outcome);

// How the one of Artifact.warnings begins that is of the machine and not of the candidate.
inline constexpr std::string_view kWithoutSandbox = "compiled without a whole sandbox";

// The hidden subcommand that a worker is started as; its only argument is the socket.
inline constexpr char kWorkerSubcommand[] = "internal-compile-worker";

// A worker's whole life: enters a sandbox, then serves requests on `socket` until it closes.
// Returns the exit status.
int CompileWorkerMain(int socket);

// The hidden subcommand that nvcc is started through, and its life: locks itself in, so that the
// second argument, a program, with what follows works on the first, a folder, and nowhere else.
inline constexpr char kNvccSubcommand[] = "internal-nvcc";
int NvccMain(const std::vector<std::string>& arguments);

// For a person: the reason, and below it the log's next error lines, four at most.
std::string ErrorsOf(const CompileFailed& failed);

struct CompilerOptions {
  int workers = 1;
  std::chrono::milliseconds wall{60'000};    // one compilation
  int64_t memory_bytes = int64_t{4} << 30;   // a worker's address space for data
  int64_t output_bytes = int64_t{1} << 20;   // of the log; more is cut and said
  int64_t image_bytes = int64_t{256} << 20;  // of the cubin or shared library
  std::filesystem::path cache;               // a folder; empty: CacheHome()/artifacts
  std::vector<std::string> worker_command;   // empty: this program's kWorkerSubcommand
  std::vector<std::string> libraries;        // that candidates may link: "cublas" for -lcublas
  // Fills Artifact.opcodes where a disassembler is here; ~0.1 s more for each compilation.
  bool count_opcodes = false;
};

// Workers are started at the first compilation that the cache cannot answer, and kept. A worker
// that dies or runs over a limit is replaced. Thread-safe: as many compilations at once as workers.
class WorkerCompiler : public Compiler {
 public:
  explicit WorkerCompiler(CompilerOptions options = {});
  ~WorkerCompiler() override;

  // kUnavailable when the toolchain is missing; kBadInput for an unknown toolchain or architecture.
  Result<CompileOutcome> Compile(const Candidate& candidate,
                                 const std::string& architecture) override;

 private:
  class Pool;
  const CompilerOptions options_;
  std::unique_ptr<Pool> pool_;
};

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_WORKER_COMPILER_H_
