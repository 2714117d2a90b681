#include "judge/profile/bottleneck.h"

#include <algorithm>
#include <numeric>

#include "judge/profile/metrics.h"
#include "judge/profile/reading.h"

namespace warpsmith::profile {
namespace {

constexpr double kNamed = 0.1;  // what weighs less is not worth a name

// Times as shares of the whole. Where one is missing they mean nothing: all kernels weigh the same.
void TakeKernels(const Profile& profile, BottleneckReport* report) {
  bool all_timed = !profile.kernels.empty();
  double total_us = 0;
  for (const KernelProfile& kernel : profile.kernels) {
    KernelShare share{kernel.kernel, {}, Find(kernel, metric::kCycles), 0};
    const auto time_ns = Find(kernel, metric::kTimeNs);
    if (time_ns && *time_ns > 0) share.time_us = *time_ns / 1e3;
    all_timed = all_timed && share.time_us;
    total_us += share.time_us.value_or(0);
    report->kernels.push_back(std::move(share));
  }
  const auto count = static_cast<double>(profile.kernels.size());
  for (KernelShare& share : report->kernels) {
    share.share = all_timed ? *share.time_us / total_us : 1 / count;
  }
  if (all_timed) report->profiled_us = total_us;
}

// Indices, the longest kernel first.
std::vector<size_t> BySize(const std::vector<KernelShare>& kernels) {
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t left, size_t right) {
    return kernels[left].share > kernels[right].share;
  });
  return order;
}

std::vector<Statement> StatementsOf(const Reading& reading, size_t kernel) {
  std::vector<Statement> found;
  for (const Rule rule : {ThroughputRules, AccessRules, LatencyRules, ShapeRules}) {
    rule(reading, &found);
  }
  for (Statement& statement : found) {
    statement.kernel = kernel;
    statement.weight = std::clamp(statement.weight, 0.0, 1.0);  // counters may say anything
  }
  std::stable_sort(found.begin(), found.end(), [](const Statement& left, const Statement& right) {
    return left.weight > right.weight;
  });
  return found;
}

// Of several statements about one bottleneck of one kernel the heaviest counts.
void Rank(const std::vector<Statement>& statements, double share, std::vector<Ranked>* ranking) {
  std::vector<Bottleneck> counted;
  for (const Statement& statement : statements) {  // heaviest first
    if (std::find(counted.begin(), counted.end(), statement.bottleneck) != counted.end()) continue;
    counted.push_back(statement.bottleneck);
    const auto same = [&](const Ranked& one) { return one.bottleneck == statement.bottleneck; };
    auto known = std::find_if(ranking->begin(), ranking->end(), same);
    if (known == ranking->end()) known = ranking->insert(known, {statement.bottleneck, 0});
    known->weight += share * statement.weight;
  }
}

void Name(BottleneckReport* report) {
  std::stable_sort(report->ranking.begin(), report->ranking.end(),
                   [](const Ranked& left, const Ranked& right) {
                     return left.weight != right.weight ? left.weight > right.weight
                                                        : left.bottleneck < right.bottleneck;
                   });
  const std::vector<Ranked>& ranking = report->ranking;
  if (!ranking.empty() && ranking[0].weight >= kNamed) report->primary = ranking[0];
  if (ranking.size() > 1 && ranking[1].weight >= kNamed) report->secondary = ranking[1];
}

std::vector<std::string> MissingFrom(const Profile& profile) {
  std::vector<std::string> missing;
  for (const std::string& name : CounterSet("")) {
    const auto has = [&](const KernelProfile& kernel) { return Find(kernel, name).has_value(); };
    if (std::none_of(profile.kernels.begin(), profile.kernels.end(), has)) missing.push_back(name);
  }
  return missing;
}

}  // namespace

BottleneckReport Diagnose(const Profile& profile, const ProblemFacts& facts) {
  BottleneckReport report;
  report.source = profile.source;
  report.roofline_us = facts.roofline_us;
  TakeKernels(profile, &report);
  report.measured_us = facts.measured_us > 0 ? facts.measured_us : report.profiled_us;
  bool has_counters = false;
  for (const size_t index : BySize(report.kernels)) {
    const Reading reading(profile.kernels[index], facts, profile.kernels.size());
    has_counters = has_counters || reading.has_counters();
    std::vector<Statement> found = StatementsOf(reading, index);
    Rank(found, report.kernels[index].share, &report.ranking);
    std::move(found.begin(), found.end(), std::back_inserter(report.evidence));
  }
  std::vector<Statement> whole;
  RooflineRules(facts, report.measured_us, has_counters, &whole);
  Rank(whole, 1, &report.ranking);
  std::move(whole.begin(), whole.end(), std::back_inserter(report.evidence));
  Name(&report);
  report.missing = MissingFrom(profile);
  return report;
}

std::optional<double> Headroom(const BottleneckReport& report) {
  if (report.roofline_us <= 0 || report.measured_us <= 0) return std::nullopt;
  return std::max(report.measured_us / report.roofline_us, 1.0);
}

}  // namespace warpsmith::profile
