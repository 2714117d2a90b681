#include "judge/wire.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "core/json_fields.h"

namespace warpsmith::judge {

namespace {

using nlohmann::json;

constexpr Format kCommandFormat{kWireVersion, "a judge command"};
constexpr Format kReplyFormat{kWireVersion, "a judge reply"};
constexpr int64_t kMostWireSlots = 4096, kMostWireCalls = 1'000'000, kMostIdleUs = 1'000'000;
constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr double kMostBusyUs = 1e12;

}  // namespace

// --- The fields of each command and of the reply (core/field_list.h).

constexpr std::string_view TagOf(const StartCommand*) { return "start"; }
constexpr auto FieldsOf(const StartCommand*) {
  using T = StartCommand;
  return std::tuple(Needed("device_uuid", &T::device_uuid), Optional("sandbox", &T::sandbox),
                    Optional("hidden", &T::hidden));
}

constexpr auto FieldsOf(const WireRegion*) {
  using T = WireRegion;
  return std::tuple(Needed("tensor", &T::tensor), Needed("role", &T::role),
                    Needed("dtype", &T::dtype), Needed("extents", &T::extents),
                    Needed("bytes", &T::bytes), Needed("mapped_bytes", &T::mapped_bytes),
                    Needed("slots", &T::slots), Needed("stride_bytes", &T::stride_bytes),
                    Needed("offset_bytes", &T::offset_bytes));
}
Status Finish(const JsonReader& json, WireRegion& region) {
  const auto is_size = [](int64_t bytes) { return bytes >= 1 && bytes <= kMostBytes; };
  if (!std::all_of(region.extents.begin(), region.extents.end(), is_size) ||
      !is_size(region.bytes) || !is_size(region.mapped_bytes)) {
    return json.Bad("sizes from 1 to 2^50");
  }
  if (region.slots < 1 || region.slots > kMostWireSlots || region.stride_bytes > kMostBytes ||
      region.offset_bytes > kMostBytes) {
    return json.Bad("1 to 4,096 slots at offsets up to 2^50");
  }
  const int64_t last = region.offset_bytes + (region.slots - 1) * region.stride_bytes;
  if (last > region.mapped_bytes - region.bytes) return json.Bad("slots within the mapping");
  return {};
}

constexpr std::string_view TagOf(const ArenaCommand*) { return "arena"; }
constexpr auto FieldsOf(const ArenaCommand*) {
  using T = ArenaCommand;
  return std::tuple(Needed("task", &T::task), Needed("workload", &T::workload),
                    Needed("regions", &T::regions), Needed("exact", &T::exact));
}

constexpr std::string_view TagOf(const LoadCommand*) { return "load"; }
constexpr auto FieldsOf(const LoadCommand*) {
  using T = LoadCommand;
  return std::tuple(Needed("callee", &T::callee), Optional("entry", &T::entry),
                    Optional("plan", &T::plan), Optional("replicas", &T::replicas));
}
Status Finish(const JsonReader& json, LoadCommand& load) {
  if (load.replicas < 1 || load.replicas > kMostWireSlots) {
    return json.At("replicas").Bad("1 to 4,096 replicas");
  }
  return {};
}

constexpr std::string_view TagOf(const EntrantsCommand*) { return "entrants"; }
constexpr auto FieldsOf(const EntrantsCommand*) {
  using T = EntrantsCommand;
  return std::tuple(Needed("name", &T::name), Needed("exhaustive_seconds", &T::exhaustive_seconds));
}

constexpr std::string_view TagOf(const BaselineCommand*) { return "baseline"; }
constexpr auto FieldsOf(const BaselineCommand*) {
  using T = BaselineCommand;
  return std::tuple(Needed("name", &T::name), Needed("choice", &T::choice));
}

constexpr std::string_view TagOf(const CheckCommand*) { return "check"; }
constexpr auto FieldsOf(const CheckCommand*) {
  using T = CheckCommand;
  return std::tuple(Needed("callee", &T::callee), Optional("poison", &T::poison));
}

constexpr std::string_view TagOf(const SampleCommand*) { return "sample"; }
constexpr auto FieldsOf(const SampleCommand*) {
  using T = SampleCommand;
  return std::tuple(Needed("callee", &T::callee), Needed("mode", &T::mode),
                    Needed("poison", &T::poison), Needed("touch", &T::touch),
                    Needed("timed", &T::timed), Needed("idle_us", &T::idle_us),
                    Needed("read_inputs", &T::read_inputs), Needed("late_inputs", &T::late_inputs),
                    Needed("free_sms", &T::free_sms));
}
Status Finish(const JsonReader& json, SampleCommand& sample) {
  const bool idles = std::all_of(sample.idle_us.begin(), sample.idle_us.end(),
                                 [](int us) { return us <= kMostIdleUs; });
  if (!idles) return json.At("idle_us").Bad("idle times of at most a second");
  if (sample.mode == Mode::kServer && sample.idle_us.size() != sample.timed.size()) {
    return json.At("idle_us").Bad("one idle time per call");
  }
  return {};
}

constexpr std::string_view TagOf(const BurstCommand*) { return "burst"; }
constexpr auto FieldsOf(const BurstCommand*) {
  using T = BurstCommand;
  return std::tuple(Needed("callee", &T::callee), Needed("calls", &T::calls),
                    Needed("warmup", &T::warmup), Optional("trace", &T::trace));
}
Status Finish(const JsonReader& json, BurstCommand& burst) {
  if (burst.calls < 1 || burst.calls > kMostWireCalls) {
    return json.At("calls").Bad("1 to 1,000,000 calls");
  }
  return {};
}

constexpr std::string_view TagOf(const ExpectCommand*) { return "expect"; }
constexpr auto FieldsOf(const ExpectCommand*) { return std::tuple(); }

constexpr std::string_view TagOf(const DrawCommand*) { return "draw"; }
constexpr auto FieldsOf(const DrawCommand*) {
  return std::tuple(Needed("seed", &DrawCommand::seed));
}

constexpr auto FieldsOf(const Reply*) {
  using T = Reply;
  return std::tuple(Optional("elapsed_us", &T::elapsed_us), Optional("text", &T::text),
                    Optional("sandbox", &T::sandbox), Optional("gpu_busy_us", &T::gpu_busy_us));
}
Status Finish(const JsonReader& json, Reply& reply) {
  if (reply.gpu_busy_us >= 0 && reply.gpu_busy_us <= kMostBusyUs) return {};
  return json.At("gpu_busy_us").Bad("microseconds");
}

// --- Texts.

std::string CommandToText(const Command& command) {
  json document = std::visit(
      [](const auto& c) {
        json fields = json_fields::Value(c);
        fields["command"] = TagOf(&c);
        return fields;
      },
      command);
  document["version"] = kWireVersion;
  return JsonText(document);
}

Result<Command> CommandFromText(std::string_view text) {
  const json document = TRY(ParseJson("command", text));
  const JsonReader reader("command", document);
  TRY(json_fields::NeedVersion(reader, kCommandFormat));
  Command command;
  TRY(json_fields::ReadKind(reader, "command", command, {"command", "version"}));
  return command;
}

// An error: {"code": the exit status, "message", "fix"}.
std::string ReplyToText(const ReplyOrError& reply) {
  const auto* error = std::get_if<Error>(&reply);
  json document = error == nullptr ? json_fields::Value(std::get<Reply>(reply)) : json::object();
  document["version"] = kWireVersion;
  if (error != nullptr) {
    document["error"] = {{"code", Describe(error->code).exit_status},
                         {"message", error->message},
                         {"fix", error->fix}};
  }
  return JsonText(document);
}

Result<ReplyOrError> ReplyFromText(std::string_view text) {
  const json document = TRY(ParseJson("reply", text));
  const JsonReader reader("reply", document);
  TRY(json_fields::NeedVersion(reader, kReplyFormat));
  if (!reader.Has("error")) {
    Reply reply;
    // PyTorch's processes also say how many calls they made, and with what precision they computed.
    TRY(json_fields::ReadFields(reader, reply, {"version", "calls", "precision"}));
    return ReplyOrError(std::move(reply));
  }
  const JsonReader error = reader.At("error");
  Error told{ErrorCode::kInternal, "", ""};
  told.message = TRY(error.At("message").String());
  told.fix = TRY(error.At("fix").String());
  const int64_t status = TRY(error.At("code").Int());
  for (const ErrorCodeRow& row : ErrorCodeTable()) {
    if (row.exit_status == status) told.code = row.code;
  }
  return ReplyOrError(std::move(told));
}

// --- The end of the called process.

Error OutOfOrder(std::string_view command, std::string_view missing) {
  return Error{ErrorCode::kInternal,
               fmt::format("judge command '{}' came before '{}'", command, missing), ""};
}

void CloseAll(const std::vector<int>& descriptors) {
  for (const int descriptor : descriptors) close(descriptor);
}

int AnswerUntilClosed(int socket, const std::function<ReplyOrError(const Frame&)>& answer) {
  constexpr std::chrono::hours kUntilClosed{24 * 365};
  while (true) {
    const Result<Frame> frame = ReceiveFrame(socket, kUntilClosed);
    if (!frame.ok()) return 0;  // the oracle has closed or is gone
    if (!SendFrame(socket, ReplyToText(answer(*frame))).ok()) return 0;
  }
}

}  // namespace warpsmith::judge
