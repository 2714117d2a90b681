#include "report/analysis/plots.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "hgemm/comparison_summary.h"
#include "report/analysis/sentences.h"
#include "report/analysis/svg.h"
#include "report/page_template.h"

namespace warpsmith::analysis {
namespace {

using Sides = std::set<int64_t>;

// Where a map's cells are.
struct MapGrid {
  std::map<int64_t, int> row, column;  // by M, by N
};

std::map<int64_t, int> PlacesOf(const Sides& sides) {
  std::map<int64_t, int> places;
  for (const int64_t side : sides) places.emplace(side, static_cast<int>(places.size()));
  return places;
}

constexpr double kCell = 17, kMapLeft = 46, kMapTop = 22, kMapBelow = 46;

std::string ValueMap(int64_t k, const MapGrid& grid, const std::vector<const MappedShape*>& shapes,
                     const std::vector<LegendEntry>& legend) {
  const double width = kCell * static_cast<double>(grid.column.size());
  const double height = kCell * static_cast<double>(grid.row.size());
  std::string contents = Text({kMapLeft, 14}, "map-title", "K = " + std::to_string(k));
  contents += Box({kMapLeft, kMapTop}, {width, height}, "map-ground", "", "");
  for (const auto& [m, row] : grid.row) {
    contents +=
        Text({kMapLeft - 5, kMapTop + kCell * (row + 0.5) + 3.5}, "small end", std::to_string(m));
  }
  for (const auto& [n, column] : grid.column) {
    const At below = {kMapLeft + kCell * (column + 0.5) + 3.5, kMapTop + height + 5};
    contents += TurnedText(below, "small end", std::to_string(n));
  }
  for (const MappedShape* shape : shapes) {
    const At corner = {kMapLeft + kCell * grid.column.at(shape->problem.n) + 0.5,
                       kMapTop + kCell * grid.row.at(shape->problem.m) + 0.5};
    contents += Box(corner, {kCell - 1, kCell - 1}, "", legend[shape->entry].colour,
                    hgemm::SizesText(shape->problem) + ": " + shape->text);
  }
  return Drawing({kMapLeft + width + 6, kMapTop + height + kMapBelow}, "K = " + std::to_string(k),
                 contents);
}

// A family's name is whatever its file says; this much has room beside a plot.
std::string Short(const std::string& text) {
  constexpr size_t kMost = 32;
  return text.size() <= kMost ? text : text.substr(0, kMost - 3) + "...";
}

struct CountScale {
  int first = 0, last = 0;  // exponents
  int most = 1;             // shapes of a dot
  double left = 0, step = 0, top = 8, row = 22;

  double X(int exponent) const { return left + step * (exponent - first + 0.5); }
  double Y(size_t entry) const { return top + row * (static_cast<double>(entry) + 0.5); }
  double Radius(int count) const {
    constexpr double kGreatest = 10, kLeast = 1.7;
    return std::max(kLeast, kGreatest * std::sqrt(static_cast<double>(count) / most));
  }
};

using Counts = std::map<std::pair<size_t, int>, int>;  // by entry and exponent

CountScale ScaleOf(const Counts& counts, const std::vector<LegendEntry>& legend, double width) {
  CountScale scale;
  scale.first = counts.begin()->first.second;
  scale.last = scale.first;
  for (const auto& [key, count] : counts) {
    scale.first = std::min(scale.first, key.second);
    scale.last = std::max(scale.last, key.second);
    scale.most = std::max(scale.most, count);
  }
  size_t longest = 0;
  for (const LegendEntry& entry : legend) longest = std::max(longest, Short(entry.text).size());
  constexpr double kLetter = 7.2;
  scale.left = kLetter * static_cast<double>(longest) + 24;
  constexpr double kWidestStep = 26;
  scale.step = std::min(kWidestStep, (width - scale.left - 6) / (scale.last - scale.first + 1));
  return scale;
}

std::string CountAxis(const CountScale& scale, double right, double bottom) {
  constexpr double kRoomOfLabel = 18;
  const int every = scale.step < kRoomOfLabel ? 2 : 1;
  std::string text;
  for (int exponent = scale.first; exponent <= scale.last; exponent += every) {
    text += Text({scale.X(exponent), bottom + 15}, "tick middle", std::to_string(exponent));
  }
  return text +
         Text({(scale.left + right) / 2, bottom + 33}, "tick middle", "log2(M N K), rounded down");
}

}  // namespace

std::string CountPlot(std::string_view label, const std::vector<LegendEntry>& legend,
                      const std::vector<MappedShape>& shapes) {
  if (shapes.empty()) return "";
  constexpr double kWidth = 600;
  Counts counts;
  for (const MappedShape& shape : shapes) {
    ++counts[{shape.entry, hgemm::SizeExponent(shape.problem)}];
  }
  const CountScale scale = ScaleOf(counts, legend, kWidth);
  const double right = scale.left + scale.step * (scale.last - scale.first + 1);
  const double bottom = scale.top + scale.row * static_cast<double>(legend.size());
  std::string contents;
  for (size_t entry = 0; entry < legend.size(); ++entry) {
    contents += Line({scale.left, scale.Y(entry)}, {right, scale.Y(entry)}, "grid");
    contents += Text({scale.left - 8, scale.Y(entry) + 4}, "tick end", Short(legend[entry].text));
  }
  contents += CountAxis(scale, right, bottom);
  for (const auto& [key, count] : counts) {
    const auto& [entry, exponent] = key;
    contents +=
        Dot({scale.X(exponent), scale.Y(entry)}, scale.Radius(count), "", legend[entry].colour,
            legend[entry].text + ": " + std::to_string(count) +
                " at log2(MNK) = " + std::to_string(exponent));
  }
  return Drawing({kWidth, bottom + 42}, label, contents);
}

std::string ValueMaps(std::string_view label, const std::vector<MappedShape>& shapes,
                      const std::vector<LegendEntry>& legend) {
  constexpr size_t kMostSides = 24, kMostMaps = 16;
  Sides ms, ns;
  std::map<int64_t, std::vector<const MappedShape*>> by_k;
  for (const MappedShape& shape : shapes) {
    ms.insert(shape.problem.m);
    ns.insert(shape.problem.n);
    by_k[shape.problem.k].push_back(&shape);
  }
  const bool worth_it = std::any_of(by_k.begin(), by_k.end(), [](const auto& entry) {
    constexpr size_t kFewestOfMap = 4;
    return entry.second.size() >= kFewestOfMap;
  });
  if (!worth_it || ms.size() > kMostSides || ns.size() > kMostSides || by_k.size() > kMostMaps) {
    return "";
  }
  constexpr size_t kCellsOfAShape = 6;  // at most, for neighbours to be seen
  if (ms.size() * ns.size() * by_k.size() > kCellsOfAShape * shapes.size()) return "";
  const MapGrid grid = {PlacesOf(ms), PlacesOf(ns)};
  std::string maps;
  for (const auto& [k, of_k] : by_k) maps += ValueMap(k, grid, of_k, legend);
  return "<div class=\"maps\" role=\"group\" aria-label=\"" + report::EscapeHtml(label) + "\">\n" +
         maps + "</div>\n";
}

std::string LegendHtml(const std::vector<LegendEntry>& legend) {
  std::string html = "<p class=\"legend\">";
  for (const LegendEntry& entry : legend) {
    html += "<span><i style=\"background:" + report::EscapeHtml(entry.colour) + "\"></i>" +
            report::EscapeHtml(entry.text) + "</span> ";
  }
  return html + "</p>\n";
}

}  // namespace warpsmith::analysis
