#include "report/analysis/ratio_cards.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "report/analysis/html_table.h"
#include "report/analysis/plots.h"
#include "report/analysis/sentences.h"
#include "report/page_template.h"

namespace warpsmith::analysis {
namespace {

using report::EscapeHtml;

constexpr std::string_view kNoRatio =
    "<p>No ratio is known: the comparison measured none of these shapes with its kernel.</p>\n";

// Either whose ratios: the library's, or those of kernels alone.
struct Measured {
  std::string_view who;
  Ratios StudiedShape::*ratios;
};
constexpr Measured kMeasured[] = {{"library", &StudiedShape::library},
                                  {"kernel alone", &StudiedShape::alone}};

std::vector<PlottedRatio> RatiosOf(const Chapter& chapter, Mode mode, const Measured& measured) {
  std::vector<PlottedRatio> plotted;
  for (const StudiedShape& shape : chapter.shapes) {
    const auto ratio = (shape.*measured.ratios).find(mode);
    if (ratio == (shape.*measured.ratios).end()) continue;
    plotted.push_back({shape.problem, shape.log2_mnk, ratio->second});
  }
  return plotted;
}

std::string RatioMaps(const Chapter& chapter) {
  std::vector<MappedShape> shapes;
  for (const StudiedShape& shape : chapter.shapes) {
    const auto ratio = shape.alone.find(Mode::kDeviceHot);
    if (ratio == shape.alone.end()) continue;
    shapes.push_back(
        {shape.problem, RatioEntry(ratio->second.value), RatioText(ratio->second.value)});
  }
  const std::string maps = ValueMaps("Ratio of kernels alone by M, N and K", shapes, RatioLegend());
  if (maps.empty()) return "";
  return "<h3>Kernels alone in a hot graph: M down, N across, a map for each K</h3>\n" +
         LegendHtml(RatioLegend()) + maps;
}

Cell RatioCell(std::optional<double> ratio) {
  if (!ratio) return {"-", "number"};
  return {RatioText(*ratio), *ratio < 1 ? "number bad" : "number"};
}

// Of one series: the geometric mean of each class, how many ratios are below 1, and of these the
// ones whose whole interval is. Empty for no ratios.
TableRow RatioRow(const Chapter& chapter, Mode mode, const Measured& measured) {
  std::array<std::vector<double>, hgemm::kSizeClasses.size()> by_class;
  std::vector<double> all;
  int below = 0, slower = 0;
  for (const PlottedRatio& plotted : RatiosOf(chapter, mode, measured)) {
    by_class[static_cast<size_t>(hgemm::ClassOf(plotted.problem))].push_back(plotted.ratio.value);
    all.push_back(plotted.ratio.value);
    below += plotted.ratio.value < 1 ? 1 : 0;
    slower += plotted.ratio.interval.hi < 1 ? 1 : 0;
  }
  if (all.empty()) return {};
  TableRow row = {{EscapeHtml(ModeTitle(mode)), ""},
                  {std::string(measured.who), ""},
                  {std::to_string(all.size()), "number"}};
  for (const std::vector<double>& ratios : by_class) row.push_back(RatioCell(Geomean(ratios)));
  row.push_back(RatioCell(Geomean(all)));
  row.push_back({std::to_string(below), "number"});
  row.push_back({std::to_string(slower), slower > 0 ? "number bad" : "number"});
  row.push_back(RatioCell(*std::min_element(all.begin(), all.end())));
  return row;
}

std::string RatioTable(const Chapter& chapter) {
  TableRow head = {{"mode", ""}, {"of", ""}, {"shapes", "number"}};
  for (const hgemm::SizeClass size_class : hgemm::kSizeClasses) {
    head.push_back({std::string(Name(size_class)), "number"});
  }
  for (const char* name : {"all", "below 1", "shown slower", "worst"})
    head.push_back({name, "number"});
  std::vector<TableRow> rows;
  for (const Mode mode : hgemm::kComparedModes) {
    for (const Measured& measured : kMeasured) {
      TableRow row = RatioRow(chapter, mode, measured);
      if (!row.empty()) rows.push_back(std::move(row));
    }
  }
  if (rows.empty()) return "";
  return "<h3>Geometric means by class</h3>\n" + Table(head, rows);
}

struct Loss {
  const StudiedShape* shape = nullptr;
  std::string_view who;
  Mode mode = Mode::kDeviceHot;
  hgemm::PairedRatio ratio;
};

// "wgmma 128 x 96, stages 8, split 4, cluster 2 x 1": what it has of these.
std::string ShortName(const StudiedShape& shape) {
  constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"family", ""},          {"tile", " "},         {"k-block", " x "},
      {"stages", ", stages "}, {"split", ", split "}, {"cluster", ", cluster "},
      {"turns", ", "}};
  std::string name;
  for (const auto& [trait, before] : kParts) {
    for (size_t i = 0; i < Traits().size(); ++i) {
      const auto& value = shape.values[i];
      if (Traits()[i].name == trait && value) name += std::string(before) + value->text;
    }
  }
  return name;
}

// What callers get before kernels alone, of each the worst first.
std::vector<Loss> LossesOf(const Chapter& chapter) {
  std::vector<Loss> losses;
  for (const Measured& measured : kMeasured) {
    const auto begun = static_cast<std::ptrdiff_t>(losses.size());
    for (const StudiedShape& shape : chapter.shapes) {
      for (const auto& [mode, ratio] : shape.*measured.ratios) {
        if (ratio.value < 1) losses.push_back({&shape, measured.who, mode, ratio});
      }
    }
    std::stable_sort(losses.begin() + begun, losses.end(),
                     [](const Loss& a, const Loss& b) { return a.ratio.value < b.ratio.value; });
  }
  return losses;
}

bool HasRatios(const Chapter& chapter) {
  return std::any_of(chapter.shapes.begin(), chapter.shapes.end(), [](const auto& shape) {
    return !shape.alone.empty() || !shape.library.empty();
  });
}

}  // namespace

std::string RatioCard(const Chapter& chapter) {
  const std::string heading = "Ratio to " + BaselineText(chapter);
  if (!HasRatios(chapter)) return Card(heading, "", kNoRatio);
  std::string plots;
  for (const Mode mode : hgemm::kComparedModes) {
    for (const Measured& measured : kMeasured) {
      const std::string title = ModeTitle(mode) + ": " + std::string(measured.who);
      const std::string plot =
          RatioPlot(title, BaselineText(chapter), RatiosOf(chapter, mode, measured));
      if (!plot.empty()) plots += "<div><h3>" + EscapeHtml(title) + "</h3>\n" + plot + "</div>\n";
    }
  }
  return Card(
      heading,
      "Its time over ours, with the interval; above the dashed line ours is faster. Green: "
      "shown faster. Red: shown slower. Amber: below 1, but the interval holds 1. Grey: at "
      "least 1, and the interval holds 1. The axis of ratios is logarithmic; intervals "
      "that reach beyond it are cut off. Every ratio below 1 is listed under Losses.",
      RatioTable(chapter) + "<div class=\"pair\">" + plots + "</div>\n" + RatioMaps(chapter));
}

std::string LossCard(const Chapter& chapter) {
  if (!HasRatios(chapter)) return Card("Losses", "", kNoRatio);
  std::vector<TableRow> rows;
  for (const Loss& loss : LossesOf(chapter)) {
    const bool is_shown = loss.ratio.interval.hi < 1;
    rows.push_back(
        {{hgemm::SizesText(loss.shape->problem), ""},
         {std::string(Name(loss.shape->size_class)), ""},
         {std::string(loss.who), ""},
         {EscapeHtml(ModeTitle(loss.mode)), ""},
         {RatioText(loss.ratio.value), is_shown ? "number bad" : "number"},
         {RatioText(loss.ratio.interval.lo) + " to " + RatioText(loss.ratio.interval.hi), "number"},
         {std::string(Name(loss.shape->choice)), ""},
         {EscapeHtml(ShortName(*loss.shape)), "text"}});
  }
  if (rows.empty()) {
    return Card("Losses", "", "<p>No ratio of any shape in any measured mode is below 1.</p>\n");
  }
  return Card(
      "Losses",
      "Every ratio below 1, the library's before those of kernels alone, the worst first; red: "
      "the whole interval is below 1. A kernel "
      "alone that loses is not what callers get where the catalogue chooses cublaslt.",
      Table({{"shape", ""},
             {"class", ""},
             {"measured", ""},
             {"mode", ""},
             {"ratio", "number"},
             {"interval", "number"},
             {"choice", ""},
             {"kernel", "text"}},
            rows));
}

}  // namespace warpsmith::analysis
