#include "report/analysis/study_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "embedded/analysis_style.h"
#include "report/analysis/html_table.h"
#include "report/analysis/plots.h"
#include "report/analysis/rank_correlation.h"
#include "report/analysis/ratio_cards.h"
#include "report/analysis/sentences.h"
#include "report/analysis/svg.h"
#include "report/page_template.h"

namespace warpsmith::analysis {
namespace {

using report::EscapeHtml;

// As it is printed, so that no 0.50 is bold and another not.
bool IsStrong(std::optional<double> correlation, int shapes) {
  constexpr double kStrong = 0.5;
  const double strength = std::round(100 * std::abs(correlation.value_or(0))) / 100;
  return strength >= kStrong && strength >= ChanceCorrelation(shapes);
}

std::string TrendCard(const Chapter& chapter) {
  std::vector<TableRow> rows;
  for (const QuantityTrend& trend : chapter.trends) {
    TableRow row = {{std::string(trend.quantity->name), ""},
                    {std::to_string(trend.shapes), "number"}};
    for (const std::optional<double>& correlation : trend.correlation) {
      char text[16] = "-";
      if (correlation) std::snprintf(text, sizeof text, "%+.2f", *correlation);
      row.push_back({text, IsStrong(correlation, trend.shapes) ? "number strong" : "number"});
    }
    rows.push_back(std::move(row));
  }
  TableRow head = {{"of the best kernels", ""}, {"shapes that have it", "number"}};
  for (const std::string_view size : kSizeNames) head.push_back({std::string(size), "number"});
  return Card(
      "What goes with what",
      "Spearman's rank correlation of a parameter with a size: +1 where it always rises "
      "with it, -1 where it always falls. Bold: 0.5 or more either way, and more than so many "
      "shapes show by chance in one draw of 500. A dash: it never changes, or there are "
      "fewer than eight shapes. It says what was found together, not "
      "why.",
      Table(head, rows));
}

std::vector<LegendEntry> LegendOf(const Trait& trait, const CountedTrait& values) {
  const bool has_none = !values.empty() && !values.front().value;
  const size_t coloured = values.size() - (has_none ? 1 : 0);
  std::vector<std::string> colours = trait.ordered ? Shades(coloured) : Hues(coloured);
  if (has_none) colours.insert(colours.begin(), "#9aa3ad");
  std::vector<LegendEntry> legend;
  for (size_t i = 0; i < values.size(); ++i) {
    legend.push_back({values[i].value ? values[i].value->text : "none", colours[i]});
  }
  return legend;
}

std::vector<MappedShape> Mapped(const Chapter& chapter, size_t trait) {
  std::vector<MappedShape> mapped;
  const CountedTrait& values = chapter.traits[trait];
  for (const StudiedShape& shape : chapter.shapes) {
    const auto place = std::find_if(values.begin(), values.end(), [&](const CountedValue& counted) {
      return counted.value == shape.values[trait];
    });
    mapped.push_back({shape.problem, static_cast<size_t>(place - values.begin()),
                      place->value ? place->value->text : "none"});
  }
  return mapped;
}

Cell CountCell(int count, int whole) {
  if (count == 0) return {"<span class=\"share\">0</span>", "number"};
  return {std::to_string(count) + " <span class=\"share\">" +
              std::to_string(std::lround(100.0 * count / whole)) + " %</span>",
          "number"};
}

std::string CountTable(const Chapter& chapter, size_t trait,
                       const std::vector<LegendEntry>& legend) {
  TableRow head = {{"value", ""}};
  for (const hgemm::SizeClass size_class : hgemm::kSizeClasses) {
    head.push_back({std::string(Name(size_class)), "number"});
  }
  head.push_back({"all", "number"});
  head.push_back({"ratio", "number"});
  std::vector<TableRow> rows;
  for (size_t i = 0; i < legend.size(); ++i) {
    const CountedValue& counted = chapter.traits[trait][i];
    TableRow row = {{"<i style=\"background:" + EscapeHtml(legend[i].colour) + "\"></i>" +
                         EscapeHtml(legend[i].text),
                     ""}};
    for (size_t c = 0; c < counted.shapes.of.size(); ++c) {
      row.push_back(CountCell(counted.shapes.of[c], chapter.counts.of[c]));
    }
    row.push_back(CountCell(counted.shapes.all, chapter.counts.all));
    row.push_back({counted.geomean_alone ? RatioText(*counted.geomean_alone) : "-", "number"});
    rows.push_back(std::move(row));
  }
  return Table(head, rows);
}

std::string TraitCard(const Chapter& chapter, size_t trait) {
  const Trait& what = Traits()[trait];
  const std::vector<LegendEntry> legend = LegendOf(what, chapter.traits[trait]);
  const std::vector<MappedShape> mapped = Mapped(chapter, trait);
  const std::string title(what.title);
  std::string html = List(SentencesOf(chapter, trait));
  html +=
      "<div class=\"pair\"><div><h3>Shapes whose best kernel has it, by size: a dot's area is "
      "their number</h3>\n" +
      CountPlot(title + " by log2(MNK)", legend, mapped) +
      "</div><div><h3>The same by class, and the geometric mean of these kernels' ratios</h3>\n" +
      CountTable(chapter, trait, legend) + "</div></div>\n";
  // Where nothing differs a map would show one colour.
  const std::string maps =
      legend.size() > 1 ? ValueMaps(title + " by M, N and K", mapped, legend) : "";
  if (!maps.empty()) {
    html += "<h3>M down, N across, a map for each K</h3>\n" + LegendHtml(legend) + maps;
  }
  return Card(title, what.about, html);
}

std::string Listed(const std::set<std::string>& texts) {
  std::string listed;
  for (const std::string& text : texts) listed += (listed.empty() ? "" : ", ") + text;
  return EscapeHtml(listed);
}

std::string LevelText(const Chapter& chapter) {
  std::string text;
  for (const auto& [level, rows] : chapter.levels) {
    text += (text.empty() ? "" : ", ") + level + " (" + std::to_string(rows) + ")";
  }
  return EscapeHtml(text);
}

std::string OriginCard(const Chapter& chapter) {
  std::vector<std::pair<std::string_view, std::string>> facts = {
      {"device", EscapeHtml(chapter.device)}, {"catalogue's rows", LevelText(chapter)}};
  const auto add = [&](std::string_view heading, const Origin& origin) {
    facts.insert(facts.end(),
                 {{heading, EscapeHtml(origin.first_date + " to " + origin.last_date)},
                  {"driver", Listed(origin.drivers)},
                  {"toolkit", Listed(origin.toolkits)},
                  {"baseline", Listed(origin.baselines) + ", " + Listed(origin.libraries)}});
  };
  add("rows measured", chapter.tuned);
  if (chapter.compared > 0) add("ratios compared", chapter.compared_with);
  std::string html = "<dl>";
  for (const auto& [name, text] : facts) {
    html += "<dt>" + EscapeHtml(name) + "</dt><dd>" + text + "</dd>\n";
  }
  return Card("Evidence", "", html + "</dl>\n");
}

std::string ChapterTitle(const Chapter& chapter) {
  return std::string(chapter.layout == hgemm::Layout::kNN ? "NN " : "TN ") +
         std::string(warpsmith::Name(chapter.dtype)) + " on " + chapter.device;
}

std::string ChapterHtml(const Chapter& chapter) {
  std::string html = "<h2 class=\"chapter\">" + EscapeHtml(ChapterTitle(chapter)) + "</h2>\n";
  html += Card("What the data say",
               "Classes by 2MNK: tiny up to 2^28, small up to 2^33, medium up to 2^37, large.",
               List(Overview(chapter)));
  html += OriginCard(chapter) + RatioCard(chapter) + TrendCard(chapter);
  for (size_t trait = 0; trait < Traits().size(); ++trait) html += TraitCard(chapter, trait);
  return html + LossCard(chapter);
}

}  // namespace

std::string ToHtml(const Study& study, std::string_view subtitle) {
  std::string body;
  for (const Chapter& chapter : study.chapters) body += ChapterHtml(chapter);
  return report::FillStaticPage("HGEMM: which kernels won on which shapes", subtitle,
                                embedded::AnalysisStyle().front().contents, body);
}

}  // namespace warpsmith::analysis
