#include "judge/wire.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "core/serialize.h"
#include "judge/wire_error.h"

namespace warpsmith::judge {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, std::variant_size_v<Command>> kCommandNames = {
    "start", "arena", "candidate", "entrants", "baseline", "check", "sample"};

json Fields(const StartCommand& c) { return {{"device_uuid", c.device_uuid}}; }

json Fields(const ArenaCommand& c) {
  return {{"task", ToJson(c.task)},
          {"workload", ToJson(c.workload)},
          {"mapped_bytes", c.mapped_bytes},
          {"input_slots", c.input_slots},
          {"output_slots", c.output_slots}};
}

json Fields(const CandidateCommand& c) {
  return {{"name", c.name}, {"plan", ToJson(c.plan)}, {"replicas", c.replicas}};
}

json Fields(const EntrantsCommand& c) {
  return {{"name", c.name}, {"exhaustive_seconds", c.exhaustive_seconds}};
}

json Fields(const BaselineCommand& c) { return {{"name", c.name}, {"choice", c.choice}}; }

json Fields(const CheckCommand& c) { return {{"contender", c.contender}, {"poison", c.poison}}; }

json Fields(const SampleCommand& c) {
  return {{"contender", c.contender},
          {"mode", Name(c.mode)},
          {"poison", c.poison},
          {"touch", c.touch},
          {"timed", c.timed},
          {"idle_us", c.idle_us},
          {"read_inputs", c.read_inputs},
          {"late_inputs", c.late_inputs},
          {"free_sms", c.free_sms}};
}

constexpr int64_t kMaxCount = 4096;

Result<std::vector<int64_t>> ReadInts(const JsonReader& list, int64_t lowest, int64_t highest) {
  std::vector<int64_t> values;
  for (const JsonReader& item : TRY(list.Items()))
    values.push_back(TRY(item.IntIn(lowest, highest)));
  return values;
}

Result<std::vector<WireLaunch>> ReadLaunches(const JsonReader& list) {
  std::vector<WireLaunch> launches;
  for (const JsonReader& item : TRY(list.Items())) {
    const std::vector<int64_t> slots = TRY(ReadInts(item, 0, kMaxCount));
    launches.emplace_back(slots.begin(), slots.end());
  }
  return launches;
}

Result<uint16_t> ReadPoison(const JsonReader& reader) {
  return static_cast<uint16_t>(TRY(reader.At("poison").IntIn(0, 0xffff)));
}

Result<Command> ReadStart(const JsonReader& r) {
  return Command(StartCommand{TRY(r.At("device_uuid").String())});
}

Result<Command> ReadArena(const JsonReader& r) {
  ArenaCommand c;
  c.task = TRY(TaskFrom(r.At("task")));
  c.workload = TRY(WorkloadFrom(r.At("workload")));
  c.mapped_bytes = TRY(ReadInts(r.At("mapped_bytes"), 1, std::numeric_limits<int64_t>::max()));
  c.input_slots = static_cast<int>(TRY(r.At("input_slots").IntIn(0, kMaxCount)));
  c.output_slots = static_cast<int>(TRY(r.At("output_slots").IntIn(0, kMaxCount)));
  return Command(std::move(c));
}

Result<Command> ReadCandidate(const JsonReader& r) {
  CandidateCommand c;
  c.name = TRY(r.At("name").String());
  c.plan = TRY(LaunchPlanFrom(r.At("plan")));
  c.replicas = static_cast<int>(TRY(r.At("replicas").IntIn(1, kMaxCount)));
  return Command(std::move(c));
}

Result<Command> ReadEntrants(const JsonReader& r) {
  EntrantsCommand c;
  c.name = TRY(r.At("name").String());
  c.exhaustive_seconds = TRY(r.At("exhaustive_seconds").Number());
  return Command(std::move(c));
}

Result<Command> ReadBaseline(const JsonReader& r) {
  BaselineCommand c;
  c.name = TRY(r.At("name").String());
  c.choice = TRY(r.At("choice").String());
  return Command(std::move(c));
}

Result<Command> ReadCheck(const JsonReader& r) {
  CheckCommand c;
  c.contender = TRY(r.At("contender").String());
  c.poison = TRY(ReadPoison(r));
  return Command(std::move(c));
}

Result<Command> ReadSample(const JsonReader& r) {
  SampleCommand c;
  c.contender = TRY(r.At("contender").String());
  const auto mode = ModeFromName(TRY(r.At("mode").String()));
  if (!mode) return r.At("mode").Bad("a timing mode");
  c.mode = *mode;
  c.poison = TRY(ReadPoison(r));
  c.touch = TRY(ReadLaunches(r.At("touch")));
  c.timed = TRY(ReadLaunches(r.At("timed")));
  c.read_inputs = TRY(r.At("read_inputs").Bool());
  c.late_inputs = TRY(r.At("late_inputs").Bool());
  c.free_sms = static_cast<int>(TRY(r.At("free_sms").IntIn(0, kMaxCount)));
  for (int64_t us : TRY(ReadInts(r.At("idle_us"), 0, 1'000'000))) {
    c.idle_us.push_back(static_cast<int>(us));
  }
  if (c.mode == Mode::kServer && c.idle_us.size() != c.timed.size()) {
    return r.At("idle_us").Bad("one idle time per call");
  }
  return Command(std::move(c));
}

}  // namespace

std::string_view CommandName(const Command& command) { return kCommandNames.at(command.index()); }

std::string CommandToText(const Command& command) {
  json document = std::visit([](const auto& c) { return Fields(c); }, command);
  document["command"] = CommandName(command);
  document["version"] = kWireVersion;
  return document.dump();
}

Result<Command> CommandFromText(std::string_view text) {
  const json document = TRY(ParseJson("command", text));
  const JsonReader reader("command", document);
  const int64_t version = TRY(reader.At("version").Int());
  if (version != kWireVersion) {
    return Error{ErrorCode::kVersion,
                 fmt::format("a judge command of wire version {}; this runner speaks {}", version,
                             kWireVersion),
                 "use the runner that came with this program"};
  }
  const std::string name = TRY(reader.At("command").String());
  if (name == "start") return ReadStart(reader);
  if (name == "arena") return ReadArena(reader);
  if (name == "candidate") return ReadCandidate(reader);
  if (name == "entrants") return ReadEntrants(reader);
  if (name == "baseline") return ReadBaseline(reader);
  if (name == "check") return ReadCheck(reader);
  if (name == "sample") return ReadSample(reader);
  return reader.At("command").Bad("a judge command");
}

std::string ReplyToText(const ReplyOrError& reply) {
  json document{{"version", kWireVersion}};
  if (const auto* error = std::get_if<Error>(&reply)) {
    document["error"] = WireErrorToJson(*error);
  } else {
    const auto& good = std::get<Reply>(reply);
    document["elapsed_us"] = good.elapsed_us;
    document["text"] = good.text;
  }
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<ReplyOrError> ReplyFromText(std::string_view text) {
  const json document = TRY(ParseJson("reply", text));
  const JsonReader reader("reply", document);
  if (TRY(reader.At("version").Int()) != kWireVersion) return reader.At("version").Bad("version 1");
  if (reader.Has("error")) {
    Error told;
    TRY(ReadWireError(reader.At("error"), &told));
    return ReplyOrError(std::move(told));
  }
  Reply reply;
  for (const JsonReader& item : TRY(reader.At("elapsed_us").Items())) {
    reply.elapsed_us.push_back(TRY(item.Number()));
  }
  reply.text = TRY(reader.At("text").String());
  return ReplyOrError(std::move(reply));
}

}  // namespace warpsmith::judge
