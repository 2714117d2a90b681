// The core values' JSON, which files, the store and the wire have in common. The first line names
// the value. What was read, written and read again is the same.
#include <array>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "core/serialize.h"
#include "fuzz.h"

using namespace warpsmith;

namespace {

template <typename T>
void Check(const nlohmann::json& json, Result<T> (*from)(const JsonReader&)) {
  const auto value = from(JsonReader("input", json));
  if (fuzz::ValueOf(value) == nullptr) return;
  const nlohmann::json written = ToJson(*value);
  const nlohmann::json parsed = ParseJson("written", written.dump()).value();
  const auto again = from(JsonReader("written", parsed));
  CHECK(again.ok() && ToJson(*again).dump() == written.dump());
}

struct Kind {
  std::string_view name;
  void (*check)(const nlohmann::json&);
};
constexpr std::array<Kind, 11> kKinds = {{
    {"plan", [](const nlohmann::json& json) { Check(json, LaunchPlanFrom); }},
    {"task", [](const nlohmann::json& json) { Check(json, TaskFrom); }},
    {"workload", [](const nlohmann::json& json) { Check(json, WorkloadFrom); }},
    {"candidate", [](const nlohmann::json& json) { Check(json, CandidateFrom); }},
    {"artifact", [](const nlohmann::json& json) { Check(json, ArtifactFrom); }},
    {"protocol", [](const nlohmann::json& json) { Check(json, ProtocolFrom); }},
    {"verdict", [](const nlohmann::json& json) { Check(json, VerdictFrom); }},
    {"device", [](const nlohmann::json& json) { Check(json, DeviceInfoFrom); }},
    {"reward", [](const nlohmann::json& json) { Check(json, RewardTermsFrom); }},
}};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto [name, text] = fuzz::CutLine(fuzz::TextOf(data, size));
  const auto parsed = ParseJson("input", text);
  const nlohmann::json* json = fuzz::ValueOf(parsed);
  if (json == nullptr) return 0;
  for (const Kind& kind : kKinds) {
    if (kind.name == name) kind.check(*json);
  }
  return 0;
}
