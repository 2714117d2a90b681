#include "judge/references.h"

#include <chrono>
#include <utility>

#include "judge/arena_mapping.h"
#include "judge/problem.h"

namespace warpsmith::judge {
namespace {

constexpr std::chrono::seconds kStepLimit{60};  // a naive kernel on a large problem takes its time
constexpr std::chrono::seconds kReferenceStartLimit{180}, kMapLimit{120}, kComputeLimit{600};
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

}  // namespace warpsmith::judge
