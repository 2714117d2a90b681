#include "judge/wire_error.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace warpsmith::judge {

nlohmann::json WireErrorToJson(const Error& error) {
  return {
      {"code", Describe(error.code).exit_status}, {"message", error.message}, {"fix", error.fix}};
}

Status ReadWireError(const JsonReader& reader, Error* told) {
  const int64_t status = TRY(reader.At("code").Int());
  for (const ErrorCodeRow& row : ErrorCodeTable()) {
    if (row.exit_status == status) told->code = row.code;
  }
  told->message = TRY(reader.At("message").String());
  told->fix = TRY(reader.At("fix").String());
  return {};
}

Error OutOfOrder(std::string_view command, std::string_view missing) {
  return Error{ErrorCode::kInternal,
               fmt::format("judge command '{}' came before '{}'", command, missing), ""};
}

}  // namespace warpsmith::judge
