#include "report/suite.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/median.h"
#include "core/serialize.h"
#include "report/summary.h"
#include "report/terminal.h"

namespace warpsmith::report {
namespace {

constexpr double kFastP[] = {0, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10};

// The ratio that counts, or nothing: not passed, not compared, or suspicious.
std::optional<double> RatioOf(const SuiteRow& row) {
  const ModeTiming* timing = FirstTiming(row.verdict);
  if (timing == nullptr || timing->comparisons.empty() || timing->below_roofline)
    return std::nullopt;
  return timing->comparisons.front().ratio;
}

void SummariseRatios(const std::vector<double>& ratios, double confidence, SuiteSummary& summary) {
  if (ratios.empty()) return;
  const Spread spread = SpreadOf(ratios, confidence);
  summary.geomean = spread.geomean;
  summary.interval = spread.interval;
  summary.median = Median(ratios);
  summary.least = *std::min_element(ratios.begin(), ratios.end());
  summary.most = *std::max_element(ratios.begin(), ratios.end());
}

std::vector<Cell> TableRow(const SuiteRow& row) {
  const bool passed = std::holds_alternative<Passed>(row.verdict.outcome);
  std::vector<Cell> cells = {
      {row.task + (row.headline ? "" : " *")},
      {row.candidate},
      {passed ? "passed" : FailureKind(row.verdict.outcome), passed ? Tone::kPlain : Tone::kBad}};
  const ModeTiming* timing = FirstTiming(row.verdict);
  cells.push_back({timing == nullptr ? "" : fmt::format("{:.2f}", timing->candidate.median_us)});
  if (timing == nullptr || timing->comparisons.empty()) {
    cells.resize(7);
    return cells;
  }
  const Comparison& primary = timing->comparisons.front();
  const Tone tone = primary.finding == Finding::kFaster   ? Tone::kGood
                    : primary.finding == Finding::kSlower ? Tone::kBad
                                                          : Tone::kPlain;
  cells.push_back({primary.baseline});
  cells.push_back({fmt::format("{:.3f}", primary.ratio), tone});
  cells.push_back(
      {timing->below_roofline ? "BELOW ITS FLOOR" : std::string(Name(primary.finding)), tone});
  return cells;
}

std::string PercentOf(int part, int whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * part / whole);
}

}  // namespace

const ModeTiming* FirstTiming(const Verdict& verdict) {
  const auto* passed = std::get_if<Passed>(&verdict.outcome);
  if (passed == nullptr || passed->timings.empty() || passed->timings.front().modes.empty()) {
    return nullptr;
  }
  return &passed->timings.front().modes.front();
}

std::string FailureKind(const Outcome& outcome) {
  const std::string name(OutcomeName(outcome));
  if (const auto* rejected = std::get_if<Rejected>(&outcome)) return name + ": " + rejected->rule;
  if (const auto* wrong = std::get_if<Incorrect>(&outcome)) return name + ": " + wrong->detector;
  if (const auto* failed = std::get_if<RunFailed>(&outcome)) return name + ": " + failed->code;
  return name;
}

SuiteSummary SummariseSuite(const std::vector<SuiteRow>& rows, double confidence) {
  SuiteSummary summary;
  std::vector<double> ratios, of_roofline;
  for (const SuiteRow& row : rows) {
    if (!row.headline) {
      ++summary.kept_out;
      continue;
    }
    ++summary.total;
    if (!std::holds_alternative<Passed>(row.verdict.outcome)) {
      ++summary.failures[FailureKind(row.verdict.outcome)];
      continue;
    }
    ++summary.valid;
    const ModeTiming* timing = FirstTiming(row.verdict);
    if (timing == nullptr) continue;
    summary.suspicious += timing->below_roofline ? 1 : 0;
    if (timing->roofline_us > 0 && timing->candidate.median_us > 0 && !timing->below_roofline) {
      of_roofline.push_back(timing->roofline_us / timing->candidate.median_us);
    }
    if (const auto ratio = RatioOf(row)) ratios.push_back(*ratio);
  }
  summary.compared = static_cast<int>(ratios.size());
  SummariseRatios(ratios, confidence, summary);
  for (const double p : kFastP) {
    const auto faster =
        std::count_if(ratios.begin(), ratios.end(), [p](double r) { return r > p; });
    const double share =
        summary.total == 0 ? 0 : static_cast<double>(faster) / static_cast<double>(summary.total);
    summary.fast_p.emplace_back(p, share);
  }
  if (!of_roofline.empty()) summary.median_of_roofline = Median(of_roofline);
  return summary;
}

std::string RenderSuite(const std::vector<SuiteRow>& rows, const SuiteSummary& summary) {
  std::vector<std::vector<Cell>> cells;
  for (const SuiteRow& row : rows) cells.push_back(TableRow(row));
  std::string text = RenderTable({{"task"},
                                  {"candidate"},
                                  {"verdict"},
                                  {"us", Align::kRight},
                                  {"bar"},
                                  {"ratio", Align::kRight},
                                  {"finding"}},
                                 cells, Colour::kNone);
  text += fmt::format("\n{} of {} valid ({})", summary.valid, summary.total,
                      PercentOf(summary.valid, summary.total));
  if (summary.kept_out > 0) text += fmt::format("; {} more (*) kept out", summary.kept_out);
  if (summary.suspicious > 0) text += fmt::format("; {} BELOW THEIR FLOOR", summary.suspicious);
  text += "\n";
  if (summary.compared > 0) {
    text += fmt::format(
        "ratio to the bar over {}: geomean {:.3f} [{:.3f}, {:.3f}], median {:.3f}, least {:.3f}, "
        "most {:.3f}\n",
        summary.compared, summary.geomean, summary.interval.lo, summary.interval.hi, summary.median,
        summary.least, summary.most);
    text += "fast_p:";
    for (const auto& [p, share] : summary.fast_p) text += fmt::format("  {}: {:.3f}", p, share);
    text += "\n";
  }
  if (summary.median_of_roofline) {
    text += fmt::format("median share of the floor's speed: {:.1f} %\n",
                        100 * *summary.median_of_roofline);
  }
  for (const auto& [kind, count] : summary.failures) {
    text += fmt::format("{:5}  {}\n", count, Printable(kind));
  }
  return text;
}

std::string SuiteCsv(const std::vector<SuiteRow>& rows) {
  std::string csv =
      "task,workload,candidate,headline,verdict,reason,mode,candidate_us,gpu_busy_us,bar,bar_us,"
      "bar_gpu_busy_us,ratio,lo,hi,finding,floor_us,below_floor,sandbox,bar_choice,degenerate\n";
  for (const SuiteRow& row : rows) {
    const Outcome& outcome = row.verdict.outcome;
    const bool passed = std::holds_alternative<Passed>(outcome);
    csv += fmt::format("{},{},{},{},{},{},", CsvCell(row.task), CsvCell(row.workload),
                       CsvCell(row.candidate), row.headline ? 1 : 0, OutcomeName(outcome),
                       passed ? "" : CsvCell(Describe(outcome)));
    const ModeTiming* timing = FirstTiming(row.verdict);
    if (timing != nullptr) {
      csv += fmt::format("{},{:.4f},{:.4f},", Name(timing->mode), timing->candidate.median_us,
                         timing->candidate.gpu_busy_us);
    } else {
      csv += ",,,";
    }
    const ContenderTiming* baseline = timing != nullptr ? PrimaryOf(*timing) : nullptr;
    if (baseline != nullptr) {
      const Comparison& primary = timing->comparisons.front();
      csv += fmt::format("{},{:.4f},{:.4f},{:.5f},{:.5f},{:.5f},{},", CsvCell(primary.baseline),
                         baseline->median_us, baseline->gpu_busy_us, primary.ratio,
                         primary.interval.lo, primary.interval.hi, Name(primary.finding));
    } else {
      csv += ",,,,,,,";
    }
    csv += timing == nullptr
               ? ",,"
               : fmt::format("{:.4f},{},", timing->roofline_us, timing->below_roofline ? 1 : 0);
    csv += fmt::format("{},{},{}\n", row.verdict.evidence.sandbox,
                       CsvCell(row.verdict.evidence.baseline_choice),
                       passed ? CsvCell(std::get<Passed>(outcome).correctness.degenerate) : "");
  }
  return csv;
}

std::string SuiteJson(const std::vector<SuiteRow>& rows, const SuiteSummary& summary) {
  nlohmann::json verdicts = nlohmann::json::array();
  for (const SuiteRow& row : rows) {
    verdicts.push_back({{"task", row.task},
                        {"workload", row.workload},
                        {"candidate", row.candidate},
                        {"headline", row.headline},
                        {"verdict", ToJson(row.verdict)}});
  }
  nlohmann::json fast_p = nlohmann::json::array();
  for (const auto& [p, share] : summary.fast_p) fast_p.push_back({{"p", p}, {"share", share}});
  nlohmann::json document{{"schema", "warpsmith.suite"},      {"version", 1},
                          {"total", summary.total},           {"kept_out", summary.kept_out},
                          {"valid", summary.valid},           {"compared", summary.compared},
                          {"suspicious", summary.suspicious}, {"fast_p", fast_p},
                          {"failures", summary.failures},     {"verdicts", verdicts}};
  if (summary.compared > 0) {
    document["ratio"] = {{"geomean", summary.geomean},
                         {"median", summary.median},
                         {"least", summary.least},
                         {"most", summary.most}};
    if (summary.compared > 1) {
      document["ratio"]["interval"] = {summary.interval.lo, summary.interval.hi};
    }
  }
  if (summary.median_of_roofline) document["median_of_floor"] = *summary.median_of_roofline;
  return JsonText(document, 1);
}

}  // namespace warpsmith::report
