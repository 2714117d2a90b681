#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "base/json_reader.h"
#include "commands.h"

namespace warpsmith::cli {

std::string ExitCodesMarkdown() {
  std::string page =
      "# Exit codes\n\n"
      "Made by `warpsmith exit-codes`; a test holds this page to the program.\n\n"
      "| status | name | meaning |\n| --- | --- | --- |\n"
      "| 0 | ok | done; the answer is yes |\n";
  for (const ErrorCodeRow& row : ErrorCodeTable()) {
    page += "| " + std::to_string(row.exit_status) + " | " + std::string(row.name) + " | " +
            std::string(row.meaning) + " |\n";
  }
  return page +
         "\nWith `--json` an error is a document: "
         "`{\"schema\":\"warpsmith.error\",\"version\":1,\"error\":{\"code\",\"message\",\"fix\"}}`"
         ", "
         "its `code` being the name above.\n";
}

std::string ErrorJson(const Error& error) {
  const nlohmann::json document = {
      {"schema", "warpsmith.error"},
      {"version", 1},
      {"error",
       {{"code", Describe(error.code).name}, {"message", error.message}, {"fix", error.fix}}}};
  // A message may quote bytes of a file that are no text.
  return JsonText(document);
}

}  // namespace warpsmith::cli
