#include "hgemm/bench/catalogues.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "hgemm/family.h"
#include "hgemm/tests/catalogue.h"
#include "hgemm/tests/comparison.h"

// What the page's own script makes of its data: tests/program/catalogue_page.mjs.
namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Catalogue TwoRows() { return {{SampleRow(64, 1.25), SampleRow(128, 0.97)}}; }

// A comparison of both shapes, of the second with another kernel.
MeasurementTable PageComparison() {
  MeasurementTable table = SampleTable();
  table.shapes = {SampleShape(TwoRows().rows[0].problem, 1.75),
                  SampleShape(TwoRows().rows[1].problem, 1.5)};
  table.shapes[0].choice = PointName(TwoRows().rows[0].kernel);
  table.shapes[1].choice = "tiny warp_m=32";
  return table;
}

nlohmann::json PageData(const Catalogue& catalogue,
                        const std::optional<MeasurementTable>& comparison = std::nullopt) {
  const std::string html = CataloguePage(catalogue, comparison, "of a test").value();
  const std::string open = "id=\"report-data\">";
  const size_t start = html.find(open) + open.size();
  return nlohmann::json::parse(html.substr(start, html.find("</script>", start) - start));
}

TEST(CataloguePage, CarriesEveryRowWithItsOwnRatios) {
  const nlohmann::json data = PageData(TwoRows());
  ASSERT_EQ(data["rows"].size(), 2U);
  const nlohmann::json& row = data["rows"][0];
  EXPECT_EQ(row["sizes"], nlohmann::json({64, 128, 256}));
  EXPECT_EQ(row["chapter"], "TN f16 on NVIDIA H200");
  EXPECT_EQ(row["class"], "tiny");
  EXPECT_EQ(row["exponent"], 21);
  EXPECT_EQ(row["config"]["warp_m"], 16);
  EXPECT_EQ(row["alone"]["device"], nlohmann::json({1.25, 1.24, 1.26}));
  EXPECT_TRUE(row["library"].empty());
  EXPECT_EQ(row["origin"]["baseline"], "cublaslt-auto");
  EXPECT_EQ(data["subtitle"], "of a test");
  EXPECT_FALSE(data["compared"].get<bool>());
}

TEST(CataloguePage, RatiosAreOfTheFirstBaselineAlone) {
  Catalogue catalogue = TwoRows();
  catalogue.rows[0].results[1].baseline = "fallback";
  EXPECT_EQ(PageData(catalogue)["rows"][0]["alone"].size(), 1U);
}

TEST(CataloguePage, AComparisonsRatiosStandForTheCatalogues) {
  const nlohmann::json data = PageData(TwoRows(), PageComparison());
  const nlohmann::json &compared = data["rows"][0], &other = data["rows"][1];
  EXPECT_DOUBLE_EQ(compared["alone"]["server"][0].get<double>(), 1.75);
  EXPECT_DOUBLE_EQ(compared["library"]["device"][0].get<double>(), 1.75);
  EXPECT_EQ(data["sessions"][compared["session"].get<size_t>()]["driver"], "580.159.04");
  EXPECT_TRUE(other["other_kernel"].get<bool>());
  EXPECT_TRUE(other["alone"].empty());  // not the catalogue's 0.97
  EXPECT_TRUE(other["library"].empty());
}

TEST(CataloguePage, AComparisonMayBeOlderThanAParameter) {
  Catalogue catalogue = TwoRows();
  MeasurementTable table = PageComparison();
  catalogue.rows[0].kernel = WithAllParameters(catalogue.rows[0].kernel);
  ASSERT_NE(table.shapes[0].choice, PointName(catalogue.rows[0].kernel));
  EXPECT_TRUE(PageData(catalogue, table)["rows"][0].contains("session"));
}

// The comparison is of TN; nothing is known of how NN kernels fare.
TEST(CataloguePage, AnotherLayoutHasNoRatios) {
  Catalogue catalogue = TwoRows();
  catalogue.rows.push_back(SampleRow(64, 1.5));
  catalogue.rows.back().problem.layout = Layout::kNN;
  const nlohmann::json row = PageData(catalogue, PageComparison())["rows"][2];
  EXPECT_EQ(row["chapter"], "NN f16 on NVIDIA H200");
  EXPECT_TRUE(row["alone"].empty());
  EXPECT_FALSE(row.contains("session"));
}

TEST(CataloguePage, RefusesAnEmptyCatalogueAndAComparisonOfSomethingElse) {
  EXPECT_EQ(CataloguePage({}, std::nullopt, "").error().code, ErrorCode::kNothingMeasured);
  MeasurementTable elsewhere = PageComparison();
  elsewhere.terms.device = "another GPU";
  const auto refused = CataloguePage(TwoRows(), elsewhere, "");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(refused.error().message, HasSubstr("another GPU"));
}

TEST(CataloguePage, HostileTextStaysTextAndNothingElseIsNeeded) {
  Catalogue catalogue = TwoRows();
  catalogue.rows[0].device = "<script>alert(1)</script>";
  catalogue.rows[0].kernel.family = "</script><img src=x>";
  const std::string html = CataloguePage(catalogue, std::nullopt, "<script>alert(2)").value();
  for (const char* reference : {"<script>alert", "<img", "src=\"", "href=\"", "@import", "url(",
                                "<link", "<iframe", "fetch(", "XMLHttpRequest"}) {
    EXPECT_THAT(html, Not(HasSubstr(reference))) << reference;
  }
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

// A parameter that was renamed in a family would leave its trait without a value.
TEST(CataloguePage, TheScriptReadsOnlyParametersThatFamiliesHave) {
  std::set<std::string> known;
  for (const Family& family : Families()) {
    for (const auto& [name, value] : family.defaults()) known.insert(name);
  }
  std::string html = CataloguePage(TwoRows(), std::nullopt, "").value();
  html.erase(0, html.find("function product("));
  html.erase(html.find("// ---- statistics"));
  int names = 0;
  for (const char* pattern : {"\\bc\\.([a-z_]+)", "'([a-z]+_[a-z_]+|splits|slices)'[,)]"}) {
    const std::regex parameter(pattern);
    for (std::sregex_iterator at(html.begin(), html.end(), parameter), end; at != end; ++at) {
      if ((*at)[1] == "mma_sync") continue;
      EXPECT_TRUE(known.contains((*at)[1])) << (*at)[1];
      ++names;
    }
  }
  EXPECT_GT(names, 25);
}

}  // namespace
}  // namespace warpsmith::hgemm
