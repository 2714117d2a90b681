#include "task/toml_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"

namespace warpsmith::task {
namespace {

using nlohmann::json;

Result<json> ReadBack(const std::string& text) {
  const auto folder = TRY(TemporaryDirectory::Create("toml-text"));
  TRY(WriteFileAtomic(folder.path() / "x.toml", text));
  return task::ReadTomlAsJson(folder.path() / "x.toml", "");
}

TEST(TomlText, WritesTablesBehindTheRestAndObjectsOnLinesOfTheirOwn) {
  const json document = {{"version", 1},
                         {"name", "a"},
                         {"tensors", {{{"name", "x"}, {"shape", {2, 3}}}, {{"name", "y"}}}},
                         {"reference", {{"kind", "torch"}}}};
  EXPECT_EQ(TomlText(document, {"version", "name"}),
            "version = 1\nname = \"a\"\ntensors = [\n  { name = \"x\", shape = [2, 3] },\n"
            "  { name = \"y\" },\n]\n\n[reference]\nkind = \"torch\"\n");
}

TEST(TomlText, PropertyIsReadBackAsItWas) {
  const bool holds = rc::check(
      [](const std::map<std::string, std::string>& texts, int64_t number, double real, bool flag) {
        json document = {{"n", number}, {"flag", flag}, {"list", json::array()}};
        document["empty"] = {{"inner", json::object()}};
        if (std::isfinite(real)) document["real"] = real;
        for (const auto& [key, text] : texts) {
          std::string ascii;  // the reader refuses what is not UTF-8
          for (const char c : text) ascii += static_cast<char>(c & 0x7f);
          document["texts"]["k" + std::to_string(document["texts"].size())] = ascii;
          document["list"].push_back(ascii);
        }
        const Result<json> read = ReadBack(TomlText(document, {"n"}));
        RC_ASSERT(read.ok());
        RC_ASSERT(*read == document);
      });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace warpsmith::task
