#include "core/serialize.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/json_fields.h"

namespace warpsmith {

using json_fields::Read;
using json_fields::ReadAs;
using json_fields::Value;
using nlohmann::json;

json ToJson(const LaunchPlan& plan) { return Value(plan); }
json ToJson(const Task& task) { return Value(task); }
json ToJson(const Workload& workload) { return Value(workload); }
json ToJson(const Candidate& candidate) { return Value(candidate); }
json ToJson(const Provenance& provenance) { return Value(provenance); }
json ToJson(const Artifact& artifact) { return Value(artifact); }
json ToJson(const Protocol& protocol) { return Value(protocol); }
json ToJson(const Verdict& verdict) { return Value(verdict); }
json ToJson(const DeviceInfo& info) { return Value(info); }
json ToJson(const Point& point) { return Value(point); }
json ToJson(const Cost& cost) { return Value(cost); }
json ToJson(const RewardTerms& terms) { return Value(terms); }
json ToJson(const ChatRequest& request) { return Value(request); }

Result<LaunchPlan> LaunchPlanFrom(const JsonReader& json) { return ReadAs<LaunchPlan>(json); }
Result<Task> TaskFrom(const JsonReader& json) { return ReadAs<Task>(json); }
Result<Workload> WorkloadFrom(const JsonReader& json) { return ReadAs<Workload>(json); }
Result<Candidate> CandidateFrom(const JsonReader& json) { return ReadAs<Candidate>(json); }
Result<Provenance> ProvenanceFrom(const JsonReader& json) { return ReadAs<Provenance>(json); }
Result<Artifact> ArtifactFrom(const JsonReader& json) { return ReadAs<Artifact>(json); }
Result<Protocol> ProtocolFrom(const JsonReader& json) { return ReadAs<Protocol>(json); }
Result<Verdict> VerdictFrom(const JsonReader& json) { return ReadAs<Verdict>(json); }
Result<DeviceInfo> DeviceInfoFrom(const JsonReader& json) { return ReadAs<DeviceInfo>(json); }
Result<RewardTerms> RewardTermsFrom(const JsonReader& json) { return ReadAs<RewardTerms>(json); }
Result<ChatRequest> ChatRequestFrom(const JsonReader& json) { return ReadAs<ChatRequest>(json); }

// The usage's fields stand beside the reply's.
json ToJson(const ChatReply& reply) {
  json object{{"prompt_tokens", reply.usage.prompt_tokens},
              {"completion_tokens", reply.usage.completion_tokens},
              {"samples", Value(reply.samples)}};
  if (!reply.model.empty()) object["model"] = Value(reply.model);
  if (reply.usage.estimated) object["tokens_estimated"] = true;
  return object;
}

Result<ChatReply> ChatReplyFrom(const JsonReader& json) {
  TRY(json.OnlyFields(
      {"samples", "prompt_tokens", "completion_tokens", "tokens_estimated", "model"}));
  ChatReply reply;
  TRY(Read(json.At("samples"), reply.samples));
  if (reply.samples.empty()) return json.At("samples").Bad("at least one sample");
  TRY(Read(json.At("prompt_tokens"), reply.usage.prompt_tokens));
  TRY(Read(json.At("completion_tokens"), reply.usage.completion_tokens));
  if (json.Has("tokens_estimated")) TRY(Read(json.At("tokens_estimated"), reply.usage.estimated));
  if (json.Has("model")) TRY(Read(json.At("model"), reply.model));
  return reply;
}

// --- What must hold between the fields of a value.

namespace {

Status AtMost(const JsonReader& json, size_t found, size_t most) {
  if (found <= most) return {};
  return json.Bad("at most " + std::to_string(most) + " items");
}

Status IsOneOf(const JsonReader& json, int value, std::initializer_list<int> known,
               std::string_view expected) {
  if (std::ranges::find(known, value) != known.end()) return {};
  return json.Bad(expected);
}

}  // namespace

Status Finish(const JsonReader& json, TensorMapArgument& map) {
  const size_t rank = map.dims.size();
  if (rank < 1 || rank > 5) return json.At("dims").Bad("1 to 5 dimensions");
  if (!json.Has("element_strides")) map.element_strides.assign(rank, Expression::Constant(1));
  if (map.strides_bytes.size() != rank - 1) {
    return json.At("strides_bytes").Bad("one stride fewer than dims");
  }
  if (map.box.size() != rank) return json.At("box").Bad("as many extents as dims");
  if (map.element_strides.size() != rank) {
    return json.At("element_strides").Bad("as many strides as dims");
  }
  TRY(IsOneOf(json.At("interleave_bytes"), map.interleave_bytes, {0, 16, 32}, "0, 16 or 32"));
  return IsOneOf(json.At("l2_promotion_bytes"), map.l2_promotion_bytes, {0, 64, 128, 256},
                 "0, 64, 128 or 256");
}

Status Finish(const JsonReader& json, LaunchOperation& launch) {
  constexpr size_t kMostArguments = 1024;
  return AtMost(json.At("arguments"), launch.arguments.size(), kMostArguments);
}

Status Finish(const JsonReader& json, LaunchPlan& plan) {
  constexpr size_t kMostOperations = 1024;
  return AtMost(json.At("operations"), plan.operations.size(), kMostOperations);
}

Status Finish(const JsonReader& json, Candidate& candidate) {
  if (!candidate.sources.empty() && !candidate.sources.contains(candidate.entry)) {
    return json.At("entry").Bad("one of the sources");
  }
  if (candidate.toolchain != "nvrtc" && candidate.toolchain != "nvcc") {
    return json.At("toolchain").Bad("nvrtc or nvcc");
  }
  return {};
}

Status Finish(const JsonReader& json, TensorSpec& tensor) {
  if (tensor.shape.size() > 8) return json.At("shape").Bad("at most 8 extents");
  return {};
}

Status Finish(const JsonReader& json, Tolerance& tolerance) {
  if (!(tolerance.absolute >= 0) || !(tolerance.relative >= 0)) {
    return json.Bad("absolute and relative bounds that are not negative");
  }
  const bool given = tolerance.absolute > 0 || tolerance.relative > 0;
  if (given && tolerance.reduction_length) {
    return json.Bad("either reduction_length or absolute and relative, not both");
  }
  if (given && tolerance.reason.empty()) {
    return json.At("reason").Bad("why the given bounds are right, as the report will print it");
  }
  return {};
}

Status Finish(const JsonReader& json, Workload& workload) {
  for (const auto& [name, value] : workload.sizes) {
    if (name == "sm_count" || name == "max_active_clusters") {
      return json.At("sizes").At(name).Bad("another name: this one is the device's");
    }
    if (value < 0) return json.At("sizes").At(name).Bad("a size from 0");
  }
  if (!(workload.weight > 0) || std::isinf(workload.weight)) {
    return json.At("weight").Bad("a number above 0");
  }
  return {};
}

Status Finish(const JsonReader& json, Task& task) {
  std::set<std::string_view> names;
  for (const TensorSpec& tensor : task.tensors) {
    if (!names.insert(tensor.name).second) {
      return json.At("tensors").Bad("distinct names (\"" + tensor.name + "\" is there twice)");
    }
  }
  return {};
}

Status Finish(const JsonReader& json, Protocol& protocol) {
  const auto need = [&json](bool holds, const char* field, const char* expected) -> Status {
    if (holds) return {};
    return json.At(field).Bad(expected);
  };
  const auto is_amount = [](double value) { return value >= 0 && std::isfinite(value); };
  TRY(need(!protocol.modes.empty(), "modes", "at least one mode"));
  TRY(need(protocol.rounds >= 1, "rounds", "at least 1"));
  TRY(need(protocol.samples_per_round >= 1, "samples_per_round", "at least 1"));
  TRY(need(protocol.runner_processes >= 1, "runner_processes", "at least 1"));
  TRY(need(protocol.max_rounds >= protocol.rounds, "max_rounds", "at least rounds"));
  TRY(need(protocol.step_timeout_ms >= 1, "step_timeout_ms", "at least 1"));
  TRY(need(protocol.confidence > 0 && protocol.confidence < 1, "confidence",
           "a number between 0 and 1"));
  TRY(need(protocol.band >= 0 && protocol.band < 1, "band", "a number from 0 to below 1"));
  TRY(need(is_amount(protocol.target_half_width), "target_half_width", "a number from 0"));
  TRY(need(is_amount(protocol.warmup_seconds), "warmup_seconds", "a number from 0"));
  return need(is_amount(protocol.measure_seconds), "measure_seconds", "a number from 0");
}

Status Finish(const JsonReader& json, ChatRequest& request) {
  constexpr int kMostSamples = 65'536;
  if (request.samples < 1 || request.samples > kMostSamples) {
    return json.At("samples").Bad("an integer from 1 to 65536");
  }
  return {};
}

Status Finish(const JsonReader& json, ChatSample& sample) {
  if (sample.text.size() > kMaxChatTextBytes) return json.At("text").Bad("at most 4 MiB");
  return {};
}

}  // namespace warpsmith
