#include "suite.h"
#include "base/text.h"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <utility>

#include "base/median.h"
#include "judge/oracle.h"
#include "text_attacks.h"

namespace warpsmith::attacks {
namespace {

constexpr int kTwinJudgements = 3, kSecondLooks = 2;
constexpr char kNotAsked[] = "not-asked";  // the naive judge, where a server judges

bool IsText(Target form) { return form != Target::kKernel && form != Target::kProgram; }

std::string Cell(std::string text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

bool IsNaive(const std::string& word, const std::string& expected) {
  return word == kNotAsked || IsExpected(word, {expected});
}

Row NewRow(const Attack& attack, bool twin, int run) {
  Row row;
  row.attack = attack.name;
  row.form = std::string(Name(attack.form));
  row.twin = twin;
  row.run = run;
  row.expected = twin ? "passed" : Joined(attack.expected, "|");
  return row;
}

std::string RemarkOf(const NaiveVerdict& naive, const OurVerdict& ours) {
  return fmt::format("naive {:.2f} us, ours {} us, ratio {:.3f} {}", naive.us,
                     Joined(ours.us, " ", [](double us) { return fmt::format("{:.2f}", us); }),
                     ours.ratio, ours.detail);
}

}  // namespace

std::string CsvLine(const Row& row) {
  const auto number = [](double value) {
    return value > 0 ? fmt::format("{:.4g}", value) : std::string();
  };
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}", Cell(row.attack), row.form,
                     row.twin ? "yes" : "no", row.run, Cell(row.naive), Cell(row.verdict),
                     Cell(row.expected), row.ok ? "yes" : "no", number(row.us), number(row.twin_us),
                     number(row.band), number(row.ratio), number(row.twin_ratio));
}

double Repeats::middle() const { return Median(values); }

double Repeats::band() const {
  constexpr double kLeast = 0.01;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return std::max(kLeast, 2 * std::log(*most / *least));
}

std::vector<Row> Suite::Judge(const Attack& attack, int run) {
  if (IsText(attack.form)) return {JudgeText(attack, true, run), JudgeText(attack, false, run)};
  const TwinAnswer& honest = AskTwin(attack, run);
  Row twin = NewRow(attack, true, run);
  twin.naive = honest.answer.naive.word;
  twin.verdict = honest.answer.ours.word;
  twin.ok = twin.verdict == "passed" && IsNaive(twin.naive, "passed");
  if (!honest.times.us.empty()) {
    twin.twin_us = twin.us = honest.times.us.front().middle();
    twin.band = honest.times.us.front().band();
  }
  if (!honest.times.ratio.values.empty())
    twin.twin_ratio = twin.ratio = honest.times.ratio.middle();
  twin.remark = RemarkOf(honest.answer.naive, honest.answer.ours);
  const Answer answer = Ask({attack, false, run});
  Row row = NewRow(attack, false, run);
  row.naive = answer.naive.word;
  row.verdict = answer.ours.word;
  row.twin_us = twin.us;
  row.band = twin.band;
  row.twin_ratio = twin.ratio;
  if (row.verdict == "passed") Compare(attack, answer.ours, honest.times, row);
  row.ok = IsNaive(row.naive, attack.naive) && IsExpected(row.verdict, attack.expected);
  row.remark = RemarkOf(answer.naive, answer.ours);
  return {twin, row};
}

// Of equals one in 25 lies below the band of three judgements by chance: what seems faster is judged
// again, in turn with its twin, and the middles are compared.
void Suite::Compare(const Attack& attack, const OurVerdict& passed, Times twin, Row& row) {
  Times own;
  own.Add(passed);
  for (int look = 0; look < kSecondLooks && !twin.us.empty(); ++look) {
    if (look == 0 && IsNoGain(own, twin)) break;
    const OurVerdict honest = AskOursAbout({attack, true, row.run, kTwinJudgements + 1 + look});
    const OurVerdict again = AskOursAbout({attack, false, row.run, 2 + look});
    if (honest.word != "passed" || again.word != "passed") break;
    twin.Add(honest);
    own.Add(again);
  }
  row.verdict += IsNoGain(own, twin) ? ":no-gain" : ":faster";
  if (twin.us.empty() || own.us.empty()) return;
  row.us = own.us.front().middle();
  row.twin_us = twin.us.front().middle();
  row.band = twin.us.front().band();
  if (!own.ratio.values.empty()) row.ratio = own.ratio.middle();
  if (!twin.ratio.values.empty()) row.twin_ratio = twin.ratio.middle();
}

void Suite::Times::Add(const OurVerdict& passed) {
  us.resize(passed.us.size());
  for (size_t mode = 0; mode < us.size(); ++mode) us[mode].values.push_back(passed.us[mode]);
  if (passed.ratio > 0) ratio.values.push_back(passed.ratio);
}

Row Suite::JudgeText(const Attack& attack, bool twin, int run) {
  const TextQuestion question = twin ? TwinQuestion(attack) : AttackQuestion(attack);
  Row row = NewRow(attack, twin, run);
  row.naive = AskNaiveReader(question);
  row.verdict = AskOurReader(question, *bench_.builder.compiler, bench_.builder.architecture);
  row.ok = twin ? row.verdict == "passed" && row.naive == "passed"
                : IsExpected(row.naive, {attack.naive}) && IsExpected(row.verdict, attack.expected);
  return row;
}

const Suite::TwinAnswer& Suite::AskTwin(const Attack& attack, int run) {
  const std::string key =
      fmt::format("{}|{}|{}|{}", attack.twin.string(), attack.twin_task.string(),
                  warpsmith::Name(attack.level), run);
  const auto found = twins_.find(key);
  if (found != twins_.end()) return found->second;
  TwinAnswer twin{Ask({attack, true, run}), {}};
  for (int judgement = 1; twin.answer.ours.word == "passed"; ++judgement) {
    twin.times.Add(twin.answer.ours);
    if (judgement == kTwinJudgements) break;
    twin.answer.ours = AskOursAbout({attack, true, run, judgement + 1});
  }
  return twins_.emplace(key, std::move(twin)).first->second;
}

// In no mode shorter than the twin's own spread explains; nor better by what it does to the baseline.
bool Suite::IsNoGain(const Times& attack, const Times& twin) {
  if (twin.us.empty() || attack.us.size() != twin.us.size()) return false;
  for (size_t mode = 0; mode < twin.us.size(); ++mode) {
    const double gain = std::log(twin.us[mode].middle() / attack.us[mode].middle());
    if (gain > twin.us[mode].band()) return false;
  }
  if (twin.ratio.values.empty()) return true;
  return !attack.ratio.values.empty() &&
         std::log(attack.ratio.middle() / twin.ratio.middle()) <= twin.ratio.band();
}

Result<Candidate> Suite::CandidateOf(const Asked& asked) const {
  Candidate candidate = TRY(LoadCandidate(asked.twin ? asked.attack.twin : asked.attack.attack));
  const bool is_again = asked.run > 1 || asked.judgement > 1;
  if (is_again && !bench_.device->Info().needs_artifacts) {
    candidate.sources[candidate.entry] +=
        fmt::format("\n// run {}, judgement {}\n", asked.run, asked.judgement);
  }
  return candidate;
}

Status Suite::SendAhead(const std::vector<Attack>& attacks, int run) {
  for (const Attack& attack : attacks) {
    for (int judgement = 0; judgement <= kTwinJudgements; ++judgement) {
      const Asked asked{attack, judgement > 0, run, std::max(judgement, 1)};
      const auto loaded = task::LoadTask((asked.twin ? attack.twin_task : attack.task).string());
      const auto candidate = CandidateOf(asked);
      if (!loaded.ok() || !candidate.ok()) continue;  // its row will say so
      TRY(bench_.device->Submit({SuiteJob(*candidate, *loaded, loaded->workload, attack.level)}));
    }
  }
  return {};
}

OurVerdict Suite::AskOursAbout(const Asked& asked) {
  const Attack& attack = asked.attack;
  const auto loaded = task::LoadTask((asked.twin ? attack.twin_task : attack.task).string());
  const auto candidate = CandidateOf(asked);
  if (!loaded.ok()) return {"error: " + loaded.error().Line(), "", {}, 0};
  if (!candidate.ok()) return {"error: " + candidate.error().Line(), "", {}, 0};
  return AskOurs(bench_.builder, *candidate, *loaded, attack.level, *bench_.device);
}

Suite::Answer Suite::Ask(const Asked& asked) {
  const Result<Answer> answer = AskBoth(asked);
  if (answer.ok()) return *answer;
  const std::string word = "error: " + answer.error().Line();
  return {{word, 0}, {word, "", {}, 0}};
}

Result<Suite::Answer> Suite::AskBoth(const Asked& asked) {
  const Attack& attack = asked.attack;
  Answer answer{{kNotAsked, 0}, {}};
  if (bench_.naive_compiler != nullptr) {
    const task::LoadedTask loaded =
        TRY(task::LoadTask((asked.twin ? attack.twin_task : attack.task).string()));
    const Candidate candidate = TRY(LoadCandidate(asked.twin ? attack.twin : attack.attack));
    answer.naive = TRY(AskNaiveAbout(attack, loaded, candidate));
  }
  answer.ours = AskOursAbout(asked);
  return answer;
}

Result<NaiveVerdict> Suite::AskNaiveAbout(const Attack& attack, const task::LoadedTask& loaded,
                                          const Candidate& candidate) {
  const Builder naive{bench_.naive_compiler, bench_.builder.architecture};
  const CompileOutcome built = TRY(Build(naive, candidate, loaded.task, loaded.workload));
  const auto* artifact = std::get_if<Artifact>(&built);
  if (artifact == nullptr) return NaiveVerdict{"compile-failed", 0};
  const Candidate reference = TRY(ReferenceCandidate(loaded.task, bench_.gemm_reference));
  const CompileOutcome compiled =
      TRY(Build(bench_.builder, reference, loaded.task, loaded.workload));
  const auto* reference_artifact = std::get_if<Artifact>(&compiled);
  if (reference_artifact == nullptr) {
    return Error{ErrorCode::kInternal, std::get<CompileFailed>(compiled).log, ""};
  }
  NaiveQuestion question;
  question.task = &loaded.task;
  question.workload = &loaded.workload;
  question.candidate = &candidate;
  question.artifact = artifact;
  question.reference = &reference;
  question.reference_artifact = reference_artifact;
  question.order = attack.reference;
  question.tolerance = attack.naive_tolerance;
  return AskNaive(question);
}

namespace {

// What the judge says before anything runs; "" when it would begin. Programs tell it nothing.
std::string RefusedUnseen(const Attack& attack, bool twin, const CompileOutcome& built) {
  const auto* artifact = std::get_if<Artifact>(&built);
  const auto loaded = task::LoadTask((twin ? attack.twin_task : attack.task).string());
  const auto candidate = LoadCandidate(twin ? attack.twin : attack.attack);
  if (artifact == nullptr || !loaded.ok() || !candidate.ok()) return "";
  const Job job{"",         loaded->task, loaded->workload,
                *candidate, *artifact,    SuiteProtocol(attack.level, candidate->form)};
  const auto outcome = judge::RefuseWithoutDevice(job);
  return outcome ? WordOf(*outcome) : "";
}

}  // namespace

std::vector<Row> Suite::CompileOnly(const Attack& attack) {
  std::vector<Row> rows;
  if (attack.form == Target::kProgram && !bench_.compile_programs) return rows;
  for (const bool twin : {true, false}) {
    Row row = NewRow(attack, twin, 0);
    const auto built = [&]() -> Result<CompileOutcome> {
      const auto loaded = TRY(task::LoadTask((twin ? attack.twin_task : attack.task).string()));
      const Candidate candidate = TRY(LoadCandidate(twin ? attack.twin : attack.attack));
      return Build(bench_.builder, candidate, loaded.task, loaded.workload);
    }();
    const std::string refused = built.ok() ? RefusedUnseen(attack, twin, *built) : "";
    const auto* failed = built.ok() ? std::get_if<CompileFailed>(&*built) : nullptr;
    row.naive = "not-run";
    row.verdict = !built.ok()         ? "error: " + built.error().Line()
                  : failed != nullptr ? "compile-failed"
                  : !refused.empty()  ? refused
                                      : "compiled";
    const bool stands = row.verdict == "compiled";
    row.ok = built.ok() && (stands || (!twin && IsExpected(row.verdict, attack.expected)));
    if (failed != nullptr) row.remark = failed->log;
    rows.push_back(row);
  }
  return rows;
}

void Suite::CompileAhead(const std::vector<Attack>& attacks, int threads) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (size_t at = next++; at < attacks.size(); at = next++) {
        if (!IsText(attacks[at].form)) CompileOnly(attacks[at]);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace warpsmith::attacks
