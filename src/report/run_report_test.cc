#include "report/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <nlohmann/json.hpp>

#include "report/tests/sample_report.h"

namespace warpsmith::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

int Count(std::string_view text, std::string_view what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

// What the page's script will parse.
std::string DataOf(const std::string& html) {
  const std::string open = "id=\"report-data\">";
  const size_t start = html.find(open) + open.size();
  return html.substr(start, html.find("</script>", start) - start);
}

TEST(ToHtml, IsOneFileThatAsksTheNetworkForNothing) {
  const std::string html = ToHtml(SampleReport());
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  for (const char* reference : {"src=\"http", "href=\"http", "src=\"//", "@import", "url(http",
                                "<link", "<iframe", "fetch(", "XMLHttpRequest"}) {
    EXPECT_THAT(html, Not(HasSubstr(reference))) << reference;
  }
  EXPECT_THAT(html, HasSubstr("Chart.js v"));
  EXPECT_THAT(html, Not(HasSubstr("{{style}}")));
}

TEST(ToHtml, HostileTextStaysText) {
  RunReport report = SampleReport();
  report.title = kHostileText;
  report.origin.command = kHostileText;
  const std::string html = ToHtml(report);
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_EQ(Count(html, "</script>"), 5);
  EXPECT_EQ(
      nlohmann::json::parse(DataOf(html))["origin"]["command"].get<std::string>().substr(0, 9),
      "</script>");
}

TEST(ToHtml, CarriesEveryNumberOfTheReport) {
  const auto data = nlohmann::json::parse(DataOf(ToHtml(SampleReport())));
  EXPECT_EQ(data["schema"], "warpsmith.report");
  EXPECT_EQ(data["version"], 1);
  EXPECT_EQ(data["shapes"].size(), 12U);
  EXPECT_EQ(data["shapes"][10]["label"], "4096x4096x4096");
  EXPECT_DOUBLE_EQ(data["shapes"][10]["winners"][0]["ratio"].get<double>(), 0.91);
  EXPECT_EQ(data["proposers"].size(), 72U);
}

TEST(ToHtml, AnEmptyReportIsStillAPage) {
  const auto data = nlohmann::json::parse(DataOf(ToHtml(RunReport())));
  EXPECT_TRUE(data["shapes"].empty());
  EXPECT_TRUE(data["tallies"].empty());
}

TEST(ToCsv, SaysWhereTheNumbersComeFromThenHasTheAgreedColumns) {
  const std::string csv = ToCsv(SampleReport());
  EXPECT_THAT(csv, StartsWith("# device: NVIDIA H200\n# driver: 580.95\n"));
  EXPECT_THAT(csv, HasSubstr("# date: 2026-11-21T10:00:00Z\n# command: warpsmith hgemm tune"));
  EXPECT_THAT(csv, HasSubstr("\nm,n,k,mode,config,ours_us,lt_auto_us,ratio,lo,hi,floor_us\n"));
  EXPECT_THAT(csv, HasSubstr("\n4096,4096,4096,device,wgmma bm=128 bn=256 cluster=2 raster=8 "
                             "splits=1 stages=4,224.2,204,0.9100,"));
}

TEST(ToCsv, ALineBreakInACommandCannotForgeARow) {
  RunReport report = SampleReport();
  report.origin.command = "x\n1,1,1,device,forged,1,2,2,2,2,1";
  EXPECT_THAT(ToCsv(report), HasSubstr("# command: x 1,1,1,device,forged"));
}

TEST(CsvCell, QuotesAndDefusesFormulas) {
  EXPECT_EQ(CsvCell("bm=128 bn=64"), "bm=128 bn=64");
  EXPECT_EQ(CsvCell("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvCell("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(CsvCell("=HYPERLINK(1)"), "'=HYPERLINK(1)");
}

TEST(EscapeForScript, KeepsTheValueAndCannotEndTheElement) {
  const bool held =
      rc::check("any text survives and no markup is left", [](const std::string& text) {
        const nlohmann::json value = {{"text", text + "</script><!--"}};
        const std::string dumped =
            value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        const std::string escaped = EscapeForScript(dumped);
        RC_ASSERT(escaped.find('<') == std::string::npos);
        RC_ASSERT(nlohmann::json::parse(escaped) == nlohmann::json::parse(dumped));
      });
  EXPECT_TRUE(held);
}

TEST(EscapeHtml, EscapesWhatEndsTextOrAttributes) {
  EXPECT_EQ(EscapeHtml("<a b=\"c\" d='e'>&"), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
}

TEST(FillPage, AllowsItsOwnScriptAndNoRequest) {
  const std::string page = FillPage("a & {{data}}", "report.js", {{"text", "{{script}}"}});
  EXPECT_NE(page.find("content=\"default-src 'none'; script-src 'unsafe-inline'; img-src data:; "
                      "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"),
            std::string::npos);
  EXPECT_EQ(page.find("<!doctype html>"), 0U);
  EXPECT_NE(page.find("--page: #f5f6f8"), std::string::npos);
  // Nothing is filled in twice.
  EXPECT_NE(page.find("<title>a &amp; {{data}}</title>"), std::string::npos);
  EXPECT_NE(page.find("<h1>a &amp; {{data}}</h1>"), std::string::npos);
  EXPECT_NE(page.find("{\"text\":\"{{script}}\"}"), std::string::npos);
}

}  // namespace

}  // namespace warpsmith::report
