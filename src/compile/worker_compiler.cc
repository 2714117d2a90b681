#include "compile/worker_compiler.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

#include <poll.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/compression.h"
#include "base/file.h"
#include "base/frame.h"
#include "base/interrupt.h"
#include "base/json_reader.h"
#include "base/sha256.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "compile/compilation.h"
#include "compile/cubin.h"
#include "compile/flag_rules.h"
#include "compile/nvcc.h"
#include "compile/opcodes.h"
#include "compile/toolchain.h"
#include "core/serialize.h"

namespace warpsmith::compile {
namespace {

// Raised when an entry's format, or what we read out of images and logs, changes.
constexpr char kEntryVersion[] = "warpsmith artifact 2";
constexpr int kCompressionLevel = 3;  // entries are read back within a few ms and rarely kept long
constexpr size_t kEntryBytes = size_t{1} << 30;

// An entry is Pack({version, key, "artifact", JSON, image}) or Pack({version, key, "failed",
// reason, log}).
std::vector<std::string> ItemsOf(const std::string& key, const CompileOutcome& outcome) {
  if (const auto* failed = std::get_if<CompileFailed>(&outcome)) {
    return {kEntryVersion, key, "failed", failed->reason, failed->log};
  }
  const auto& artifact = std::get<Artifact>(outcome);
  return {kEntryVersion, key, "artifact", JsonText(ToJson(artifact)), artifact.image};
}

Result<CompileOutcome> ReadArtifact(const std::string& json_text, std::string image) {
  const nlohmann::json json = TRY(ParseJson("cached artifact", json_text));
  Artifact artifact = TRY(ArtifactFrom(JsonReader("cached artifact", json)));
  artifact.image = std::move(image);
  artifact.from_cache = true;
  if (Sha256Hex(artifact.image) != artifact.image_sha256) {
    return Error{ErrorCode::kBadInput, "cached artifact: the image is not the one described", ""};
  }
  return CompileOutcome(std::move(artifact));
}

Result<CompileOutcome> ReadEntry(const std::filesystem::path& path, const std::string& key) {
  const std::string bytes = TRY(ReadFile(path));
  const std::string packed = TRY(Decompress(path.string(), bytes, kEntryBytes));
  std::vector<std::string> items = TRY(Unpack(path.string(), packed));
  if (items.size() != 5 || items[0] != kEntryVersion || items[1] != key) {
    return Error{ErrorCode::kVersion, path.string() + ": not this key's entry", ""};
  }
  if (items[2] == "failed") {
    return CompileOutcome(CompileFailed{std::move(items[3]), std::move(items[4]), false});
  }
  return ReadArtifact(items[3], std::move(items[4]));
}

}  // namespace

std::string CacheKey(const Candidate& candidate, const std::vector<std::string>& flags,
                     const std::string& toolchain_identity, const std::string& architecture) {
  // What the compiler is given, and nothing else: candidates that differ in plan or provenance
  // alone share an image. The number of flags keeps flags and sources apart.
  std::vector<std::string> items = {kEntryVersion,   toolchain_identity,
                                    architecture,    std::string(Name(candidate.form)),
                                    candidate.entry, std::to_string(flags.size())};
  items.insert(items.end(), flags.begin(), flags.end());
  for (const auto& [path, text] : candidate.sources) {
    items.push_back(path);
    items.push_back(text);
  }
  return Sha256Hex(Pack(items));
}

std::optional<CompileOutcome> FindOutcome(const std::filesystem::path& root,
                                          const std::string& key) {
  auto outcome = ReadEntry(EntryPath(root, key), key);
  if (!outcome.ok()) return std::nullopt;
  return std::move(outcome).value();
}

Status StoreOutcome(const std::filesystem::path& root, const std::string& key,
                    const CompileOutcome& outcome) {
  const std::filesystem::path path = EntryPath(root, key);
  TRY(CreateDirectories(path.parent_path()));
  return WriteFileAtomic(path, Compress(Pack(ItemsOf(key, outcome)), kCompressionLevel));
}

// Compile workers, started when they are first needed and replaced when they die. Thread-safe. At
// most `workers` compilations at once, by whichever compiler; others wait.
class WorkerPool {
 public:
  WorkerPool(int workers, std::vector<std::string> command, Limits limits);

  // NVRTC in a worker process, which is killed at a limit.
  Result<Compiled> CompileWithNvrtc(const Compilation& compilation);
  // `compile` in this thread, holding a worker's place: for nvcc, which is a process already.
  Result<Compiled> CompileInPlace(const std::function<Result<Compiled>()>& compile);

 private:
  // One place of the pool, taken for as long as this lives.
  class Place {
   public:
    explicit Place(WorkerPool* pool);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    std::optional<ChildProcess> worker;  // an idle one, or none yet

   private:
    WorkerPool* pool_;
  };

  Status StartWorker(Place* place) const;
  Result<Compiled> Await(Place* place) const;

  const std::vector<std::string> command_;
  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable place_is_free_;
  int free_places_;
  std::vector<ChildProcess> idle_;
};

namespace {

constexpr int kInterruptTickMs = 100;
constexpr int64_t kNsPerMs = 1'000'000;

// A worker that has begun to answer needs no more than this for the rest.
constexpr std::chrono::seconds kReplyPatience{10};

// No compiler writes a file here, so a flag that names one (a trace, a dependency list) fails.
constexpr int64_t kNoFiles = 1;

Compiled TimedOut(std::chrono::milliseconds wall) {
  Compiled compiled;
  compiled.failure = "no result within " + std::to_string(wall.count()) + " ms";
  compiled.timed_out = true;
  compiled.repeatable = false;
  return compiled;
}

Compiled Died(int64_t memory_bytes) {
  Compiled compiled;
  compiled.failure = "the compiler died, most likely at the memory limit of " +
                     std::to_string(memory_bytes >> 20) + " MiB";
  compiled.repeatable = false;
  return compiled;
}

ProcessLimits WorkerLimits([[maybe_unused]] const Limits& limits) {
  ProcessLimits process;
#ifndef __SANITIZE_ADDRESS__  // whose shadow memory takes terabytes of addresses
  process.address_space_bytes = limits.memory_bytes;
#endif
  process.file_bytes = kNoFiles;
  return process;
}

enum class Wait : uint8_t { kReady, kTimeout, kInterrupted };

Wait WaitReadable(int socket, std::chrono::milliseconds limit) {
  const int64_t deadline_ns = MonotonicNs() + limit.count() * kNsPerMs;
  while (true) {
    if (Interrupted()) return Wait::kInterrupted;
    const int64_t left_ms = (deadline_ns - MonotonicNs()) / kNsPerMs;
    pollfd watched{socket, POLLIN, 0};
    const int tick_ms = static_cast<int>(std::clamp<int64_t>(left_ms, 0, kInterruptTickMs));
    if (poll(&watched, 1, tick_ms) > 0) return Wait::kReady;
    if (left_ms <= 0) return Wait::kTimeout;
  }
}

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

std::vector<std::string> ErrorLines(const std::string& log) {
  std::vector<std::string> lines;
  for (const std::string_view line : Split(log, '\n')) {
    const bool counts = line.find("detected in the compilation") != line.npos;
    if (line.find("error") != line.npos && !counts) lines.emplace_back(line);
  }
  return lines;
}

CompileFailed FailureOf(const Compiled& compiled) {
  CompileFailed failed;
  const std::vector<std::string> lines = ErrorLines(compiled.log);
  failed.reason = compiled.failure + (lines.empty() ? "" : ": " + lines.front());
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

std::string ErrorsOf(const CompileFailed& failed) {
  constexpr size_t kMost = 5;  // the first stands in the reason
  const std::vector<std::string> lines = ErrorLines(failed.log);
  std::string text = failed.reason;
  for (size_t i = 1; i < std::min(lines.size(), kMost); ++i) text += "\n  " + lines[i];
  if (lines.size() > kMost) text += "\n  " + std::to_string(lines.size() - kMost) + " errors more";
  return text;
}

WorkerPool::WorkerPool(int workers, std::vector<std::string> command, Limits limits)
    : command_(std::move(command)), limits_(limits), free_places_(std::max(workers, 1)) {}

WorkerPool::Place::Place(WorkerPool* pool) : pool_(pool) {
  std::unique_lock lock(pool_->mutex_);
  pool_->place_is_free_.wait(lock, [&] { return pool_->free_places_ > 0; });
  --pool_->free_places_;
  if (pool_->idle_.empty()) return;
  worker.emplace(std::move(pool_->idle_.back()));
  pool_->idle_.pop_back();
}

WorkerPool::Place::~Place() {
  {
    const std::lock_guard lock(pool_->mutex_);
    ++pool_->free_places_;
    if (worker) pool_->idle_.push_back(std::move(*worker));
  }
  pool_->place_is_free_.notify_one();
}

Status WorkerPool::StartWorker(Place* place) const {
  if (place->worker && place->worker->Running()) return {};
  place->worker.reset();
  place->worker.emplace(TRY(ChildProcess::Start(command_, WorkerLimits(limits_))));
  return {};
}

Result<Compiled> WorkerPool::CompileWithNvrtc(const Compilation& compilation) {
  Place place(this);
  TRY(StartWorker(&place));
  const Status sent =
      SendFrame(place.worker->socket(), R"({"compile":1})", PackCompilation(compilation, limits_));
  auto compiled = sent.ok() ? Await(&place) : Result<Compiled>(Died(limits_.memory_bytes));
  // Whatever kept it from answering, it is not used again.
  if (!compiled.ok() || !compiled->repeatable) place.worker.reset();
  return compiled;
}

Result<Compiled> WorkerPool::Await(Place* place) const {
  const int socket = place->worker->socket();
  switch (WaitReadable(socket, limits_.wall)) {
    case Wait::kReady:
      break;
    case Wait::kTimeout:
      return TimedOut(limits_.wall);
    case Wait::kInterrupted:
      return Error{ErrorCode::kInterrupted, "stopped while compiling", ""};
  }
  const auto reply = ReceiveFrame(socket, kReplyPatience);
  if (!reply.ok()) return Died(limits_.memory_bytes);
  if (reply->header == R"({"compiled":1})") return UnpackCompiled(reply->payload);
  return Error{ErrorCode::kUnavailable, "compile worker: " + reply->payload, ""};
}

Result<Compiled> WorkerPool::CompileInPlace(const std::function<Result<Compiled>()>& compile) {
  const Place place(this);
  return compile();
}

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
    if (auto cached = FindOutcome(cache_, key)) return *std::move(cached);

    const double start_s = MonotonicSeconds();
    const Compiled compiled = TRY(Run(*toolchain, candidate.form, compilation));
    if (compiled.image.empty()) {
      const CompileOutcome failed = FailureOf(compiled);
      // A time-out, or a death at the memory limit, may not come again. Only what the compiler
      // decided itself is kept.
      if (compiled.repeatable) TRY(StoreOutcome(cache_, key, failed));
      return failed;
    }
    Artifact artifact = Describe(compiled);
    artifact.architecture = architecture;
    artifact.toolchain = toolchain->version;
    artifact.compile_ms = (MonotonicSeconds() - start_s) * 1e3;
    CompileOutcome outcome = std::move(artifact);
    TRY(StoreOutcome(cache_, key, outcome));
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
  const std::filesystem::path cache_;
};

WorkerCompiler::WorkerCompiler(CompilerOptions options)
    : options_(Filled(std::move(options))), pool_(std::make_unique<Pool>(options_)) {}

WorkerCompiler::~WorkerCompiler() = default;

Result<CompileOutcome> WorkerCompiler::Compile(const Candidate& candidate,
                                               const std::string& architecture) {
  return pool_->Compile(candidate, architecture);
}

}  // namespace warpsmith::compile
