// The form in which a runner or a peer says that a command failed.
#ifndef WARPSMITH_JUDGE_WIRE_ERROR_H_
#define WARPSMITH_JUDGE_WIRE_ERROR_H_

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/json_reader.h"
#include "base/result.h"

namespace warpsmith::judge {

// {"code": the exit status, "message", "fix"}
nlohmann::json WireErrorToJson(const Error& error);
// Fails for what is not of this form; a code that nobody knows is told as kInternal.
Status ReadWireError(const JsonReader& reader, Error* told);

// A command that needs one which has not come.
Error OutOfOrder(std::string_view command, std::string_view missing);

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_WIRE_ERROR_H_
