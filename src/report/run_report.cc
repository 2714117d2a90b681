#include "report/run_report.h"

#include <map>
#include <span>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/result.h"
#include "embedded/chart_js.h"
#include "embedded/report_page.h"
#include "report/summary.h"

namespace warpsmith::report {
namespace {

using nlohmann::json;

json OriginJson(const Origin& origin) {
  return {{"device", origin.device},       {"driver", origin.driver},
          {"toolkit", origin.toolkit},     {"baseline_library", origin.baseline_library},
          {"date", origin.date},           {"command", origin.command},
          {"recording", origin.recording}, {"program", origin.program}};
}

json WinnerJson(const WinnerRow& row) {
  return {{"mode", Name(row.mode)},
          {"level", Name(row.level)},
          {"config", row.config},
          {"bar", row.primary},
          {"ours_us", NumberToJson(row.ours_us)},
          {"bar_us", NumberToJson(row.primary_us)},
          {"ratio", NumberToJson(row.ratio)},
          {"lo", NumberToJson(row.interval.lo)},
          {"hi", NumberToJson(row.interval.hi)},
          {"finding", Name(row.finding)},
          {"floor_us", NumberToJson(row.roofline_us)},
          {"aa_noise", NumberToJson(row.aa_noise)},
          {"below_floor", row.below_roofline}};
}

json ShapeJson(const ShapeReport& shape) {
  json progress = json::array(), winners = json::array(), baselines = json::array(),
       failures = json::array(), failed = json::array();
  for (const ProgressPoint& point : shape.progress) {
    progress.push_back(
        {{"evaluations", point.evaluations}, {"best_ratio", NumberToJson(point.best_ratio)}});
  }
  for (const WinnerRow& row : shape.winners) winners.push_back(WinnerJson(row));
  for (const BaselineRow& row : shape.baselines) {
    baselines.push_back(
        {{"name", row.name}, {"mode", Name(row.mode)}, {"us", NumberToJson(row.us)}});
  }
  for (const FailureCount& failure : shape.failures) {
    failures.push_back(
        {{"kind", failure.kind}, {"example", failure.example}, {"count", failure.count}});
  }
  for (const FailedEvaluation& one : shape.failed) {
    failed.push_back({{"evaluation", one.evaluation}, {"kind", one.kind}, {"why", one.why}});
  }
  return {{"label", ShapeLabel(shape)},
          {"task", shape.task},
          {"workload", shape.workload},
          {"sizes", shape.sizes},
          {"evaluations", shape.evaluations},
          {"passed", shape.passed},
          {"gpu_seconds", NumberToJson(shape.gpu_seconds)},
          {"progress", std::move(progress)},
          {"winners", std::move(winners)},
          {"baselines", std::move(baselines)},
          {"failures", std::move(failures)},
          {"failed", std::move(failed)}};
}

json TallyJson(const Tally& tally, Mode mode) {
  return {{"mode", Name(mode)},
          {"faster", tally.faster},
          {"same", tally.same},
          {"slower", tally.slower},
          {"not_shown", tally.not_shown},
          {"nothing_passed", tally.nothing_passed},
          {"geomean_ratio", NumberToJson(tally.geomean_ratio)}};
}

json ProposerJson(const ProposerRow& row) {
  return {{"space", row.space},       {"proposer", row.proposer},
          {"fraction", row.fraction}, {"lower_quartile", row.lower_quartile},
          {"median", row.median},     {"upper_quartile", row.upper_quartile},
          {"seeds", row.seeds}};
}

std::string CommentLine(std::string_view name, std::string_view text) {
  std::string line = fmt::format("# {}: {}", name, text);
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return line + "\n";
}

std::string SizeCell(const ShapeReport& shape, std::string_view name) {
  const auto size = shape.sizes.find(name);
  return size == shape.sizes.end() ? "" : std::to_string(size->second);
}

std::string Row(const ShapeReport& shape, const WinnerRow& row) {
  return fmt::format("{},{},{},{},{},{:.4g},{:.4g},{:.4f},{:.4f},{:.4f},{:.4g}\n",
                     SizeCell(shape, "M"), SizeCell(shape, "N"), SizeCell(shape, "K"),
                     Name(row.mode), CsvCell(row.config), row.ours_us, row.primary_us, row.ratio,
                     row.interval.lo, row.interval.hi, row.roofline_us);
}

}  // namespace

json ToJson(const RunReport& report) {
  json shapes = json::array(), proposers = json::array(), tallies = json::array();
  for (const ShapeReport& shape : report.shapes) shapes.push_back(ShapeJson(shape));
  for (const ProposerRow& row : report.proposers) proposers.push_back(ProposerJson(row));
  for (const Mode mode : ModesOf(report)) tallies.push_back(TallyJson(TallyOf(report, mode), mode));
  return {{"schema", "warpsmith.report"},
          {"version", kReportVersion},
          {"title", report.title},
          {"origin", OriginJson(report.origin)},
          {"tallies", std::move(tallies)},
          {"shapes", std::move(shapes)},
          {"proposers", std::move(proposers)}};
}

std::string ToHtml(const RunReport& report) {
  json data = ToJson(report);
  for (size_t i = 0; i < report.shapes.size(); ++i) {
    data["shapes"][i]["source"] = report.shapes[i].source;
    data["shapes"][i]["first_source"] = report.shapes[i].first_source;
  }
  return FillPage(report.title, "report.js", data);
}

std::string CsvCell(std::string_view text) {
  std::string cell(text);
  if (!cell.empty() && std::string_view("=+-@\t\r").find(cell.front()) != std::string_view::npos) {
    cell.insert(cell.begin(), '\'');
  }
  if (cell.find_first_of(",\"\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

std::string ToCsv(const RunReport& report) {
  const Origin& origin = report.origin;
  std::string csv = CommentLine("device", origin.device) + CommentLine("driver", origin.driver) +
                    CommentLine("toolkit", origin.toolkit) +
                    CommentLine("baseline", origin.baseline_library) +
                    CommentLine("date", origin.date) + CommentLine("command", origin.command);
  if (!origin.recording.empty()) csv += CommentLine("replayed from", origin.recording);
  csv += "m,n,k,mode,config,ours_us,lt_auto_us,ratio,lo,hi,floor_us\n";
  for (const ShapeReport& shape : report.shapes) {
    for (const WinnerRow& row : shape.winners) csv += Row(shape, row);
  }
  return csv;
}

namespace {

std::string_view EmbeddedText(std::span<const EmbeddedFile> files, std::string_view name) {
  for (const EmbeddedFile& file : files) {
    if (file.path.ends_with(name)) return file.contents;
  }
  CHECK(!"the file was not embedded");
  return {};
}

// One pass over the template: what is filled in is never looked at again, so "{{data}}" in a
// candidate's text is only text.
std::string Fill(std::string_view text,
                 const std::map<std::string_view, std::string_view>& values) {
  std::string filled;
  for (;;) {
    const size_t open = text.find("{{");
    filled += text.substr(0, open);
    if (open == std::string_view::npos) return filled;
    const size_t close = text.find("}}", open);
    CHECK(close != std::string_view::npos);
    const auto value = values.find(text.substr(open + 2, close - open - 2));
    CHECK(value != values.end());
    filled += value->second;
    text.remove_prefix(close + 2);
  }
}

std::string Escaped(std::string_view text, const std::map<char, std::string_view>& escapes) {
  std::string escaped;
  for (const char c : text) {
    const auto escape = escapes.find(c);
    escaped += escape == escapes.end() ? std::string_view(&c, 1) : escape->second;
  }
  return escaped;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  return Escaped(text,
                 {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string EscapeForScript(std::string_view json) {
  return Escaped(json, {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

std::string FillPage(std::string_view title, std::string_view script, const nlohmann::json& data) {
  const std::span<const EmbeddedFile> page = embedded::ReportPage();
  const std::string escaped_title = EscapeHtml(title);
  const std::string escaped_data = EscapeForScript(JsonText(data));
  return Fill(EmbeddedText(page, "/page.html"),
              {{"title", escaped_title},
               {"style", EmbeddedText(page, "page.css")},
               {"chart_js", EmbeddedText(embedded::ChartJs(), "chart.min.js")},
               {"chart_parts", EmbeddedText(page, "chart_parts.js")},
               {"page_parts", EmbeddedText(page, "page_parts.js")},
               {"script", EmbeddedText(page, script)},
               {"data", escaped_data}});
}

}  // namespace warpsmith::report
