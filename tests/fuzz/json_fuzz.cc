// JSON from any process or file: read as each type in turn, and written again.
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "fuzz.h"

using namespace warpsmith;

namespace {

// Text of any document may be quoted, and the error written as JSON.
void MustBeUtf8(const Status& status) {
  if (!status.ok()) CHECK(IsUtf8(status.error().message) && IsUtf8(status.error().fix));
}

// Every way of reading one value, and its parts.
void ReadAll(const JsonReader& json) {
  fuzz::ValueOf(json.Int());
  fuzz::ValueOf(json.IntIn(-5, 5));
  fuzz::ValueOf(json.Number());
  fuzz::ValueOf(json.Bool());
  fuzz::ValueOf(json.String());
  fuzz::Succeeded(json.OnlyFields({"known"}));
  MustBeUtf8(json.OnlyFields({"known"}));
  MustBeUtf8(json.Bad("what cannot be"));
  const auto items = json.Items();
  if (fuzz::ValueOf(items)) {
    for (const JsonReader& item : *items) ReadAll(item);
  }
  const auto fields = json.Fields();
  if (fuzz::ValueOf(fields)) {
    for (const auto& [key, value] : *fields) ReadAll(value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto parsed = ParseJson("input", fuzz::TextOf(data, size));
  const nlohmann::json* json = fuzz::ValueOf(parsed);
  if (json == nullptr) return 0;
  ReadAll(JsonReader("input", *json));
  const std::string written = json->dump();
  CHECK(ParseJson("written", written).value().dump() == written);
  return 0;
}
