#include "text_attacks.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/display_text.h"
#include "base/file.h"
#include "base/json_reader.h"
#include "base/subprocess.h"
#include "cuda/library.h"
#include "judge/profile/metrics.h"
#include "judge/profile/ncu_report.h"
#include "judge/resolved_task.h"
#include "judge/statistics.h"
#include "screen.h"
#include "task/task_file.h"
#include "task/toml_text.h"

namespace warpsmith::attacks {
namespace {

constexpr double kLieNs = 1, kTruthNs = 5000;

std::string Passed(bool passed, const std::string& otherwise) {
  return passed ? "passed" : otherwise;
}

std::string Refused(const Error& error) {
  return "refused:" + std::string(Describe(error.code).name);
}

// nvcc on the file where it lies, with the flags of its candidate.toml, as a Makefile would.
std::string NaiveBuild(const std::filesystem::path& folder) {
  const auto nvcc = cuda::FindTool("nvcc");
  const auto json = task::ReadTomlAsJson(folder / "candidate.toml", "");
  if (!nvcc.ok() || !json.ok()) return "error: no nvcc or no candidate.toml";
  const auto scratch = TemporaryDirectory::Create("naive-build");
  if (!scratch.ok()) return "error: no temporary folder";
  const std::filesystem::path entry = (*json)["entry"].get<std::string>();
  std::vector<std::string> argv = {nvcc->string(), "-shared", "-Xcompiler", "-fPIC"};
  for (const auto& flag : json->value("flags", nlohmann::json::array())) argv.push_back(flag);
  argv.insert(argv.end(), {"-o", scratch->path() / "out.so",
                           std::filesystem::absolute(folder / entry).string()});
  const auto outcome = RunProcess(argv, {});
  return Passed(outcome.ok() && outcome->exit_status == 0 && outcome->signal == 0,
                "compile-failed");
}

std::string OurBuild(const std::filesystem::path& folder, Compiler& compiler,
                     const std::string& architecture) {
  const auto candidate = LoadCandidate(folder);
  if (!candidate.ok()) return Refused(candidate.error());
  const auto outcome = compiler.Compile(*candidate, architecture);
  if (!outcome.ok()) return Refused(outcome.error());
  const auto* failed = std::get_if<CompileFailed>(&*outcome);
  if (failed != nullptr && failed->timed_out) return "timed-out:compile";
  return Passed(failed == nullptr, "compile-failed");
}

bool IsCandidate(const std::filesystem::path& file) {
  return file.filename().string().starts_with("candidate");
}

Status LoadWholeTask(const std::filesystem::path& file) {
  const task::LoadedTask loaded = TRY(task::LoadTask(file.string()));
  for (const Workload& workload : task::AllWorkloads(loaded)) {
    TRY(judge::ResolveTask(loaded.task, workload));
  }
  return {};
}

std::string OurTask(const std::filesystem::path& file) {
  const Status loaded =
      IsCandidate(file) ? [&]() -> Status { return TRY(LoadCandidate(file)), Status{}; }()
                        : LoadWholeTask(file);
  return loaded.ok() ? "passed" : Refused(loaded.error());
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

// Lines split at commas, quotes stripped; the last two cells are metric and value.
double NaiveShortestNs(const std::string& text) {
  double shortest = std::numeric_limits<double>::infinity();
  for (const std::string& line : Split(text, '\n')) {
    std::string plain = line;
    std::erase(plain, '"');
    const std::vector<std::string> cells = Split(plain, ',');
    for (size_t i = 0; i + 2 < cells.size(); ++i) {
      if (cells[i] != profile::metric::kTimeNs) continue;
      shortest = std::min(shortest, std::atof(cells[i + 2].c_str()));
    }
  }
  return shortest;
}

double OurShortestNs(const std::string& text) {
  double shortest = std::numeric_limits<double>::infinity();
  const auto report = profile::ReadNcuReport("ncu", text);
  if (!report.ok()) return shortest;
  for (const KernelProfile& kernel : report->kernels) {
    const auto ns = profile::Find(kernel, profile::metric::kTimeNs);
    if (ns) shortest = std::min(shortest, *ns);
  }
  return shortest;
}

// What is shown of a candidate that does not compile: the reason, a line; the compiler's log; and
// behind "wanted: ", in the last line, what a person is to read.
struct Shown {
  CompileFailed failed;
  std::string wanted;
};
Result<Shown> ReadShown(const std::filesystem::path& file) {
  constexpr std::string_view kWanted = "\nwanted: ";
  const std::string text = TRY(ReadFile(file));
  const size_t log = text.find('\n'), wanted = text.rfind(kWanted);
  if (wanted == std::string::npos || wanted < log || text.back() != '\n') {
    return Error{ErrorCode::kBadInput, file.string() + ": no reason, log and wanted line", ""};
  }
  const size_t begin = wanted + kWanted.size();
  return Shown{{text.substr(0, log), text.substr(log + 1, wanted - log), false},
               text.substr(begin, text.size() - begin - 1)};
}

std::string NaiveWords(const CompileFailed& failed) {
  return "mine: does not compile: " + failed.reason + "\n" + failed.log;
}

// As `warpsmith evaluate` prints them.
std::string OurWords(const CompileFailed& failed) {
  return "mine: " + Describe(Outcome(failed)) + "\n" + LinesForTerminal(failed.log);
}

std::string ScreenVerdict(const TextQuestion& question,
                          std::string (*print)(const CompileFailed&)) {
  const auto shown = ReadShown(question.file);
  if (!shown.ok()) return "error: " + shown.error().Line();
  const std::vector<std::string> lines = Screen(print(shown->failed));
  return Passed(
      std::any_of(lines.begin(), lines.end(),
                  [&](const std::string& line) { return line.starts_with(shown->wanted); }),
      "refused:not on the screen");
}

std::string ProfileVerdict(double read_ns, double wanted_ns) {
  return Passed(read_ns == wanted_ns, "refused:" + std::to_string(read_ns) + " ns");
}

// {"baseline_us": [...], "candidate_us": [...]}: one sample of each in every round.
struct Samples {
  ContenderTiming baseline, candidate;
};
Result<Samples> ReadSamples(const std::filesystem::path& file) {
  const nlohmann::json json = TRY(ParseJson(file.string(), TRY(ReadFile(file))));
  const JsonReader root(file.string(), json);
  Samples samples;
  const auto take = [&](std::string_view field, ContenderTiming& timing) -> Status {
    for (const JsonReader& item : TRY(root.At(field).Items())) {
      Sample sample;
      sample.round = static_cast<int>(timing.samples.size());
      sample.us = static_cast<float>(TRY(item.Number()));
      timing.samples.push_back(sample);
    }
    return {};
  };
  TRY(take("baseline_us", samples.baseline));
  TRY(take("candidate_us", samples.candidate));
  return samples;
}

// The mean of ratios: one tiny time in the denominator decides it.
std::string NaiveStatistics(const Samples& samples) {
  double sum = 0;
  const size_t rounds = samples.baseline.samples.size();
  for (size_t i = 0; i < rounds; ++i) {
    sum += samples.baseline.samples[i].us / samples.candidate.samples[i].us;
  }
  return Passed(sum / static_cast<double>(rounds) > 1.05, "refused:slower");
}

std::string OurStatistics(const Samples& samples) {
  const Comparison comparison = judge::Compare(samples.baseline, samples.candidate, 0.99, 0.01);
  return Passed(comparison.finding == Finding::kFaster,
                "refused:" + std::string(warpsmith::Name(comparison.finding)));
}

std::string Statistics(const TextQuestion& question, std::string (*judge)(const Samples&)) {
  const auto samples = ReadSamples(question.file);
  return samples.ok() ? judge(*samples) : "error: " + samples.error().Line();
}

std::string Profile(const TextQuestion& question, double (*shortest_ns)(const std::string&)) {
  const auto text = ReadFile(question.file);
  if (!text.ok()) return "error: " + text.error().Line();
  return ProfileVerdict(shortest_ns(*text), question.wanted_ns);
}

}  // namespace

TextQuestion AttackQuestion(const Attack& attack) { return {attack.form, attack.attack, kLieNs}; }
TextQuestion TwinQuestion(const Attack& attack) { return {attack.form, attack.twin, kTruthNs}; }

std::string AskNaiveReader(const TextQuestion& question) {
  switch (question.form) {
    case Target::kBuild:
      return NaiveBuild(question.file);
    case Target::kTask:  // well-formed TOML is taken at its word
      return Passed(task::ReadTomlAsJson(question.file, "").ok(), "refused");
    case Target::kProfile:
      return Profile(question, NaiveShortestNs);
    case Target::kScreen:
      return ScreenVerdict(question, NaiveWords);
    default:
      return Statistics(question, NaiveStatistics);
  }
}

std::string AskOurReader(const TextQuestion& question, Compiler& compiler,
                         const std::string& architecture) {
  switch (question.form) {
    case Target::kBuild:
      return OurBuild(question.file, compiler, architecture);
    case Target::kTask:
      return OurTask(question.file);
    case Target::kProfile:
      return Profile(question, OurShortestNs);
    case Target::kScreen:
      return ScreenVerdict(question, OurWords);
    default:
      return Statistics(question, OurStatistics);
  }
}

}  // namespace warpsmith::attacks
