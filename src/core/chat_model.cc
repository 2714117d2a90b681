#include "core/chat_model.h"

#include <nlohmann/json.hpp>

#include "core/serialize.h"
#include "util/sha256.h"

namespace warpsmith {

std::string RequestId(const ChatRequest& request) { return Sha256Hex(ToJson(request).dump()); }

}  // namespace warpsmith
