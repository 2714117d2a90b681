#include "report/page_template.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <nlohmann/json.hpp>

namespace warpsmith::report {
namespace {

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

TEST(FillStaticPage, HasNoScriptAndFillsNothingInTwice) {
  const std::string html =
      FillStaticPage("<i>title</i>", "{{body}}", ".mine { color: red; }", "<p>{{title}}</p>");
  EXPECT_NE(html.find("<h1>&lt;i&gt;title&lt;/i&gt;</h1>"), std::string::npos);
  EXPECT_NE(html.find("<p class=\"muted\">{{body}}</p>"), std::string::npos);
  EXPECT_NE(html.find("<p>{{title}}</p>"), std::string::npos);
  EXPECT_NE(html.find(".mine { color: red; }"), std::string::npos);
  EXPECT_EQ(html.find("<script"), std::string::npos);
}

// One head for both: a page allows what it needs and no request.
TEST(PageHead, AllowsScriptsOnlyWhereThereAreSome) {
  const std::string page = FillPage("a & b", "report.js", nlohmann::json::object());
  EXPECT_NE(page.find("content=\"default-src 'none'; script-src 'unsafe-inline'; img-src data:; "
                      "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"),
            std::string::npos);
  const std::string fixed = FillStaticPage("a & b", "", "", "");
  EXPECT_NE(fixed.find("content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
                       "form-action 'none'\">"),
            std::string::npos);
  for (const std::string& html : {page, fixed}) {
    EXPECT_EQ(html.find("<!doctype html>"), 0U);
    EXPECT_NE(html.find("<title>a &amp; b</title>"), std::string::npos);
    EXPECT_NE(html.find("--page: #f5f6f8"), std::string::npos);
  }
}

}  // namespace
}  // namespace warpsmith::report
