#include "core/chat_model.h"

#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "core/serialize.h"

namespace warpsmith {

std::string RequestId(const ChatRequest& request) { return Sha256Hex(ToJson(request).dump()); }

}  // namespace warpsmith
