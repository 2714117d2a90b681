#include "judge/standalone/standalone.h"

#include <charconv>
#include <cstdio>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include <dlfcn.h>

#include "base/file.h"
#include "core/program_shim.h"
#include "core/resolved_plan.h"
#include "cuda/context.h"
#include "cuda/cupti.h"
#include "cuda/driver.h"
#include "cuda/library.h"
#include "cuda/module.h"
#include "cuda/plan/prepared_plan.h"
#include "cuda/stream.h"
#include "judge/standalone/run_folder.h"

namespace warpsmith::standalone {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostProcesses = 256;
constexpr int64_t kMostOpenFiles = 4096;
constexpr int64_t kMostFileBytes = int64_t{1} << 30;

// The folder that a program is installed in, under every name, unless that is all the system.
void AllowInstallation(const fs::path& program, sandbox::Policy* policy) {
  std::error_code failed;
  const fs::path real = fs::canonical(program, failed);
  for (const fs::path& path : {failed ? program : real, program}) {
    const fs::path root = path.parent_path().parent_path();
    if (!root.is_absolute() || root == "/") continue;
    policy->executable.push_back(root);
  }
}

}  // namespace

sandbox::Policy ConfinedPolicy(const fs::path& dir, const fs::path& out, const fs::path& program) {
  sandbox::Policy policy;
  sandbox::AllowLibraries(&policy);
  sandbox::AllowGpu(&policy);
  const cuda::SearchRoots roots = cuda::RootsFromEnvironment();
  for (const std::string& root : {std::string("/usr/local/cuda"), roots.warpsmith_cuda_home,
                                  roots.cuda_home, roots.build_root}) {
    if (!root.empty() && root != "/") AllowInstallation(root + "/bin/x", &policy);
  }
  AllowInstallation(program, &policy);
  AllowInstallation(ThisExecutable(), &policy);
  policy.executable.emplace_back("/opt/nvidia");  // where the toolkit's packages put Nsight Compute
  policy.executable.insert(policy.executable.end(), {"/usr", "/bin", "/lib", "/lib64"});
  std::error_code failed;
  const fs::path inputs = fs::canonical(dir / "inputs", failed);
  if (!failed) policy.readable.push_back(inputs);
  // CUDA names its threads in /proc, and so it does in what a tool starts, whose entry there is not
  // made yet. Landlock keeps it from other processes' memory, but not from what /proc lets a user
  // set of all that is his: who dies first when memory runs out, say (docs/sandbox.md).
  policy.writable.insert(policy.writable.end(), {dir, out, "/proc"});
  policy.working_folder = out;
  policy.environment = {"CUDA_HOME", "WARPSMITH_CUDA_HOME", "TMPDIR"};
  policy.network = true;  // loopback, in a network of its own where L2 is reached
  policy.allow_processes = true;
  policy.dumpable = true;  // a tool traces what it starts
  policy.limits.processes = kMostProcesses;
  policy.limits.open_files = kMostOpenFiles;
  policy.limits.file_bytes = kMostFileBytes;
  return policy;
}

std::vector<std::string> ConfinedCommand(const std::string& launcher, const fs::path& dir,
                                         const fs::path& out,
                                         const std::vector<std::string>& command) {
  std::vector<std::string> argv = {launcher, std::string(kConfinedSubcommand), dir.string(),
                                   out.string(), "--"};
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

int ConfinedMain(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4 || arguments[2] != "--") {
    return sandbox::Fail(
        {ErrorCode::kUsage, std::string(kConfinedSubcommand) + ": DIR OUT -- COMMAND...", ""});
  }
  const auto entered =
      sandbox::EnterOrRefuse(ConfinedPolicy(arguments[0], arguments[1], arguments[3]));
  if (!entered.ok()) return sandbox::Fail(entered.error());
  return sandbox::Fail(sandbox::Become({arguments.begin() + 3, arguments.end()}));
}

namespace {

// Watches the calls of a stand-alone run through CUPTI.
// Where CUPTI is not there or refuses, nothing is lost but the records: the log says why.
class ActivityTracer {
 public:
  // `stream`: the one that calls work on; null: the default stream.
  explicit ActivityTracer(CUstream_st* stream);

  void CallBegins() { Stamp(&ActivityCall::begin_ns); }
  void CallReturned() { Stamp(&ActivityCall::returned_ns); }
  void DeviceIdle();  // ends the call
  ActivityLog Finish();

 private:
  void Stamp(int64_t ActivityCall::*time);

  ActivityLog log_;
  ActivityCall call_;
  std::optional<cuda::KernelTrace> trace_;
};

ActivityLog Absent(std::string why) {
  ActivityLog log;
  log.absent = std::move(why);
  return log;
}

ActivityTracer::ActivityTracer(CUstream_st* stream) {
  auto trace = cuda::KernelTrace::Start();
  if (!trace.ok()) {
    log_ = Absent(trace.error().Line());
    return;
  }
  trace_.emplace(std::move(trace).value());
  const auto version = cuda::CuptiVersion();
  log_.tracer = version.ok() ? *version : "CUPTI";
  const auto id = cuda::CuptiStreamId(stream);
  log_.stream = id.ok() ? *id : 0;
}

void ActivityTracer::Stamp(int64_t ActivityCall::*time) {
  if (!trace_) return;
  const auto now_ns = cuda::CuptiNowNs();
  if (now_ns.ok()) call_.*time = *now_ns;
}

void ActivityTracer::DeviceIdle() {
  Stamp(&ActivityCall::idle_ns);
  if (trace_) log_.calls.push_back(std::exchange(call_, {}));
}

ActivityLog ActivityTracer::Finish() {
  if (!trace_) return std::move(log_);
  auto records = trace_->Stop();
  trace_.reset();
  if (!records.ok()) return Absent(records.error().Line());
  log_.records = RecordsOf(std::move(records).value());
  return std::move(log_);
}

// The candidate of a stand-alone run as something to call.
// Submits one execution; the caller synchronises.
using Callee = std::function<Status()>;

namespace fs = std::filesystem;

Status CheckArchitecture(const StandaloneJob& job, const cuda::Context& context) {
  const std::string here = cuda::ArchitectureOf(context.device());
  if (job.architecture.empty() || job.architecture == here) return {};
  return Error{ErrorCode::kUnknownDevice,
               "stand-alone run: the image is for " + job.architecture + ", the device is " + here,
               "compile for " + here};
}

Result<Callee> KernelCallee(const StandaloneJob& job, const fs::path& dir,
                            const cuda::Context& context, const cuda::Stream& stream,
                            const Buffers& buffers) {
  const std::string image = TRY(ReadFile(ImagePath(dir)));
  auto module = std::make_shared<const cuda::Module>(TRY(cuda::Module::Load(image)));
  const int sm_count = context.device().sm_count;
  ResolvedPlan plan = TRY(Resolve(job.candidate.plan, job.task, job.workload.sizes, sm_count,
                                  plan::OccupancyOf(*module, sm_count)));
  const auto prepared = TRY(plan::PreparedPlan::Prepare(std::move(plan), module));
  auto bound = std::make_shared<const plan::BoundPlan>(TRY(prepared.Bind(buffers.bindings)));
  return Callee([bound, &stream] { return bound->Execute(stream); });
}

Error LoaderError(const fs::path& path, const char* call) {
  const char* words = dlerror();  // NOLINT(concurrency-mt-unsafe): one thread
  return Error{ErrorCode::kBadInput,
               path.string() + ": " + call + ": " + (words != nullptr ? words : "no reason given"),
               "compile the program again"};
}

Result<Callee> ProgramCallee(const fs::path& dir, const Buffers& buffers) {
  const fs::path path = ImagePath(dir);
  void* library = dlopen(fs::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return LoaderError(path, "dlopen");
  auto* entry = reinterpret_cast<void (*)(void* const*)>(dlsym(library, kProgramEntry));
  if (entry == nullptr) return LoaderError(path, "dlsym");
  std::vector<void*> tensors;
  for (const plan::Binding& binding : buffers.bindings) {
    tensors.push_back(reinterpret_cast<void*>(binding.address));
  }
  return Callee([entry, tensors = std::move(tensors)]() -> Status {
    entry(tensors.data());
    return {};
  });
}

// A `kernel` candidate's plan on plain launches (no graph: tools see every launch), its workspaces
// of exact size too; or a `program` candidate's entry. What the callee refers to must outlive it.
Result<Callee> MakeCallee(const StandaloneJob& job, const fs::path& dir,
                          const cuda::Context& context, const cuda::Stream& stream,
                          const Buffers& buffers) {
  TRY(CheckArchitecture(job, context));
  if (job.candidate.form == Form::kProgram) return ProgramCallee(dir, buffers);
  return KernelCallee(job, dir, context, stream, buffers);
}

Error Usage(const std::string& what) {
  return Error{ErrorCode::kUsage, std::string(kStandaloneSubcommand) + ": " + what,
               "DIR [--runs N] [--profile-window] [--activity FILE] [--gpu UUID]"};
}

Result<int> RunsFrom(const std::string& text) {
  int runs = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, runs);
  if (parsed.ec != std::errc() || parsed.ptr != end || runs < 1 || runs > kMaxStandaloneRuns) {
    return Usage("--runs is '" + text + "', must be from 1 to " +
                 std::to_string(kMaxStandaloneRuns));
  }
  return runs;
}

// Reads the value of the option at `*at`.
Result<std::string> ValueOf(const std::vector<std::string>& arguments, size_t* at) {
  if (*at + 1 >= arguments.size()) return Usage(arguments[*at] + " needs a value");
  return arguments[++*at];
}

// One call and the wait for it, stamped where a tracer watches.
Status CallOnce(const Callee& callee, const cuda::Context& context, ActivityTracer* tracer) {
  if (tracer != nullptr) tracer->CallBegins();
  TRY(callee());
  if (tracer != nullptr) tracer->CallReturned();
  TRY(context.Synchronize());
  if (tracer != nullptr) tracer->DeviceIdle();
  return {};
}

Status CallAll(const StandaloneOptions& options, const Callee& callee, const cuda::Context& context,
               CUstream_st* stream) {
  std::optional<ActivityTracer> tracer;
  if (!options.activity.empty()) tracer.emplace(stream);
  if (options.profile_window) {
    TRY(CallOnce(callee, context, nullptr));
    TRY(cuda::OpenProfilerWindow());
  }
  for (int run = 0; run < options.runs; ++run) {
    TRY(CallOnce(callee, context, tracer ? &*tracer : nullptr));
  }
  if (options.profile_window) TRY(cuda::CloseProfilerWindow());
  if (tracer) TRY(WriteFileAtomic(options.activity, ActivityLogToText(tracer->Finish())));
  return {};
}

}  // namespace

Result<StandaloneOptions> ParseStandaloneOptions(const std::vector<std::string>& arguments) {
  StandaloneOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--runs") {
      options.runs = TRY(RunsFrom(TRY(ValueOf(arguments, &i))));
    } else if (word == "--profile-window") {
      options.profile_window = true;
    } else if (word == "--activity") {
      options.activity = TRY(ValueOf(arguments, &i));
    } else if (word == "--gpu") {
      options.device_uuid = TRY(ValueOf(arguments, &i));
    } else if (!word.starts_with("-") && options.dir.empty()) {
      options.dir = word;
    } else {
      return Usage("unexpected '" + word + "'");
    }
  }
  if (options.dir.empty()) return Usage("no folder was named");
  return options;
}

Status RunStandalone(const StandaloneOptions& options) {
  std::error_code ignored;
  fs::remove(FinishedPath(options.dir), ignored);  // of an earlier run
  const StandaloneJob job = TRY(ReadStandaloneJob(options.dir));
  cuda::UseOnlyDevice(options.device_uuid);
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  const cuda::DeviceProperties device = TRY(driver->FindDevice(options.device_uuid));
  const cuda::Context context = TRY(cuda::Context::Retain(device, cuda::HostWait::kBlock));
  const cuda::Stream stream = TRY(cuda::Stream::Create());
  const Buffers buffers = TRY(MakeBuffers(job, options.dir));
  const Callee callee = TRY(MakeCallee(job, options.dir, context, stream, buffers));
  const bool program = job.candidate.form == Form::kProgram;  // which works on streams of its own
  TRY(CallAll(options, callee, context, program ? nullptr : stream.handle()));
  return WriteFileAtomic(FinishedPath(options.dir), std::to_string(options.runs) + "\n");
}

int StandaloneMain(const std::vector<std::string>& arguments) {
  const Status ran = [&]() -> Status {
    return RunStandalone(TRY(ParseStandaloneOptions(arguments)));
  }();
  return ran.ok() ? 0 : sandbox::Fail(ran.error());
}

}  // namespace warpsmith::standalone
