#include "comparison_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "hgemm/comparison_summary.h"
#include "report/text_table.h"

namespace warpsmith::cli {
namespace {

using nlohmann::json;
using Rows = std::vector<std::vector<std::string>>;

// The first `words` columns hold words, the others numbers.
struct Columns {
  std::vector<std::string> titles;
  size_t words = 0;
};

std::string Plain(const Columns& columns, const Rows& rows) {
  std::vector<report::Column> heads;
  for (const std::string& title : columns.titles) {
    const bool word = heads.size() < columns.words;
    heads.push_back({title, word ? report::Align::kLeft : report::Align::kRight});
  }
  std::vector<std::vector<report::Cell>> cells;
  for (const auto& row : rows) {
    cells.emplace_back();
    for (const std::string& text : row) cells.back().push_back({text});
  }
  return report::RenderTable(heads, cells, report::Colour::kNone);
}

std::string Markdown(const Columns& columns, const Rows& rows) {
  const auto line = [](const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
  };
  std::vector<std::string> rule(columns.words, "---");
  rule.resize(columns.titles.size(), "---:");
  std::string text = line(columns.titles) + line(rule);
  for (const auto& row : rows) text += line(row);
  return text;
}

std::string Render(const Columns& columns, const Rows& rows, TableStyle style) {
  return style == TableStyle::kPlain ? Plain(columns, rows) : Markdown(columns, rows);
}

std::string Title(const std::string& text, TableStyle style) {
  return style == TableStyle::kPlain ? text + "\n\n" : "**" + text + "**\n\n";
}

std::vector<std::string> CellsOf(std::string_view name, std::string_view what,
                                 const hgemm::RatioSummary& summary) {
  return {std::string(name),
          std::string(what),
          std::to_string(summary.shapes),
          fmt::format("{:.3f}", summary.geomean),
          fmt::format("{:.3f} to {:.3f}", summary.interval.lo, summary.interval.hi),
          std::to_string(summary.faster),
          std::to_string(summary.same),
          std::to_string(summary.slower),
          std::to_string(summary.at_least_one),
          std::to_string(summary.at_least_099),
          fmt::format("{:.3f}", summary.worst),
          hgemm::SizesText(summary.worst_problem)};
}

void AddPair(std::string_view name, const hgemm::PairSummary& pair, Rows& rows) {
  rows.push_back(CellsOf(name, "library", pair.library));
  rows.push_back(CellsOf("", "kernel alone", pair.kernel));
  if (pair.plain.shapes > 0) rows.push_back(CellsOf("", "without overlap", pair.plain));
}

std::string ClassTable(const hgemm::ModeSummary& mode, TableStyle style) {
  const Columns columns{{"class", "of", "shapes", "geomean", "99 % interval", "faster", "same",
                         "slower", ">= 1.00", ">= 0.99", "worst", "at"},
                        2};
  Rows rows;
  for (const auto& [size_class, pair] : mode.classes) {
    AddPair(hgemm::Name(size_class), pair, rows);
  }
  AddPair("all", mode.all, rows);
  return Title("mode " + std::string(Name(mode.mode)), style) + Render(columns, rows, style) + "\n";
}

std::string ExponentTable(const std::vector<hgemm::ModeSummary>& modes, TableStyle style) {
  Columns columns{{"log2(MNK)", "shapes"}, 0};
  for (const hgemm::ModeSummary& mode : modes) {
    columns.titles.push_back(std::string(Name(mode.mode)));
    columns.titles.emplace_back("kernel");
  }
  Rows rows;
  for (const auto& [exponent, first] : modes.front().exponents) {
    rows.push_back({std::to_string(exponent), std::to_string(first.library.shapes)});
    for (const hgemm::ModeSummary& mode : modes) {
      const hgemm::PairSummary& pair = mode.exponents.at(exponent);
      rows.back().push_back(fmt::format("{:.3f}", pair.library.geomean));
      rows.back().push_back(fmt::format("{:.3f}", pair.kernel.geomean));
    }
  }
  return Title("geometric means by log2(MNK): the library in each mode, and the kernel alone",
               style) +
         Render(columns, rows, style);
}

json SummaryJson(const hgemm::RatioSummary& summary) {
  return {{"shapes", summary.shapes},
          {"geomean", summary.geomean},
          {"low", summary.interval.lo},
          {"high", summary.interval.hi},
          {"faster", summary.faster},
          {"same", summary.same},
          {"slower", summary.slower},
          {"at_least_1.00", summary.at_least_one},
          {"at_least_0.99", summary.at_least_099},
          {"worst", summary.worst},
          {"worst_shape", hgemm::SizesText(summary.worst_problem)}};
}

json PairJson(const hgemm::PairSummary& pair) {
  json value = {{"library", SummaryJson(pair.library)}, {"kernel", SummaryJson(pair.kernel)}};
  if (pair.plain.shapes > 0) value["without_overlap"] = SummaryJson(pair.plain);
  return value;
}

json ModeJson(const hgemm::ModeSummary& mode) {
  json classes = json::object(), exponents = json::object();
  for (const auto& [size_class, pair] : mode.classes) {
    classes[std::string(hgemm::Name(size_class))] = PairJson(pair);
  }
  for (const auto& [exponent, pair] : mode.exponents) {
    exponents[std::to_string(exponent)] = PairJson(pair);
  }
  return {{"mode", Name(mode.mode)},
          {"all", PairJson(mode.all)},
          {"classes", classes},
          {"by_log2_mnk", exponents}};
}

json RatioJson(double elapsed_us, const hgemm::PairedRatio& ratio) {
  return {{"us", elapsed_us},
          {"ratio", ratio.value},
          {"low", ratio.interval.lo},
          {"high", ratio.interval.hi}};
}

json SessionJson(const hgemm::ComparisonSession& session) {
  return {{"date", session.date},       {"driver", session.driver},
          {"toolkit", session.toolkit}, {"baseline", session.baseline},
          {"program", session.program}, {"gpu", session.gpu},
          {"commit", session.commit},   {"command", session.command}};
}

void AddRows(const hgemm::ShapeComparison& shape, json& rows) {
  for (const hgemm::ModeComparison& mode : shape.modes) {
    rows.push_back({{"shape", hgemm::SizesText(shape.problem)},
                    {"mode", Name(mode.mode)},
                    {"session", shape.session},
                    {"choice", shape.choice},
                    {"floor_us", shape.floor_us},
                    {"lt_auto_us", mode.bar_us},
                    {"library", RatioJson(mode.library_us, mode.library)},
                    {"kernel", RatioJson(mode.kernel_us, mode.kernel)}});
    if (mode.plain) rows.back()["without_overlap"] = RatioJson(mode.plain_us, *mode.plain);
  }
}

}  // namespace

std::string SummaryText(const hgemm::ComparisonTable& table, TableStyle style) {
  const std::vector<hgemm::ModeSummary> modes = hgemm::Summarise(table);
  if (modes.empty()) return "no shape was compared\n";
  const hgemm::ComparisonSession& last = table.sessions.back();
  std::string text = fmt::format("{}, {} {}, driver {}, {}, {}: {} shapes\n\n", table.terms.device,
                                 table.terms.layout, table.terms.dtype, last.driver, last.baseline,
                                 last.date, table.shapes.size());
  for (const hgemm::ModeSummary& mode : modes) text += ClassTable(mode, style);
  return text + ExponentTable(modes, style) + "\n" + hgemm::Text(hgemm::StandingOf(table)) + "\n";
}

json BarJson(const hgemm::BarStanding& standing) {
  return {{"shapes", standing.shapes},
          {"checked", standing.checked},
          {"chosen_again", standing.chosen_again},
          {"violations", standing.violations},
          {"headline", standing.IsHeadline()}};
}

json ToJson(const hgemm::ComparisonTable& table) {
  const hgemm::ComparisonTerms& terms = table.terms;
  json document = {{"schema", "warpsmith.against"},
                   {"version", 2},
                   {"device", terms.device},
                   {"layout", terms.layout},
                   {"dtype", terms.dtype},
                   {"library", terms.library},
                   {"pack", terms.pack},
                   {"catalogue", terms.catalogue},
                   {"protocol", terms.protocol},
                   {"sessions", json::array()},
                   {"rows", json::array()},
                   {"summary", json::array()},
                   {"bar", BarJson(hgemm::StandingOf(table))}};
  for (const hgemm::ComparisonSession& session : table.sessions) {
    document["sessions"].push_back(SessionJson(session));
  }
  for (const hgemm::ShapeComparison& shape : table.shapes) AddRows(shape, document["rows"]);
  for (const hgemm::ModeSummary& mode : hgemm::Summarise(table)) {
    document["summary"].push_back(ModeJson(mode));
  }
  return document;
}

}  // namespace warpsmith::cli
