#include "judge/wire_error.h"

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

}  // namespace warpsmith::judge
