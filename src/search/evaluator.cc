#include "search/evaluator.h"

#include <utility>

#include "base/clock.h"
#include "core/program_shim.h"

namespace warpsmith::search {
namespace {

constexpr std::chrono::milliseconds kNoWait{0};
constexpr std::chrono::milliseconds kShortWait{5};  // while another source may have news, too
constexpr std::chrono::milliseconds kLongWait{100};

}  // namespace

Evaluator::Evaluator(Question question, Compiler* compiler, int compile_threads, Device& device,
                     Store& store)
    : question_(std::move(question)), device_(device), store_(store) {
  if (!device.Info().needs_artifacts) return;
  CHECK(compiler != nullptr);
  const int threads = compile_threads > 0 ? compile_threads : DefaultCompileThreads();
  compilers_ = std::make_unique<CompilePool>(*compiler, device.Info().architecture, threads);
}

std::string Evaluator::KeyOf(const Candidate& candidate) const {
  return MeasurementKey(candidate, question_.task, question_.workload, question_.protocol);
}

Status Evaluator::Begin(const std::string& key, const Candidate& candidate) {
  if (finished_.contains(key) || jobs_.contains(key)) return {};
  if (auto known = TRY(store_.FindVerdict(key, device_.Info().uuid))) {
    known->gpu_seconds = 0;  // paid for by whoever measured it
    Finish(std::move(*known));
    return {};
  }
  jobs_.emplace(key, Job{key, question_.task, question_.workload, candidate, std::nullopt,
                         question_.protocol});
  line_.push_back(key);
  if (compilers_ != nullptr) {
    compilers_->Add(key, TRY(WithProgramShim(candidate, question_.task, question_.workload)));
    ++compiling_;
  }
  return {};
}

Result<bool> Evaluator::SubmitNext() {
  while (!line_.empty() && !jobs_.contains(line_.front())) line_.pop_front();  // did not compile
  if (line_.empty()) return false;
  const auto next = jobs_.find(line_.front());
  if (compilers_ != nullptr && !next->second.artifact.has_value()) return false;
  std::vector<Job> batch;
  batch.push_back(std::move(next->second));
  jobs_.erase(next);
  line_.pop_front();
  TRY(device_.Submit(std::move(batch)));
  ++on_device_;
  return true;
}

Status Evaluator::Wait() {
  if (compiling_ > 0) {
    for (const CompilePool::Done& done :
         compilers_->Collect(on_device_ > 0 ? kNoWait : kLongWait)) {
      --compiling_;
      TRY(Compiled(done.key, done.outcome));
    }
  }
  if (on_device_ > 0) {
    for (Completed& completed : TRY(device_.Collect(compiling_ > 0 ? kShortWait : kLongWait))) {
      --on_device_;
      Finish(std::move(completed));
    }
  }
  return {};
}

std::optional<Completed> Evaluator::Take(const std::string& key) {
  auto found = finished_.extract(key);
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

Status Evaluator::Compiled(const std::string& key, const Result<CompileOutcome>& outcome) {
  if (!outcome.ok()) return outcome.error();
  if (const auto* failure = std::get_if<CompileFailed>(&*outcome)) {
    jobs_.erase(key);
    Finish({key, VerdictOn(*failure), 0});
  } else {
    jobs_.at(key).artifact = std::get<Artifact>(*outcome);
  }
  return {};
}

void Evaluator::Refuse(const std::string& key, const Rejected& refusal) {
  Finish({key, VerdictOn(refusal), 0});
}

// What was found out before the device was asked.
Verdict Evaluator::VerdictOn(Outcome outcome) const {
  const DeviceInfo& device = device_.Info();
  Verdict verdict{std::move(outcome), {}};
  verdict.evidence.device = device.name;
  verdict.evidence.device_uuid = device.uuid;
  verdict.evidence.driver = device.driver;
  verdict.evidence.architecture = device.architecture;
  verdict.evidence.protocol = ProtocolId(question_.protocol);
  verdict.evidence.date = UtcTimestamp();
  return verdict;
}

}  // namespace warpsmith::search
