#include "judge/profile/render.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "base/utf8.h"
#include "embedded/model_block.h"
#include "judge/profile/rules.h"

namespace warpsmith::profile {
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
