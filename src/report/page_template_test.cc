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
