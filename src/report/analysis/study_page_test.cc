#include "report/analysis/study_page.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>

#include "hgemm/test_comparison.h"
#include "report/analysis/plots.h"
#include "report/analysis/sample_catalogue.h"

namespace warpsmith::analysis {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

int Count(std::string_view text, std::string_view what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

// The first thing that is wrong with the markup's nesting and quoting; empty: nothing is.
std::string WrongWith(std::string_view html) {
  constexpr std::string_view kVoid[] = {"meta", "!doctype"};
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', at + 1)) {
    const size_t end = html.find('>', at);
    if (end == std::string_view::npos) return "an element does not end";
    std::string_view element = html.substr(at + 1, end - at - 1);
    if (element.find('<') != std::string_view::npos) return "< in " + std::string(element);
    if (Count(element, "\"") % 2 != 0) return "a quote is open in " + std::string(element);
    const bool closes = element.starts_with('/');
    if (closes) element.remove_prefix(1);
    const std::string name(element.substr(0, element.find_first_of(" /")));
    if (closes) {
      if (open.empty() || open.back() != name) return "</" + name + "> closes something else";
      open.pop_back();
    } else if (!element.ends_with('/') &&
               std::find(std::begin(kVoid), std::end(kVoid), name) == std::end(kVoid)) {
      open.push_back(name);
    }
  }
  return open.empty() ? "" : "<" + open.back() + "> is not closed";
}

std::string PageOf(const hgemm::Catalogue& catalogue) {
  return ToHtml(MakeStudy(catalogue, std::nullopt).value(), "of a test");
}

TEST(WrongWithTest, SeesBrokenMarkup) {
  EXPECT_EQ(WrongWith("<p>a<b>b</b></p><i class=\"x\"/>"), "");
  EXPECT_NE(WrongWith("<p>a<b>b</p>"), "");
  EXPECT_NE(WrongWith("<p>"), "");
  EXPECT_NE(WrongWith("<p title=\"a>"), "");
}

TEST(StudyPageTest, IsWellFormedAndNeedsNothingElse) {
  const std::string html = PageOf(SampleCatalogue());
  EXPECT_EQ(WrongWith(html), "");
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* reference : {"<script", "src=", "href=", "@import", "url(", "<link", "<iframe",
                                "onload", "nan", "inf\""}) {
    EXPECT_THAT(html, Not(HasSubstr(reference))) << reference;
  }
  for (const Trait& trait : Traits()) {
    EXPECT_THAT(html, HasSubstr("<h2>" + std::string(trait.title) + "</h2>"));
  }
}

TEST(StudyPageTest, EveryShapeIsInItsPlotsAndLossesAreListed) {
  const std::string html = PageOf(SampleCatalogue());
  // In the plot of ratios, its map, and the map of each trait that has more than one value.
  EXPECT_EQ(Count(html, "<title>256x256x1024: 1.250 [1.238, 1.262]</title>"), 1);
  EXPECT_GE(Count(html, "<title>256x256x1024: "), 8);
  EXPECT_EQ(Count(html, "<td class=\"number bad\">0.970</td><td class=\"number\">0.960 to 0.980"),
            4);
  EXPECT_THAT(html, HasSubstr("K = 4096"));
  // Below 1, and of these shown slower: the interval of 0.97 ends at 0.98.
  EXPECT_THAT(html, HasSubstr("<td class=\"number\">4</td><td class=\"number bad\">4</td>"));
}

TEST(StudyPageTest, OneShapeAndOneFamilyAreStillAPage) {
  hgemm::Catalogue catalogue;
  catalogue.rows = {SampleRow({1, 1, 1}, {"someone's", {}}, 1.5)};
  const std::string html = PageOf(catalogue);
  EXPECT_EQ(WrongWith(html), "");
  EXPECT_THAT(html, HasSubstr("The only shape has: none."));
  EXPECT_THAT(html, HasSubstr("No ratio of any shape in any measured mode is below 1."));
  EXPECT_THAT(html, Not(HasSubstr("nan")));
}

TEST(StudyPageTest, HostileTextStaysText) {
  hgemm::Catalogue catalogue = SampleCatalogue();
  for (hgemm::CatalogueRow& row : catalogue.rows) {
    row.device = "<script>alert(1)</script>";
    row.driver = "\"><img src=x>";
    row.kernel.family = "<i>'";
  }
  const std::string html =
      ToHtml(MakeStudy(catalogue, std::nullopt).value(), "</p><script>alert(2)");
  EXPECT_EQ(WrongWith(html), "");
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
}

// Hundreds of kernels that nobody is given would hide it.
TEST(StudyPageTest, TheLibrarysLossesComeFirst) {
  hgemm::MeasurementTable table = hgemm::SampleTable();
  table.shapes = {hgemm::SampleShape({64, 256, 64}, 0.9)};
  for (hgemm::ModeComparison& mode : table.shapes[0].modes) mode.library = hgemm::Ratio(0.99);
  std::string html = ToHtml(MakeStudy(SampleCatalogue(), table).value(), "");
  html.erase(0, html.find("<h2>Losses</h2>"));
  const size_t library = html.find("<td>library</td>"), kernel = html.find("<td>kernel alone</td>");
  ASSERT_NE(library, std::string::npos);
  ASSERT_NE(kernel, std::string::npos);
  EXPECT_LT(library, kernel);
  EXPECT_EQ(html.find("<td>library</td>", kernel), std::string::npos);
}

// A name from a file may be longer than a plot is wide.
TEST(StudyPageTest, ALongNameLeavesRoomForThePlot) {
  hgemm::Catalogue catalogue = SampleCatalogue();
  for (hgemm::CatalogueRow& row : catalogue.rows) row.kernel.family = std::string(500, 'f');
  const std::string html = PageOf(catalogue);
  EXPECT_THAT(html, HasSubstr(">" + std::string(29, 'f') + "...</text>"));
  EXPECT_THAT(html, Not(HasSubstr("cx=\"-")));
}

// The comparison is of TN; nothing is known of how NN kernels fare.
TEST(StudyPageTest, AChapterWithoutRatiosClaimsNoWins) {
  hgemm::Catalogue catalogue = SampleCatalogue();
  catalogue.rows.push_back(SampleRow({64, 64, 64, hgemm::Layout::kNN}, TinyPoint(1), 1.5));
  hgemm::MeasurementTable table = hgemm::SampleTable();
  table.shapes = {hgemm::SampleShape({64, 256, 64}, 0.9)};
  const std::string html = ToHtml(MakeStudy(catalogue, table).value(), "");
  const std::string nn = html.substr(0, html.find("TN f16 on"));
  EXPECT_THAT(nn, HasSubstr("No ratio is known"));
  EXPECT_THAT(nn, Not(HasSubstr("is below 1")));
  EXPECT_EQ(WrongWith(html), "");
}

TEST(StudyPageTest, EvidenceIsThatOfTheRatios) {
  hgemm::Catalogue catalogue = SampleCatalogue();
  for (hgemm::CatalogueRow& row : catalogue.rows) row.driver = "old-driver";
  hgemm::MeasurementTable table = hgemm::SampleTable();
  table.shapes = {hgemm::SampleShape({64, 256, 64}, 0.9)};
  const std::string html = ToHtml(MakeStudy(catalogue, table).value(), "");
  EXPECT_THAT(html, HasSubstr("<dt>ratios compared</dt><dd>2026-11-22T01:00:00Z to "));
  EXPECT_THAT(html, HasSubstr("<dt>driver</dt><dd>old-driver</dd>"));
  EXPECT_THAT(html, HasSubstr("<dt>driver</dt><dd>580.159.04</dd>"));
}

TEST(StudyPageTest, AComparisonBringsTheLibraryAndAllModes) {
  hgemm::MeasurementTable table = hgemm::SampleTable();
  table.shapes = {hgemm::SampleShape({64, 256, 64}, 0.9)};
  const std::string html = ToHtml(MakeStudy(SampleCatalogue(), table).value(), "");
  EXPECT_EQ(WrongWith(html), "");
  EXPECT_THAT(html, HasSubstr("<h3>server, single calls: library</h3>"));
  EXPECT_THAT(html, HasSubstr("which measured 1 of 16 shapes (6 %)"));
}

TEST(ValueMapsTest, AreLeftOutWhereSizesAreTooMany) {
  std::vector<MappedShape> shapes;
  for (int64_t m = 1; m <= 24; ++m) shapes.push_back({{m, 64, 64}, 0, ""});
  EXPECT_THAT(ValueMaps("maps", shapes, {{"a", "#000000"}}), HasSubstr("24x64x64"));
  shapes.push_back({{25, 64, 64}, 0, ""});
  EXPECT_EQ(ValueMaps("maps", shapes, {{"a", "#000000"}}), "");
  EXPECT_EQ(ValueMaps("maps", {}, {}), "");
}

TEST(ValueMapsTest, AreLeftOutWhereTheyWouldBeAllButEmpty) {
  std::vector<MappedShape> shapes;
  for (int64_t i = 0; i < 7; ++i) shapes.push_back({{64 + i, 64 + i, 64}, 0, ""});
  EXPECT_EQ(ValueMaps("maps", shapes, {{"a", "#000000"}}), "");  // 7 of 49
  shapes.push_back({{64, 65, 64}, 0, ""});
  shapes.push_back({{65, 64, 64}, 0, ""});
  EXPECT_NE(ValueMaps("maps", shapes, {{"a", "#000000"}}), "");
}

TEST(RatioLegendTest, EveryRatioHasItsEntry) {
  EXPECT_EQ(RatioLegend()[RatioEntry(0.2)].text, "below 0.9");
  EXPECT_EQ(RatioLegend()[RatioEntry(0.9)].text, "0.9 to 0.95");
  EXPECT_EQ(RatioLegend()[RatioEntry(1)].text, "0.99 to 1.01");
  EXPECT_EQ(RatioLegend()[RatioEntry(70)].text, "1.5 and more");
}

}  // namespace
}  // namespace warpsmith::analysis
