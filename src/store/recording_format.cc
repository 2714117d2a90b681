#include "store/recording_format.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/json_reader.h"
#include "core/json_fields.h"
#include "core/serialize.h"
#include "store/verdict_parts.h"

namespace warpsmith::store {

constexpr auto FieldsOf(const RecordingCounts*) {
  using T = RecordingCounts;
  return std::tuple(Needed("protocols", &T::protocols), Needed("sources", &T::sources),
                    Needed("spaces", &T::spaces), Needed("candidates", &T::candidates),
                    Needed("verdicts", &T::verdicts), Needed("baselines", &T::baselines),
                    Optional("memos", &T::memos));
}
constexpr auto FieldsOf(const BaselineRow*) {
  using T = BaselineRow;
  return std::tuple(Needed("baseline", &T::name), Needed("space", &T::space),
                    Needed("layout", &T::layout), Needed("mode", &T::mode), Needed("us", &T::us));
}

namespace {

using nlohmann::json;

constexpr int64_t kMaxIndex = 1 << 24;

// A line is `start`, whose fields come first and in order so that ScanLine finds them, then the
// rest.
std::string Line(const std::string& start, const json& rest) {
  return start + "," + JsonText(rest).substr(1) + "\n";
}

std::string Brackets(const RecordedPoint& at) {
  return "[" + std::to_string(at.space) + "," + std::to_string(at.point) + "]";
}

json PointsJson(const Space& space) {
  json points = json::array();
  for (const Point& point : space.points()) points.push_back({point.family, point.config});
  return points;
}

Result<Point> PointFromPair(const JsonReader& pair) {
  Point point;
  point.family = TRY(pair.At(0).String());
  const JsonReader config = pair.At(1);
  if (config.json() == nullptr || !config.json()->is_object()) return config.Bad("an object");
  for (const auto& [name, value] : config.json()->items()) {  // in order; there are many
    const bool is_small = value.is_number_integer() && !value.is_number_unsigned();
    const bool is_plain =
        is_small || (value.is_number_unsigned() && value.get<uint64_t>() >> 63 == 0);
    point.config.emplace_hint(point.config.end(), name,
                              is_plain ? value.get<int64_t>() : TRY(config.At(name).Int()));
  }
  return point;
}

Result<Space> SpaceFrom(const JsonReader& line) {
  std::vector<Point> points;
  std::unordered_set<std::string> seen;
  for (const JsonReader& pair : TRY(line.At("points").Items())) {
    points.push_back(TRY(PointFromPair(pair)));
    if (!seen.insert(PointName(points.back())).second) {
      return pair.Bad("a point that is not in the list already");
    }
  }
  return Space(TRY(line.At("name").String()), std::move(points));
}

Status CheckIndex(const JsonReader& line, std::string_view field, int expected) {
  TRY(line.At(field).IntIn(expected, expected));
  return {};
}

// A cursor over the start of a line.
struct Scanner {
  std::string_view rest;

  bool Skip(std::string_view text) {
    if (!rest.starts_with(text)) return false;
    rest.remove_prefix(text.size());
    return true;
  }
  bool Quoted(std::string_view& text) {
    const size_t end = rest.find('"');
    if (end == std::string_view::npos) return false;
    text = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return true;
  }
  bool Number(int& value) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value < 0 || value > kMaxIndex) return false;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    return true;
  }
  bool Pair(RecordedPoint& at) {
    return Skip("[") && Number(at.space) && Skip(",") && Number(at.point) && Skip("]");
  }
};

std::optional<LineStart> Found(bool well_formed, const LineStart& start) {
  return well_formed ? std::optional(start) : std::nullopt;
}

}  // namespace

std::string LineOf(const RecordingHeader& header) {
  json rest{{"device", ToJson(header.device)},
            {"toolchain", header.toolchain},
            {"date", header.date},
            {"command", header.command},
            {"judge_protocol", kJudgeProtocolVersion}};
  if (header.counts.has_value()) rest["counts"] = json_fields::Value(*header.counts);
  const bool has_memos = header.counts.has_value() && header.counts->memos > 0;
  const int version = has_memos ? kRecordingVersion : 1;
  return Line("{\"warpsmith_recording\":" + std::to_string(version), rest);
}

std::string LineOf(int index, const Protocol& protocol) {
  return Line("{\"protocol\":" + std::to_string(index), {{"body", ToJson(protocol)}});
}

std::string LineOf(const std::string& sha256, const std::string& source) {
  return Line("{\"source\":\"" + sha256 + "\"", {{"text", source}});
}

std::string LineOf(int index, const SpaceLine& space) {
  return Line("{\"space\":" + std::to_string(index), {{"name", space.space.name()},
                                                      {"task", ToJson(space.task)},
                                                      {"workload", ToJson(space.workload)},
                                                      {"points", PointsJson(space.space)}});
}

std::string LineOf(const RecordedPoint& at, const CandidateText& candidate) {
  return "{\"candidate\":" + Brackets(at) + ",\"body\":" + candidate.body + "}\n";
}

std::string LineOf(const VerdictLine& line) {
  VerdictParts parts = TakeApart(line.verdict);
  json body = ToJson(parts.body);
  RoundNumbers(body);
  json rest{{"gpu_seconds", Rounded(line.gpu_seconds)}, {"body", std::move(body)}};
  if (!parts.contenders.empty()) rest["contenders"] = ContendersJson(parts.contenders);
  return Line("{\"verdict\":\"" + line.key + "\",\"at\":" + Brackets(line.at) +
                  ",\"protocol\":" + std::to_string(line.protocol),
              rest);
}

std::string LineOf(const BaselineRow& row) {
  return Line("{\"baseline\":\"" + row.name + "\"", {{"space", row.space},
                                                     {"layout", row.layout},
                                                     {"mode", Name(row.mode)},
                                                     {"us", Rounded(row.us)}});
}

std::string LineOf(const MemoLine& memo) {
  return Line("{\"memo\":\"" + memo.key + "\",\"at\":" + Brackets({memo.space, 0}),
              {{"text", memo.text}});
}

std::optional<LineStart> ScanLine(std::string_view line) {
  Scanner scanner{line};
  LineStart start;
  if (scanner.Skip("{\"verdict\":\"")) {
    start.kind = LineKind::kVerdict;
    return Found(scanner.Quoted(start.name) && scanner.Skip(",\"at\":") && scanner.Pair(start.at) &&
                     scanner.Skip(",\"protocol\":") && scanner.Number(start.protocol),
                 start);
  }
  if (scanner.Skip("{\"candidate\":")) {
    start.kind = LineKind::kCandidate;
    return Found(scanner.Pair(start.at), start);
  }
  if (scanner.Skip("{\"source\":\"")) {
    start.kind = LineKind::kSource;
    return Found(scanner.Quoted(start.name), start);
  }
  if (scanner.Skip("{\"memo\":\"")) {
    start.kind = LineKind::kMemo;
    return Found(scanner.Quoted(start.name) && scanner.Skip(",\"at\":") && scanner.Pair(start.at),
                 start);
  }
  if (scanner.Skip("{\"space\":")) {
    start.kind = LineKind::kSpace;
  } else if (scanner.Skip("{\"protocol\":")) {
    start.kind = LineKind::kProtocol;
  } else if (scanner.Skip("{\"baseline\":")) {
    start.kind = LineKind::kBaseline;
  } else if (scanner.Skip("{\"warpsmith_recording\":")) {
    start.kind = LineKind::kHeader;
  } else {
    return std::nullopt;
  }
  return start;
}

Result<RecordingHeader> HeaderFrom(const JsonReader& line) {
  const int64_t version = TRY(line.At("warpsmith_recording").Int());
  const int64_t judge = line.Has("judge_protocol") ? TRY(line.At("judge_protocol").Int()) : 0;
  if (version < 1 || version > kRecordingVersion || judge != kJudgeProtocolVersion) {
    const Error other = line.Bad("");
    return Error{ErrorCode::kVersion,
                 other.message.substr(0, other.message.find(':')) + ": recording format " +
                     std::to_string(version) + " of judge protocol " + std::to_string(judge) +
                     "; this program reads formats up to " + std::to_string(kRecordingVersion) +
                     " of " + std::to_string(kJudgeProtocolVersion),
                 "use the warpsmith that wrote it, or record again"};
  }
  TRY(line.OnlyFields({"warpsmith_recording", "judge_protocol", "device", "toolchain", "date",
                       "command", "counts"}));
  RecordingHeader header;
  header.device = TRY(DeviceInfoFrom(line.At("device")));
  header.toolchain = TRY(line.At("toolchain").String());
  header.date = TRY(line.At("date").String());
  header.command = TRY(line.At("command").String());
  if (line.Has("counts"))
    header.counts = TRY(json_fields::ReadAs<RecordingCounts>(line.At("counts")));
  return header;
}

Result<Protocol> ProtocolLineFrom(const JsonReader& line, int expected_index) {
  TRY(line.OnlyFields({"protocol", "body"}));
  TRY(CheckIndex(line, "protocol", expected_index));
  return ProtocolFrom(line.At("body"));
}

Result<SpaceLine> SpaceLineFrom(const JsonReader& line, int expected_index) {
  TRY(line.OnlyFields({"space", "name", "task", "workload", "points"}));
  TRY(CheckIndex(line, "space", expected_index));
  SpaceLine space;
  space.task = TRY(TaskFrom(line.At("task")));
  space.workload = TRY(WorkloadFrom(line.At("workload")));
  space.space = TRY(SpaceFrom(line));
  return space;
}

Result<std::string> SourceLineFrom(const JsonReader& line) {
  TRY(line.OnlyFields({"source", "text"}));
  return line.At("text").String();
}

Result<VerdictLine> VerdictLineFrom(const JsonReader& line) {
  TRY(line.OnlyFields({"verdict", "at", "protocol", "gpu_seconds", "body", "contenders"}));
  VerdictLine result;
  result.key = TRY(line.At("verdict").String());
  result.at.space = static_cast<int>(TRY(line.At("at").At(0).IntIn(0, kMaxIndex)));
  result.at.point = static_cast<int>(TRY(line.At("at").At(1).IntIn(0, kMaxIndex)));
  result.protocol = static_cast<int>(TRY(line.At("protocol").IntIn(0, kMaxIndex)));
  result.gpu_seconds = TRY(line.At("gpu_seconds").Number());
  VerdictParts parts;
  parts.body = TRY(VerdictFrom(line.At("body")));
  if (line.Has("contenders")) parts.contenders = TRY(ContendersFrom(line.At("contenders")));
  result.verdict = TRY(PutTogether("verdict " + result.key, std::move(parts)));
  return result;
}

Result<BaselineRow> BaselineLineFrom(const JsonReader& line) {
  return json_fields::ReadAs<BaselineRow>(line);
}

Result<MemoLine> MemoLineFrom(const JsonReader& line) {
  TRY(line.OnlyFields({"memo", "at", "text"}));
  MemoLine memo;
  memo.key = TRY(line.At("memo").String());
  memo.space = static_cast<int>(TRY(line.At("at").At(0).IntIn(0, kMaxIndex)));
  memo.text = TRY(line.At("text").String());
  return memo;
}

}  // namespace warpsmith::store
