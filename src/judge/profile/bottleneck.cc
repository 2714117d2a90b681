#include "judge/profile/bottleneck.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/json_reader.h"
#include "base/result.h"
#include "base/text.h"
#include "base/utf8.h"
#include "embedded/model_block.h"
#include "judge/profile/metrics.h"
#include "judge/profile/rules.h"

namespace warpsmith::profile {
namespace {

using B = Bottleneck;

constexpr std::array<BottleneckRow, 21> kTable = {{
    {B::kMemoryBandwidth, "memory-bandwidth", "device memory is as busy as it can be",
     "move fewer bytes: fuse, reuse in registers or shared memory, narrower types"},
    {B::kL2Bandwidth, "l2-bandwidth", "the L2 cache is as busy as it can be",
     "larger tiles, another order of blocks, multicast or cluster-shared loads"},
    {B::kL1Bandwidth, "l1-bandwidth", "L1 and shared memory are as busy as they can be",
     "keep more in registers, wider accesses, operands read from shared memory by the tensor "
     "cores"},
    {B::kComputeTensor, "compute-tensor", "the tensor cores are as busy as they can be",
     "do less arithmetic, or use a narrower type where the task allows it"},
    {B::kComputeFma, "compute-fma", "the FMA pipe is as busy as it can be",
     "tensor cores where the precision allows it, packed half2, less recomputation"},
    {B::kComputeOther, "compute-other",
     "a special pipe (integer, FP64, transcendental) is as busy as it can be",
     "cheaper indexing, exp2 and fast intrinsics, less FP64"},
    {B::kInstructionIssue, "instruction-issue", "the schedulers issue in most cycles",
     "fewer instructions: vector accesses, unrolling, hoisted address arithmetic"},
    {B::kMemoryLatency, "memory-latency", "warps wait for global or local memory",
     "more loads in flight: asynchronous copies, deeper pipelines, unrolling, more warps"},
    {B::kExecutionLatency, "execution-latency", "warps wait for their own previous instructions",
     "more independent work in a warp, more warps, fewer branches"},
    {B::kSharedLatency, "shared-latency", "warps wait for shared memory or its queue",
     "fewer and wider shared accesses, prefetching into registers, shuffles"},
    {B::kBankConflicts, "shared-bank-conflicts", "shared memory accesses collide in banks",
     "swizzle or pad the layout"},
    {B::kUncoalesced, "uncoalesced-access", "global accesses use little of each sector",
     "let neighbouring threads touch neighbouring addresses, or stage through shared memory"},
    {B::kLocalMemory, "local-memory-spills", "registers spill to local memory",
     "fewer live values, smaller tiles a thread, launch bounds that allow more registers"},
    {B::kTensorIdle, "tensor-pipe-idle", "the work suits the tensor cores, but they idle",
     "mma or wgmma instructions, operands fed early enough"},
    {B::kBarrier, "barrier", "warps wait for each other",
     "fewer or narrower barriers, asynchronous barriers, better balanced warps"},
    {B::kOccupancyRegisters, "low-occupancy-registers", "registers keep the SM from holding more",
     "fewer registers a thread, or more independent work in each warp"},
    {B::kOccupancyShared, "low-occupancy-shared", "shared memory keeps the SM from holding more",
     "smaller or fewer stages, or more independent work in each warp"},
    {B::kOccupancyBlocks, "low-occupancy-blocks",
     "the block's shape keeps the SM from holding more", "other block sizes"},
    {B::kTail, "tail", "the last wave of blocks leaves SMs idle",
     "a grid that divides evenly, smaller tiles at the end, persistent blocks, split-K or "
     "stream-K"},
    {B::kSmallGrid, "small-grid", "there are fewer blocks than the device could run",
     "smaller tiles, split-K, or more work in one launch"},
    {B::kLaunch, "launch-bound", "kernels are so short that starting them dominates",
     "fuse kernels, one persistent kernel, programmatic dependent launch"},
}};

}  // namespace

std::span<const BottleneckRow> BottleneckTable() { return kTable; }

const BottleneckRow& Describe(Bottleneck bottleneck) {
  const auto& row = kTable.at(static_cast<size_t>(bottleneck));
  CHECK(row.bottleneck == bottleneck);
  return row;
}

namespace {

constexpr double kNamed = 0.1;  // what weighs less is not worth a name

// Times as shares of the whole. Where one is missing they mean nothing: all kernels weigh the same.
void TakeKernels(const Profile& profile, BottleneckReport* report) {
  bool all_timed = !profile.kernels.empty();
  double total_us = 0;
  for (const KernelProfile& kernel : profile.kernels) {
    KernelShare share{kernel.kernel, {}, Find(kernel, metric::kCycles), 0};
    share.registers = Find(kernel, metric::kRegisters);
    share.shared_bytes = Find(kernel, metric::kSharedBytes);
    share.spill_bytes = Find(kernel, metric::kSpillBytes);
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

std::vector<Statement> StatementsOf(const Profile& profile, const ProblemFacts& facts,
                                    size_t kernel) {
  std::vector<Statement> found =
      KernelStatements(profile.kernels[kernel], facts, profile.kernels.size());
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
    has_counters = has_counters || HasCounters(profile.kernels[index]);
    std::vector<Statement> found = StatementsOf(profile, facts, index);
    Rank(found, report.kernels[index].share, &report.ranking);
    std::move(found.begin(), found.end(), std::back_inserter(report.evidence));
  }
  std::vector<Statement> whole = RooflineStatements(facts, report.measured_us, has_counters);
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

namespace {

using nlohmann::json;

std::string Number(double value) { return fmt::format("{:.6g}", value); }

std::string Cited(const Statement& statement) {
  return Joined(statement.cites, ", ", [](const Citation& one) {
    return ForTerminal(one.metric) + "=" + Number(one.value);
  });
}

std::string KernelLine(const KernelShare& kernel, size_t index, const std::string& name) {
  std::string line = std::to_string(index + 1) + ". " + name;
  if (kernel.time_us) line += "  " + Number(*kernel.time_us) + " us";
  if (kernel.cycles) line += "  " + Number(*kernel.cycles) + " cycles";
  const bool measured = kernel.time_us || kernel.cycles;
  return measured ? line + "  " + Rounded(100 * kernel.share) + " %" : line;
}

std::string ResourcesText(const KernelShare& kernel) {
  std::string text;
  if (kernel.registers) text += "  " + Number(*kernel.registers) + " registers";
  if (kernel.shared_bytes) text += "  " + Number(*kernel.shared_bytes) + " bytes shared";
  if (kernel.spill_bytes) text += "  " + Number(*kernel.spill_bytes) + " bytes spilled";
  return text;
}

std::string RankedLine(const char* rank, const std::optional<Ranked>& ranked) {
  if (!ranked) return rank + std::string(": none\n");
  const BottleneckRow& row = Describe(ranked->bottleneck);
  return std::string(rank) + ": " + std::string(row.name) + " (weight " + Rounded(ranked->weight) +
         "): " + std::string(row.meaning) + "; what usually helps: " + std::string(row.remedy) +
         "\n";
}

std::string RankedLines(const BottleneckReport& report) {
  if (report.profiled_us > 0 || report.primary) {
    return RankedLine("primary", report.primary) + RankedLine("secondary", report.secondary);
  }
  return "bottlenecks and headroom: only a run on a GPU shows them\n";
}

std::string HeadroomLine(const BottleneckReport& report) {
  const auto headroom = Headroom(report);
  if (!headroom && report.roofline_us > 0) {
    return "the least possible time: " + Number(report.roofline_us) + " us";
  }
  if (!headroom) return "headroom: not known: the task's least time or the kernel's is missing";
  return "headroom: " + Number(report.measured_us) + " us against a floor of " +
         Number(report.roofline_us) + " us: at most " + Rounded(*headroom) + "x faster";
}

std::string StatementLine(const Statement& statement) {
  const std::string where =
      statement.kernel ? "kernel " + std::to_string(*statement.kernel + 1) : "whole plan";
  return where + ": " + statement.says + " [" + Cited(statement) + "]";
}

std::string MissingLine(const BottleneckReport& report, size_t most) {
  std::string line;
  const size_t shown = std::min(most, report.missing.size());
  for (size_t i = 0; i < shown; ++i) line += (i == 0 ? "" : ", ") + report.missing[i];
  if (report.missing.size() > shown) {
    line += (shown == 0 ? "" : " and ") + std::to_string(report.missing.size() - shown) +
            (shown == 0 ? " counters" : " more");
  }
  return line.empty() ? "nothing" : line;
}

void Fill(std::string* text, std::string_view variable, std::string_view value) {
  const std::string mark = "{{" + std::string(variable) + "}}";
  const size_t at = text->find(mark);
  CHECK(at != std::string::npos);
  text->replace(at, mark.size(), value);
}

json ToJson(const std::optional<Ranked>& ranked) {
  if (!ranked) return nullptr;
  const BottleneckRow& row = Describe(ranked->bottleneck);
  return {{"bottleneck", row.name},
          {"weight", ranked->weight},
          {"meaning", row.meaning},
          {"remedy", row.remedy}};
}

json ToJson(const KernelShare& kernel) {
  json object = {{"kernel", ValidUtf8(kernel.kernel)}, {"share", kernel.share}};
  if (kernel.time_us) object["time_us"] = *kernel.time_us;
  if (kernel.cycles) object["elapsed_cycles"] = *kernel.cycles;
  return object;
}

json ToJson(const Statement& statement) {
  json cites = json::object();
  for (const Citation& citation : statement.cites) {
    cites[ValidUtf8(citation.metric)] = NumberToJson(citation.value);
  }
  json object = {{"bottleneck", Describe(statement.bottleneck).name},
                 {"weight", statement.weight},
                 {"says", statement.says},
                 {"metrics", std::move(cites)}};
  if (statement.kernel) object["kernel"] = *statement.kernel;
  return object;
}

}  // namespace

std::string BottleneckText(const BottleneckReport& report) {
  std::string text = "profile by " + ForTerminal(report.source) + ": " +
                     std::to_string(report.kernels.size()) +
                     (report.kernels.size() == 1 ? " kernel" : " kernels");
  if (report.profiled_us > 0) text += ", " + Number(report.profiled_us) + " us";
  text += "\n";
  for (size_t i = 0; i < report.kernels.size(); ++i) {
    text += "  " + KernelLine(report.kernels[i], i, ForTerminal(report.kernels[i].kernel)) +
            ResourcesText(report.kernels[i]) + "\n";
  }
  text += RankedLines(report) + HeadroomLine(report) + "\n";
  if (!report.evidence.empty()) text += "evidence:\n";
  for (const Statement& statement : report.evidence) text += "  " + StatementLine(statement) + "\n";
  if (!report.missing.empty()) text += "not measured: " + MissingLine(report, 3) + "\n";
  return text;
}

json ToJson(const BottleneckReport& report) {
  json object = {{"schema", "warpsmith.bottlenecks"},
                 {"version", 1},
                 {"source", ValidUtf8(report.source)},
                 {"primary", ToJson(report.primary)},
                 {"secondary", ToJson(report.secondary)},
                 {"kernels", json::array()},
                 {"evidence", json::array()},
                 {"missing", report.missing}};
  for (const KernelShare& kernel : report.kernels) object["kernels"].push_back(ToJson(kernel));
  for (const Statement& statement : report.evidence) {
    object["evidence"].push_back(ToJson(statement));
  }
  if (report.profiled_us > 0) object["profiled_us"] = report.profiled_us;
  if (const auto headroom = Headroom(report)) {
    object["headroom"] = {{"floor_us", report.roofline_us},
                          {"measured_us", report.measured_us},
                          {"ratio", *headroom}};
  }
  return object;
}

json ToJson(const BottleneckReport& report, const Profile& profile) {
  json object = ToJson(report);
  CHECK(report.kernels.size() == profile.kernels.size());
  for (size_t i = 0; i < profile.kernels.size(); ++i) {
    json metrics = json::object();
    for (const auto& [name, value] : profile.kernels[i].metrics) {
      metrics[ValidUtf8(name)] = NumberToJson(value);
    }
    object["kernels"][i]["metrics"] = std::move(metrics);
  }
  return object;
}

std::string ModelBlock(const BottleneckReport& report, size_t most_kernels,
                       size_t most_statements) {
  std::string kernels, evidence;
  for (size_t i = 0; i < std::min(most_kernels, report.kernels.size()); ++i) {
    const KernelShare& kernel = report.kernels[i];
    kernels += (i == 0 ? "" : "\n") + KernelLine(kernel, i, QuotedForModel(kernel.kernel));
  }
  if (report.kernels.size() > most_kernels) {
    kernels += "\n(" + std::to_string(report.kernels.size() - most_kernels) + " more)";
  }
  for (size_t i = 0; i < std::min(most_statements, report.evidence.size()); ++i) {
    evidence += (i == 0 ? "" : "\n") + StatementLine(report.evidence[i]);
  }
  std::string block(embedded::ModelBlock()[0].contents);
  Fill(&block, "source", QuotedForModel(report.source));
  const bool measured = report.profiled_us > 0;
  Fill(&block, "time", measured ? Number(report.profiled_us) : "unknown");
  Fill(&block, "bottlenecks", std::string(Trimmed(RankedLines(report))));
  Fill(&block, "headroom", HeadroomLine(report));
  Fill(&block, "kernels", kernels);
  Fill(&block, "evidence", evidence.empty() ? "none" : evidence);
  Fill(&block, "missing", MissingLine(report, 0));
  return block;
}

}  // namespace warpsmith::profile
