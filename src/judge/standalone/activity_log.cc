#include "judge/standalone/activity_log.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "cuda/cupti.h"

namespace warpsmith::standalone {
namespace {

constexpr int kActivityLogVersion = 1;
constexpr size_t kMaxRecords = 1 << 20;
constexpr size_t kMaxCalls = 65'536;
constexpr size_t kMaxNameBytes = 64 << 10;

constexpr std::array<std::pair<ActivityKind, std::string_view>, 4> kKinds = {
    {{ActivityKind::kKernel, "kernel"},
     {ActivityKind::kCopy, "copy"},
     {ActivityKind::kFill, "fill"},
     {ActivityKind::kJoin, "join"}}};

std::string_view NameOf(ActivityKind kind) {
  for (const auto& [known, name] : kKinds) {
    if (known == kind) return name;
  }
  return "";
}

nlohmann::json ToJson(const ActivityRecord& record) {
  nlohmann::json json = {{"kind", NameOf(record.kind)},
                         {"stream", record.stream},
                         {"start_ns", record.start_ns},
                         {"end_ns", record.end_ns}};
  if (record.kind == ActivityKind::kKernel) json["name"] = ValidUtf8(record.name);
  if (record.bytes != 0) json["bytes"] = record.bytes;
  if (record.in_graph) json["in_graph"] = true;
  return json;
}

Result<uint32_t> StreamFrom(const JsonReader& json) {
  return static_cast<uint32_t>(TRY(json.IntIn(0, std::numeric_limits<uint32_t>::max())));
}

Result<ActivityKind> KindFrom(const JsonReader& json) {
  const std::string name = TRY(json.String());
  for (const auto& [kind, known] : kKinds) {
    if (known == name) return kind;
  }
  return json.Bad("kernel, copy, fill or join");
}

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Result<ActivityRecord> RecordFrom(const JsonReader& json) {
  TRY(json.OnlyFields({"kind", "name", "stream", "start_ns", "end_ns", "bytes", "in_graph"}));
  ActivityRecord record;
  record.kind = TRY(KindFrom(json.At("kind")));
  if (json.Has("name")) record.name = TRY(json.At("name").String());
  if (record.name.size() > kMaxNameBytes) return json.At("name").Bad("a name of at most 64 KiB");
  record.stream =
      static_cast<uint32_t>(TRY(json.At("stream").IntIn(0, std::numeric_limits<uint32_t>::max())));
  record.start_ns = TRY(json.At("start_ns").IntIn(0, kMost));
  record.end_ns = TRY(json.At("end_ns").IntIn(0, kMost));
  if (record.end_ns < record.start_ns) return json.At("end_ns").Bad("a time after start_ns");
  if (json.Has("bytes")) record.bytes = TRY(json.At("bytes").IntIn(0, kMost));
  if (json.Has("in_graph")) record.in_graph = TRY(json.At("in_graph").Bool());
  return record;
}

Result<ActivityCall> CallFrom(const JsonReader& json) {
  const auto times = TRY(json.Items());
  if (times.size() != 3) return json.Bad("[begin, returned, idle] in nanoseconds");
  ActivityCall call;
  call.begin_ns = TRY(times[0].IntIn(0, kMost));
  call.returned_ns = TRY(times[1].IntIn(call.begin_ns, kMost));
  call.idle_ns = TRY(times[2].IntIn(call.returned_ns, kMost));
  return call;
}

}  // namespace

std::vector<ActivityRecord> RecordsOf(cuda::ActivityRecords seen) {
  std::vector<ActivityRecord> records;
  for (cuda::KernelRecord& kernel : seen.kernels) {
    records.push_back({ActivityKind::kKernel, std::move(kernel.name), kernel.stream,
                       kernel.start_ns, kernel.end_ns, 0, kernel.graph_node != 0});
  }
  for (const cuda::TransferRecord& transfer : seen.transfers) {
    const bool fill = transfer.kind == cuda::TransferRecord::Kind::kFill;
    records.push_back({fill ? ActivityKind::kFill : ActivityKind::kCopy, "", transfer.stream,
                       transfer.start_ns, transfer.end_ns, transfer.bytes,
                       transfer.graph_node != 0});
  }
  for (const cuda::JoinRecord& join : seen.joins) {
    records.push_back({ActivityKind::kJoin, "", join.stream, join.at_ns, join.at_ns});
  }
  std::ranges::stable_sort(records, {}, &ActivityRecord::start_ns);
  return records;
}

std::string ActivityLogToText(const ActivityLog& log) {
  if (!log.absent.empty()) {
    return JsonText(
        nlohmann::json{{"version", kActivityLogVersion}, {"absent", ValidUtf8(log.absent)}});
  }
  nlohmann::json json = {{"version", kActivityLogVersion},
                         {"tracer", ValidUtf8(log.tracer)},
                         {"stream", log.stream},
                         {"calls", nlohmann::json::array()},
                         {"records", nlohmann::json::array()}};
  for (const ActivityCall& call : log.calls) {
    json["calls"].push_back({call.begin_ns, call.returned_ns, call.idle_ns});
  }
  for (const ActivityRecord& record : log.records) json["records"].push_back(ToJson(record));
  return JsonText(json);
}

Result<ActivityLog> ActivityLogFromText(std::string_view source, std::string_view text) {
  const nlohmann::json document = TRY(ParseJson(source, text));
  const JsonReader json(std::string(source), document);
  TRY(json.OnlyFields({"version", "absent", "tracer", "stream", "calls", "records"}));
  if (TRY(json.At("version").Int()) != kActivityLogVersion) return json.At("version").Bad("1");
  ActivityLog log;
  if (json.Has("absent")) {
    log.absent = TRY(json.At("absent").String());
    if (log.absent.empty()) return json.At("absent").Bad("a reason");
    return log;
  }
  log.tracer = TRY(json.At("tracer").String());
  log.stream = TRY(StreamFrom(json.At("stream")));
  const auto calls = TRY(json.At("calls").Items()), records = TRY(json.At("records").Items());
  if (calls.size() > kMaxCalls) return json.At("calls").Bad("at most 65536 calls");
  if (records.size() > kMaxRecords) return json.At("records").Bad("at most 1048576 records");
  for (const JsonReader& call : calls) log.calls.push_back(TRY(CallFrom(call)));
  for (const JsonReader& record : records) log.records.push_back(TRY(RecordFrom(record)));
  return log;
}

}  // namespace warpsmith::standalone
