#include "judge/reference_stage.h"

#include <chrono>
#include <utility>

#include "judge/arena_mapping.h"
#include "judge/resolved_task.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kStepLimit{60};  // a naive kernel on a large problem takes its time
constexpr std::chrono::seconds kReferenceStartLimit{180}, kMapLimit{120}, kComputeLimit{600};
// Nothing secret: the reference is the task's own code, and its answers are not judged by poison.
constexpr uint16_t kReferencePoison = 0x7e01;

Error AsTheTasks(Error error) {
  error.code = ErrorCode::kBadInput;
  return error;
}

class CudaReference : public ReferenceProvider {
 public:
  explicit CudaReference(std::unique_ptr<CalledProcess> runner) : runner_(std::move(runner)) {}

  Status Expect() override {
    const CallResult call =
        runner_->Call(CheckCommand{std::string(kCandidateName), kReferencePoison}, kStepLimit);
    if (std::holds_alternative<Reply>(call)) return {};
    return AsTheTasks(ErrorOfCall(call, "running it"));
  }

  Status Draw(uint64_t) override {
    return Error{ErrorCode::kBadInput, "a cuda reference draws no inputs",
                 "give the task's inputs another generator than 'reference'"};
  }

 private:
  std::unique_ptr<CalledProcess> runner_;
};

Result<std::string> Build(const Task& task, Compiler& compiler, const std::string& architecture) {
  CompileOutcome outcome = TRY(compiler.Compile(ReferenceCandidate(task), architecture));
  if (auto* failed = std::get_if<CompileFailed>(&outcome)) {
    return Error{ErrorCode::kBadInput,
                 "task " + task.name + ": its reference does not compile: " + failed->reason +
                     "\n" + failed->log,
                 ""};
  }
  return std::move(std::get<Artifact>(outcome).image);
}

class PythonReference : public ReferenceProvider {
 public:
  explicit PythonReference(std::unique_ptr<CalledProcess> python) : python_(std::move(python)) {}

  Status Expect() override { return Ask(ExpectCommand{}, "computing the expected outputs"); }
  Status Draw(uint64_t seed) override {
    // The wire's integers are signed, and none is negative.
    return Ask(DrawCommand{static_cast<int64_t>(seed >> 1)}, "drawing the reference's inputs");
  }
  std::string About() const override { return about_; }

 private:
  Status Ask(const Command& command, const char* doing) {
    const CallResult answer = python_->Call(command, kComputeLimit);
    const auto* reply = std::get_if<Reply>(&answer);
    if (reply == nullptr) return ErrorOfCall(answer, doing);
    if (!reply->text.empty()) about_ = reply->text;
    return {};
  }

  std::unique_ptr<CalledProcess> python_;
  std::string about_;  // of the newest answer
};

int64_t ExpectedBytes(const ResolvedTask& problem, size_t role) {
  const TensorInfo& tensor = problem.Tensor(role);
  if (!problem.IsOutput(role)) return tensor.bytes;
  return tensor.elements * ElementBytes(problem.expected[role - problem.inputs.size()]);
}

}  // namespace

Candidate ReferenceCandidate(const Task& task) {
  Candidate candidate;
  candidate.sources = task.reference.sources;
  const auto entry = task.reference.options.find("entry");
  if (entry != task.reference.options.end()) {
    candidate.entry = entry->second;
  } else if (!candidate.sources.empty()) {
    candidate.entry = candidate.sources.begin()->first;
  }
  if (task.reference.plan) candidate.plan = *task.reference.plan;
  return candidate;
}

Result<std::unique_ptr<ReferenceProvider>> StartCudaReference(
    const Task& task, const Workload& workload, const ReferenceStage& stage, Compiler& compiler,
    const std::string& architecture, const ProcessOptions& runner_options) {
  const std::string image = TRY(Build(task, compiler, architecture));
  auto runner = TRY(CalledProcess::Start(runner_options));
  const CallResult mapped =
      TRY(MapStageIn(*runner, stage, ReferenceTask(task), workload, kStepLimit));
  if (!std::holds_alternative<Reply>(mapped)) return ErrorOfCall(mapped, "mapping the reference");
  const LoadCommand load{std::string(kCandidateName), {}, task.reference.plan, 1};
  const CallResult loaded = runner->Call(load, kStepLimit, image);
  if (!std::holds_alternative<Reply>(loaded)) {
    return AsTheTasks(ErrorOfCall(loaded, "task " + task.name + ": loading its reference"));
  }
  return std::unique_ptr<ReferenceProvider>(new CudaReference(std::move(runner)));
}

Result<std::unique_ptr<ReferenceProvider>> StartPythonReference(
    std::unique_ptr<CalledProcess> python, const Task& task, const Workload& workload,
    const ReferenceStage& stage) {
  TRY(python->AwaitReady(kReferenceStartLimit));
  const CallResult mapped =
      TRY(MapStageIn(*python, stage, ReferenceTask(task), workload, kMapLimit));
  if (!std::holds_alternative<Reply>(mapped)) {
    return ErrorOfCall(mapped, "giving the reference its memory");
  }
  return std::unique_ptr<ReferenceProvider>(new PythonReference(std::move(python)));
}

Result<ReferenceStage> ReferenceStage::Create(const OracleDevice& device,
                                              const ResolvedTask& problem) {
  ReferenceStage stage;
  for (size_t role = 0; role < problem.Roles(); ++role) {
    const int64_t bytes = ExpectedBytes(problem, role);
    stage.memory_.push_back(TRY(cuda::PhysicalMemory::Create(
        device.properties(), static_cast<size_t>(PaddedBytes(bytes)))));
    stage.mappings_.push_back(TRY(cuda::Mapping::Map(stage.memory_.back())));
    const cuda::Mapping& mapping = stage.mappings_.back();
    Region region = MakeExactRegion(bytes, static_cast<int64_t>(mapping.bytes()));
    region.base += mapping.address();
    stage.regions_.push_back(region);
  }
  return stage;
}

std::vector<Region> ReferenceStage::regions() const {
  std::vector<Region> relative = regions_;
  for (size_t role = 0; role < relative.size(); ++role) {
    relative[role].base -= mappings_[role].address();
  }
  return relative;
}

std::vector<int64_t> ReferenceStage::mapped_bytes() const {
  std::vector<int64_t> bytes;
  for (const auto& memory : memory_) bytes.push_back(static_cast<int64_t>(memory.bytes()));
  return bytes;
}

Result<std::vector<int>> ReferenceStage::Export() const {
  std::vector<int> descriptors;
  for (const auto& memory : memory_) descriptors.push_back(TRY(memory.Export()));
  return descriptors;
}

}  // namespace warpsmith::judge
