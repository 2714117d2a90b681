#include "judge/oracle.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>

#include "base/clock.h"
#include "base/phase.h"
#include "core/program_shim.h"
#include "judge/audit/audit.h"
#include "judge/audit/image_rules.h"
#include "judge/kernel_contest.h"
#include "judge/program_contest.h"
#include "judge/reference_stage.h"
#include "judge/resolved_task.h"
#include "judge/torch/torch_process.h"

namespace warpsmith::judge {
namespace {

constexpr unsigned kManyCores = 8;  // an import beside a measurement is not noticed

DeviceInfo InfoOf(const cuda::DeviceProperties& device,
                  const std::optional<cuda::TelemetryReader>& telemetry) {
  DeviceInfo info;
  info.name = device.name;
  info.uuid = device.uuid;
  const Result<std::string> driver = cuda::DriverRelease();
  info.driver = driver.ok() ? driver.value() : "unknown";
  info.architecture = cuda::ArchitectureOf(device);
  info.sm_count = device.sm_count;
  info.max_shared_bytes_per_block = device.max_shared_bytes_per_block;
  info.l2_bytes = device.l2_bytes;
  info.memory_bytes = device.memory_bytes;
  info.max_sm_mhz = telemetry ? telemetry->max_sm_mhz() : device.sm_clock_khz / 1e3;
  const PartRates rates = RatesOf(device.name);
  info.hbm_bytes_per_s =
      rates.hbm_bytes_per_s > 0 ? rates.hbm_bytes_per_s : device.memory_bytes_per_s();
  info.l2_bytes_per_s = rates.l2_bytes_per_s;
  info.tensor_f16_flops = rates.tensor_f16_flops;
  info.origin = "local";
  return info;
}

Evidence EvidenceOf(const Job& job, const DeviceInfo& info) {
  Evidence evidence;
  evidence.device = info.name;
  evidence.device_uuid = info.uuid;
  evidence.driver = info.driver;
  evidence.protocol = ProtocolId(job.protocol);
  evidence.date = UtcTimestamp();
  if (job.artifact) {
    evidence.toolchain = job.artifact->toolchain;
    evidence.architecture = job.artifact->architecture;
    evidence.artifact_sha256 = job.artifact->image_sha256;
    evidence.kernels = job.artifact->kernels;
    evidence.compile_ms = job.artifact->compile_ms;
  }
  return evidence;
}

int64_t BytesIn(const Task& task, const Workload& workload) {
  const Result<int64_t> bytes = CompulsoryBytes(task, workload);
  return bytes.ok() ? *bytes : 0;
}

// Sanitizers are slow: of the task's workloads that the candidate is for, the one with the fewest
// bytes.
Workload SmallestWorkload(const Job& job) {
  Workload smallest = job.workload;
  int64_t fewest = BytesIn(job.task, job.workload);
  for (const Workload& workload : job.task.workloads) {
    const int64_t bytes = BytesIn(job.task, workload);
    const Result<int64_t> valid = job.candidate.plan.valid_when.Evaluate(workload.sizes);
    // A program's sizes are in its shim: it is built for one workload.
    if (job.candidate.form == Form::kProgram || !valid.ok() || *valid == 0) continue;
    if (bytes == 0 || bytes >= fewest) continue;
    fewest = bytes;
    smallest = workload;
  }
  return smallest;
}

bool IsOfTorch(const std::string& baseline) { return baseline.starts_with("torch-"); }

// For the reference, and for the baseline.
size_t TorchProcessesFor(const Task& task) {
  const std::string& kind = task.reference.kind;
  const bool is_compared = std::any_of(task.baselines.begin(), task.baselines.end(), IsOfTorch);
  return (kind == "torch" || kind == "driver" ? 1 : 0) + (is_compared ? 1 : 0);
}

}  // namespace

// What is refused here costs no time on the device, and no code of the candidate has run. The order
// is from the task's form to the compiled image: the first reason is the one that a user reads.
std::optional<Outcome> RefuseWithoutDevice(const Job& job) {
  const auto& forms = job.task.forms;
  if (std::find(forms.begin(), forms.end(), job.candidate.form) == forms.end()) {
    return Rejected{"form", "the task takes no candidates of this form"};
  }
  if (job.protocol.modes.empty()) return Inconclusive{"the protocol names no timing mode"};
  if (!job.artifact) return Inconclusive{"the job came without a compiled artifact"};
  const bool is_program = job.candidate.form == Form::kProgram;
  const bool wall = std::find(job.protocol.modes.begin(), job.protocol.modes.end(), Mode::kWall) !=
                    job.protocol.modes.end();
  if (is_program != wall) {
    return Inconclusive{"programs are timed in mode 'wall', kernels in the others"};
  }
  if (!is_program && job.artifact->writable_global_bytes > 0) {
    return Rejected{"writable-globals",
                    fmt::format("{} bytes of __device__ variables could carry something from one "
                                "call to the next; use a workspace of the plan",
                                job.artifact->writable_global_bytes)};
  }
  if (is_program) return std::nullopt;
  for (const KernelResources& kernel : job.artifact->kernels) {
    if (kernel.stack_bytes <= kMostLocalBytes) continue;
    return Rejected{"local-memory",
                    fmt::format("kernel {} has {} bytes of local memory a thread, which could "
                                "carry something from one call to the next: at most {} can be "
                                "cleared; use a workspace of the plan",
                                kernel.name, kernel.stack_bytes, kMostLocalBytes)};
  }
  return audit::RefuseImage(job.candidate.plan, job.artifact->image);
}

Oracle::Oracle(LocalDeviceOptions options, DeviceInfo info, std::unique_ptr<OracleDevice> device)
    : options_(std::move(options)),
      info_(std::move(info)),
      device_(std::move(device)),
      random_(Random::Secret()),
      stages_(
          *device_, info_, random_,
          [this](const Task& task, const Workload& workload, const ResolvedTask& problem) {
            return StartReference(task, workload, problem);
          },
          [this] { runners_.Drop(); }),
      runners_(options_, info_, random_) {}

ContestContext Oracle::ContextOf(const Job& job, Stage& stage, Evidence& evidence) {
  return {device_.get(), stage.arena.get(), telemetry_ ? &*telemetry_ : nullptr, &info_, &job,
          &random_,      &evidence};
}

Result<std::unique_ptr<Oracle>> Oracle::Open(const LocalDeviceOptions& options,
                                             const cuda::DeviceProperties& gpu) {
  auto device = TRY(OracleDevice::Open(gpu, options.kernels));
  TRY(device->Probe());
  std::optional<cuda::TelemetryReader> telemetry;
  Result<cuda::TelemetryReader> reader = cuda::TelemetryReader::Open(gpu.uuid);
  if (reader.ok()) telemetry.emplace(std::move(reader).value());
  std::unique_ptr<Oracle> oracle(new Oracle(options, InfoOf(gpu, telemetry), std::move(device)));
  oracle->telemetry_ = telemetry;
  return oracle;
}

void Oracle::Expect(const Job& job) {
  if (stages_.Has(job.task, job.workload)) return;
  static_cast<void>(KeepSpareTorch(TorchProcessesFor(job.task)));  // where it fails, Judge says so
}

// An Error here ends the session of the device (local_device.cc opens it again). What concerns only
// this job, the harness included, becomes an outcome of its verdict.
Result<Verdict> Oracle::Judge(const Job& job) {
  const double begin = MonotonicSeconds();
  const Phase whole(Name(job.candidate.form));
  Verdict verdict;
  verdict.evidence = EvidenceOf(job, info_);
  Result<Outcome> outcome = JudgeJob(job, verdict.evidence);
  runners_.DropIfDead();
  // What did not pass may have harmed the device: before the next verdict it must compute again.
  if (!outcome.ok() || !std::holds_alternative<Passed>(*outcome)) TRY(device_->Probe());
  // The next job's runner starts now, while nothing is timed.
  if (job.candidate.form == Form::kKernel) TRY(runners_.Prepare(1));
  if (outcome.ok()) {
    verdict.outcome = std::move(outcome).value();
  } else {
    verdict.outcome = Inconclusive{outcome.error().Line()};
  }
  verdict.evidence.judge_ms = (MonotonicSeconds() - begin) * 1e3;
  return verdict;
}

Result<Outcome> Oracle::JudgeJob(const Job& job, Evidence& evidence) {
  if (auto refused = RefuseWithoutDevice(job)) return *refused;
  const bool is_kernel = job.candidate.form == Form::kKernel;
  // One to use, one spare; they start while the inputs are made.
  if (is_kernel && !runners_.HasCurrent()) TRY(runners_.Prepare(2));
  Stage* stage = TRY(stages_.Of(job.task, job.workload));
  // Others' tasks are judged as they are, and kept out of summaries.
  const bool is_ours = job.task.origin.empty() && job.task.headline;
  if (stage->degenerate && is_ours) {
    return Outcome(Inconclusive{
        fmt::format("the task is degenerate: {} would pass its check (mend it, or say headline = "
                    "false to have it judged and kept out of summaries)",
                    *stage->degenerate)});
  }
  // Audits come last: they are slow, and only what passed needs them.
  Outcome outcome = is_kernel
                        ? TRY(RunKernelContest(ContextOf(job, *stage, evidence), *stage, runners_))
                        : TRY(JudgeProgram(job, *stage, evidence));
  auto* passed = std::get_if<Passed>(&outcome);
  if (passed == nullptr) return outcome;
  if (is_kernel) {
    if (auto failed = TRY(CompareOnTheWall(job, *stage, evidence, *passed))) return *failed;
  }
  evidence.reference = stage->arena->AboutReference();
  passed->correctness.degenerate = stage->degenerate.value_or("");
  return Audit(job, std::move(*passed));
}

// PyTorch and rivals that are programs exist on the wall clock only. So the kernel is called there
// as a program is, in a contest of its own, whose one mode goes before the others in the verdict.
StepResult Oracle::CompareOnTheWall(const Job& job, Stage& stage, Evidence& evidence,
                                    Passed& passed) {
  Job wall = job;
  std::erase_if(wall.task.baselines,
                [&](const std::string& name) { return !IsTimedOnTheWall(job.task, name); });
  if (wall.task.baselines.empty()) return std::optional<Outcome>();
  wall.protocol = job.protocol.For(Form::kProgram);
  Outcome outcome = TRY(JudgeProgram(wall, stage, evidence));
  auto* compared = std::get_if<Passed>(&outcome);
  if (compared == nullptr) return std::optional(std::move(outcome));
  std::vector<ModeTiming>& modes = passed.timings.front().modes;
  modes.insert(modes.begin(), compared->timings.front().modes.front());
  return std::optional<Outcome>();
}

Result<Outcome> Oracle::Audit(const Job& job, Passed passed) {
  const Phase phase("audits");
  audit::AuditRequest request;
  request.task = job.task;
  request.workload = SmallestWorkload(job);
  request.candidate = job.candidate;
  request.artifact = *job.artifact;
  request.level = job.protocol.level;
  request.standalone_argv = options_.standalone_argv;
  request.device_uuid = info_.uuid;
  request.sandboxed = options_.sandboxed;
  audit::AuditOutcome audited = TRY(audit::AuditCandidate(request));
  if (audited.rejected) return Outcome(*std::move(audited.rejected));
  passed.audits = std::move(audited.reports);
  return Outcome(std::move(passed));
}

Result<ProcessOptions> Oracle::TorchPeer() const {
  ProcessOptions options;
  options.argv = TRY(torch::TorchPeerArgv());
  options.start.device_uuid = info_.uuid;
  options.start.sandbox = "L0";  // the task's own code, not a candidate's
  options.host_code = HostCode::kForeign;
  return options;
}

Result<std::unique_ptr<CalledProcess>> Oracle::StartTorch() {
  TRY(KeepSpareTorch(1));
  std::unique_ptr<CalledProcess> torch = std::move(spare_torch_.front());
  spare_torch_.pop_front();
  TRY(torch->Begin(TRY(TorchPeer()).start));
  return torch;
}

Status Oracle::KeepSpareTorch(size_t count) {
  const ProcessOptions options = TRY(TorchPeer());
  while (spare_torch_.size() < count) spare_torch_.push_back(TRY(CalledProcess::Spawn(options)));
  return {};
}

Result<Artifact> Oracle::CompileProgram(const Job& job, const Candidate& candidate) {
  if (options_.compiler == nullptr) {
    return Error{ErrorCode::kInternal, "this judge has no compiler for rivals", ""};
  }
  const Candidate whole = TRY(WithProgramShim(candidate, job.task, job.workload));
  CompileOutcome outcome = TRY(options_.compiler->Compile(whole, info_.architecture));
  if (auto* failed = std::get_if<CompileFailed>(&outcome)) {
    return Error{ErrorCode::kBadInput, "a rival does not compile: " + failed->reason, ""};
  }
  return std::move(std::get<Artifact>(outcome));
}

Result<Outcome> Oracle::JudgeProgram(const Job& job, Stage& stage, Evidence& evidence) {
  // A runner that lives has a context beside the program's, and one that is starting would be seen
  // in the program's times.
  runners_.Drop();
  TRY(runners_.Settle());
  ProgramContext context;
  context.contest = ContextOf(job, stage, evidence);
  context.program.argv = options_.program_argv;
  context.program.start.device_uuid = info_.uuid;
  context.program.start.sandbox = options_.sandboxed ? "L2" : "L0";
  context.program.host_code = HostCode::kForeign;
  context.torch = [this] { return StartTorch(); };
  context.compile = [this, &job](const Candidate& rival) { return CompileProgram(job, rival); };
  context.kept = stage.torch.get();
  return RunProgramContest(context);
}

Result<ModeChoices> Oracle::Choose(const Task& task, const Workload& workload,
                                   const ChoiceRequest& request) {
  if (!runners_.HasCurrent()) TRY(runners_.Prepare(2));
  Stage* stage = TRY(stages_.Of(task, workload));
  if (!stage->arena->problem().gemm) {
    return Error{ErrorCode::kBadInput, "the task is no matrix product: it has no library to choose",
                 ""};
  }
  TRY(runners_.MakeReady(Protocol::Screened(), *stage));
  TRY(stage->arena->RefillGuards());
  TRY(stage->arena->Reassign(random_));
  auto choices = runners_.ChoicesOf(*stage, request);
  runners_.DropIfDead();
  return choices;
}

Result<std::optional<std::string>> Oracle::DegenerateAnswer(const Task& task,
                                                            const Workload& workload) {
  return TRY(stages_.Of(task, workload))->degenerate;
}

Result<std::unique_ptr<ReferenceProcess>> Oracle::StartReference(const Task& task,
                                                                 const Workload& workload,
                                                                 const ResolvedTask& problem) {
  if (problem.gemm) return std::unique_ptr<ReferenceProcess>();
  auto process = std::make_unique<ReferenceProcess>(
      ReferenceProcess{TRY(ReferenceStage::Create(*device_, problem)), nullptr});
  if (task.reference.kind == "cuda") {
    if (options_.compiler == nullptr) {
      return Error{ErrorCode::kInternal, "this judge has no compiler for a cuda reference", ""};
    }
    process->provider = TRY(StartCudaReference(task, workload, process->stage, *options_.compiler,
                                               info_.architecture, runners_.process_options()));
    return process;
  }
  const size_t needed = TorchProcessesFor(task);
  TRY(KeepSpareTorch(needed));
  std::unique_ptr<CalledProcess> torch = TRY(StartTorch());
  // After a second task comes a third: what it needs starts while this one is judged.
  const bool ahead = ++torch_references_ > 1 && std::thread::hardware_concurrency() >= kManyCores;
  if (ahead) TRY(KeepSpareTorch(needed + 1));
  process->provider = TRY(StartPythonReference(std::move(torch), task, workload, process->stage));
  return process;
}

}  // namespace warpsmith::judge
