#include "compile/pack.h"

#include <cstdint>
#include <cstring>

namespace warpsmith::compile {
namespace {

template <typename T>
void AppendNumber(T value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Takes a number off the front of `bytes`; false when it is not whole.
template <typename T>
bool TakeNumber(std::string_view* bytes, T* value) {
  if (bytes->size() < sizeof(*value)) return false;
  std::memcpy(value, bytes->data(), sizeof(*value));
  bytes->remove_prefix(sizeof(*value));
  return true;
}

Error Malformed(std::string_view source) {
  return Error{ErrorCode::kBadInput, std::string(source) + ": packed strings are not whole", ""};
}

}  // namespace

std::string Pack(const std::vector<std::string>& items) {
  std::string out;
  AppendNumber(static_cast<uint32_t>(items.size()), &out);
  for (const std::string& item : items) {
    AppendNumber(static_cast<uint64_t>(item.size()), &out);
    out += item;
  }
  return out;
}

Result<std::vector<std::string>> Unpack(std::string_view source, std::string_view bytes) {
  uint32_t count = 0;
  if (!TakeNumber(&bytes, &count)) return Malformed(source);
  std::vector<std::string> items;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t size = 0;
    if (!TakeNumber(&bytes, &size) || size > bytes.size()) return Malformed(source);
    items.emplace_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  if (!bytes.empty()) return Malformed(source);
  return items;
}

}  // namespace warpsmith::compile
