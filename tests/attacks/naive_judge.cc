#include "naive_judge.h"

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/subprocess.h"
#include "core/serialize.h"

namespace warpsmith::attacks {
namespace {

constexpr std::chrono::milliseconds kLimit{20'000};
constexpr std::string_view kMark = "\nnaive: ";

Result<nlohmann::json> JobOf(const NaiveQuestion& question, const std::filesystem::path& folder) {
  const std::string image = folder / "image.so", reference_image = folder / "reference.cubin";
  TRY(WriteFileAtomic(image, question.artifact->image));
  TRY(WriteFileAtomic(reference_image, question.reference_artifact->image));
  return nlohmann::json{{"image", image},
                        {"reference_image", reference_image},
                        {"task", ToJson(*question.task)},
                        {"workload", ToJson(*question.workload)},
                        {"candidate", ToJson(*question.candidate)},
                        {"reference", ToJson(*question.reference)},
                        {"order", static_cast<int>(question.order)},
                        {"tolerance", question.tolerance}};
}

NaiveVerdict VerdictFrom(const ProcessOutcome& outcome) {
  const std::string output = "\n" + outcome.output;
  const size_t mark = output.find(kMark);  // whoever printed it
  if (mark == std::string::npos) return {outcome.timed_out ? "timed-out" : "died", 0};
  const size_t begin = mark + kMark.size();
  const std::string line = output.substr(begin, output.find('\n', begin) - begin);
  if (!line.starts_with("passed ")) return {line, 0};
  return {"passed", std::atof(line.c_str() + 7)};
}

Result<NaiveVerdict> Ask(const NaiveQuestion& question) {
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("naive-judge"));
  const nlohmann::json job = TRY(JobOf(question, folder.path()));
  const std::string file = folder.path() / "job.json";
  TRY(WriteFileAtomic(file, job.dump()));
  ProcessLimits limits;
  limits.wall = kLimit;
  limits.output_bytes = int64_t{1} << 30;
  return VerdictFrom(TRY(RunProcess({ThisExecutable().string(), kNaiveSubcommand, file}, limits)));
}

}  // namespace

Result<Candidate> ReferenceCandidate(const Task& task, const std::filesystem::path& gemm) {
  if (task.reference.kind == "gemm") return LoadCandidate(gemm);
  Candidate candidate;
  candidate.sources = task.reference.sources;
  candidate.entry = task.reference.options.at("entry");
  candidate.plan = *task.reference.plan;
  return candidate;
}

NaiveVerdict AskNaive(const NaiveQuestion& question) {
  const Result<NaiveVerdict> verdict = Ask(question);
  if (verdict.ok()) return *verdict;
  return {"error: " + verdict.error().Line(), 0};
}

}  // namespace warpsmith::attacks
