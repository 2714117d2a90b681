// The lines of a recording: docs/files.md. A .wsrec file is zstd of these lines; the
// journal that a recorder appends to while it measures is the same lines, uncompressed and without
// counts, and its last line may be torn.
#ifndef WARPSMITH_STORE_RECORDING_FORMAT_H_
#define WARPSMITH_STORE_RECORDING_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_reader.h"
#include "base/result.h"
#include "core/device.h"
#include "core/protocol.h"
#include "core/space.h"
#include "core/task.h"
#include "core/verdict.h"
#include "store/verdict_parts.h"

namespace warpsmith::store {

// 2 where there are memos, else 1: what an older program can read, it may.
inline constexpr int kRecordingVersion = 2;

struct RecordingCounts {
  int64_t protocols = 0, sources = 0, spaces = 0, candidates = 0, verdicts = 0, baselines = 0;
  int64_t memos = 0;
  bool operator==(const RecordingCounts&) const = default;
};

struct RecordingHeader {
  DeviceInfo device;
  std::string toolchain;  // "nvrtc 13.0"
  std::string date;       // UTC
  std::string command;
  std::optional<RecordingCounts> counts;  // absent in a journal
};

struct SpaceLine {
  Task task;
  Workload workload;
  Space space;
};

// Where a verdict or candidate belongs: indices into the file's space lines and that space's
// points.
struct RecordedPoint {
  int space = 0, point = 0;
  auto operator<=>(const RecordedPoint&) const = default;
};

struct VerdictLine {
  std::string key;
  RecordedPoint at;
  int protocol = 0;
  double gpu_seconds = 0;
  Verdict verdict;
};

// What a baseline took when it was measured by itself (not beside a candidate).
struct BaselineRow {
  std::string space, name, layout;
  Mode mode = Mode::kDeviceHot;
  double us = 0;
};

// What the run that a space holds was told from outside (run_memos.h).
struct MemoLine {
  std::string key;  // without quotes and backslashes
  int space = 0;
  std::string text;
};

// Each gives one line, newline included.
std::string LineOf(const RecordingHeader& header);
std::string LineOf(int index, const Protocol& protocol);
std::string LineOf(const std::string& sha256, const std::string& source);
std::string LineOf(int index, const SpaceLine& space);
std::string LineOf(const RecordedPoint& at, const CandidateText& candidate);
std::string LineOf(const VerdictLine& line);
std::string LineOf(const BaselineRow& row);
std::string LineOf(const MemoLine& memo);

// What the start of a line says, read without parsing the line: files hold thousands, and most are
// never asked for.
enum class LineKind { kHeader, kProtocol, kSource, kSpace, kCandidate, kVerdict, kBaseline, kMemo };
struct LineStart {
  LineKind kind = LineKind::kHeader;
  std::string_view name;  // kSource: its hash; kVerdict, kMemo: its key
  RecordedPoint at;       // kCandidate, kVerdict; kMemo: its space
  int protocol = 0;       // kVerdict
};
std::optional<LineStart> ScanLine(std::string_view line);

// Strict: kBadInput for a field that is missing, unknown or out of its range, and for an index that is
// not the expected one.
Result<RecordingHeader> HeaderFrom(const JsonReader& line);  // kVersion for another version
Result<Protocol> ProtocolLineFrom(const JsonReader& line, int expected_index);
Result<SpaceLine> SpaceLineFrom(const JsonReader& line, int expected_index);
Result<std::string> SourceLineFrom(const JsonReader& line);
Result<VerdictLine> VerdictLineFrom(const JsonReader& line);
Result<BaselineRow> BaselineLineFrom(const JsonReader& line);
Result<MemoLine> MemoLineFrom(const JsonReader& line);

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_RECORDING_FORMAT_H_
