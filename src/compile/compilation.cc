#include "compile/compilation.h"

#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/utf8.h"

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

Error Malformed(const char* what) {
  return Error{ErrorCode::kIo, std::string("compile worker: malformed ") + what, ""};
}

Result<int64_t> NumberFrom(const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (parsed.ec != std::errc() || parsed.ptr != end || number < 0) return Malformed("number");
  return number;
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

std::string PackCompilation(const Compilation& compilation, const Limits& limits) {
  std::vector<std::string> items = {std::to_string(limits.output_bytes),
                                    std::to_string(limits.image_bytes), compilation.entry,
                                    std::to_string(compilation.flags.size())};
  items.insert(items.end(), compilation.flags.begin(), compilation.flags.end());
  for (const auto& [path, text] : compilation.sources) {
    items.push_back(path);
    items.push_back(text);
  }
  return Pack(items);
}

Result<std::pair<Compilation, Limits>> UnpackCompilation(std::string_view payload) {
  const std::vector<std::string> items = TRY(Unpack("compile request", payload));
  constexpr size_t kFixed = 4;
  if (items.size() < kFixed) return Malformed("request");
  std::pair<Compilation, Limits> unpacked;
  auto& [compilation, limits] = unpacked;
  limits.output_bytes = TRY(NumberFrom(items[0]));
  limits.image_bytes = TRY(NumberFrom(items[1]));
  compilation.entry = items[2];
  const auto flags = static_cast<size_t>(TRY(NumberFrom(items[3])));
  if (flags > items.size() - kFixed) return Malformed("request");
  const size_t sources = kFixed + flags;
  if ((items.size() - sources) % 2 != 0) return Malformed("request");
  for (size_t i = kFixed; i < sources; ++i) compilation.flags.push_back(items[i]);
  for (size_t i = sources; i < items.size(); i += 2) compilation.sources[items[i]] = items[i + 1];
  return unpacked;
}

std::string PackCompiled(const Compiled& compiled) {
  return Pack({compiled.image, compiled.failure, compiled.log, compiled.repeatable ? "1" : "0",
               std::to_string(compiled.writable_global_bytes), compiled.unconfined});
}

Result<Compiled> UnpackCompiled(std::string_view payload) {
  std::vector<std::string> items = TRY(Unpack("compile reply", payload));
  if (items.size() != 6) return Malformed("reply");
  Compiled compiled;
  compiled.image = std::move(items[0]);
  compiled.failure = std::move(items[1]);
  compiled.log = std::move(items[2]);
  compiled.repeatable = items[3] == "1";
  compiled.writable_global_bytes = TRY(NumberFrom(items[4]));
  compiled.unconfined = std::move(items[5]);
  return compiled;
}

std::string TidyLog(std::string_view log, int64_t limit_bytes) {
  const auto limit = static_cast<size_t>(limit_bytes);
  if (log.size() <= limit) return ValidUtf8(log);
  const std::string_view head = log.substr(0, limit / 2);
  const std::string_view tail = log.substr(log.size() - limit / 2);
  return ValidUtf8(head) + "\n[... " + std::to_string(log.size() - head.size() - tail.size()) +
         " bytes of the log were cut here ...]\n" + ValidUtf8(tail);
}

}  // namespace warpsmith::compile
