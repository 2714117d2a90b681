#include "judge/standalone/run_folder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json_reader.h"
#include "base/random.h"
#include "base/utf8.h"
#include "core/json_fields.h"
#include "cuda/cupti.h"

namespace warpsmith::standalone {

constexpr Format FormatOf(const StandaloneJob*) {
  return {kStandaloneJobVersion, "a stand-alone run"};
}
constexpr auto FieldsOf(const StandaloneJob*) {
  using T = StandaloneJob;
  return std::tuple(Needed("task", &T::task), Needed("workload", &T::workload),
                    Needed("candidate", &T::candidate), Needed("architecture", &T::architecture));
}

namespace {

namespace fs = std::filesystem;

// Names come from task files, which come from anywhere.
Status CheckNames(const Task& task) {
  for (const TensorSpec& tensor : task.tensors) {
    const std::string& name = tensor.name;
    if (!name.empty() && name.front() != '.' && name.find('/') == std::string::npos &&
        name.find('\0') == std::string::npos) {
      continue;
    }
    return Error{ErrorCode::kBadInput,
                 "stand-alone run: tensor '" + name + "' cannot be the name of a file",
                 "rename the tensor"};
  }
  return {};
}

Task WhatARunNeeds(const Task& task, const Workload& workload) {
  Task needed = task;
  needed.reference.sources.clear();
  needed.reference.plan.reset();
  needed.rivals.clear();
  needed.baselines.clear();
  needed.workloads = {workload};
  return needed;
}

}  // namespace

Status WriteStandaloneJob(const fs::path& dir, const StandaloneJob& job, std::string_view image) {
  TRY(CheckNames(job.task));
  TRY(CreateDirectories(dir));
  StandaloneJob needed = job;
  needed.task = WhatARunNeeds(job.task, job.workload);
  TRY(WriteFileAtomic(ImagePath(dir), image));
  return WriteFileAtomic(dir / "job.json", JsonText(json_fields::Value(needed)));
}

Result<StandaloneJob> ReadStandaloneJob(const fs::path& dir) {
  const fs::path path = dir / "job.json";
  const std::string text = TRY(ReadFile(path));
  const nlohmann::json document = TRY(ParseJson(path.string(), text));
  auto job = TRY(json_fields::ReadAs<StandaloneJob>(JsonReader(path.string(), document)));
  TRY(CheckNames(job.task));
  return job;
}

fs::path ImagePath(const fs::path& dir) { return dir / "image"; }
fs::path InputPath(const fs::path& dir, const std::string& tensor) {
  return dir / "inputs" / tensor;
}
fs::path FinishedPath(const fs::path& dir) { return dir / "finished"; }

namespace {

template <typename T>
void Store(T value, char* target) {
  std::memcpy(target, &value, sizeof(value));
}

template <typename T>
T Clamped(double value) {
  const double rounded = std::nearbyint(value);
  if (!(rounded > static_cast<double>(std::numeric_limits<T>::min()))) {
    return std::numeric_limits<T>::min();
  }
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(rounded);
}

void StoreAs(DType dtype, double value, char* target) {
  switch (dtype) {
    case DType::kF16:
      return Store(HalfBits(static_cast<float>(value)), target);
    case DType::kBF16:
      return Store(BFloat16Bits(static_cast<float>(value)), target);
    case DType::kF32:
      return Store(static_cast<float>(value), target);
    case DType::kF64:
      return Store(value, target);
    case DType::kI8:
      return Store(Clamped<int8_t>(value), target);
    case DType::kI32:
      return Store(Clamped<int32_t>(value), target);
    case DType::kI64:
      return Store(Clamped<int64_t>(value), target);
    case DType::kBool:
      return Store(static_cast<uint8_t>(value != 0), target);
  }
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

struct Bounds {
  int64_t low = 0, high = 0;
};

Result<Bounds> BoundsOf(const TensorSpec& tensor, const Sizes& sizes) {
  Bounds bounds;
  for (auto [expression, value] :
       {std::pair(&tensor.low, &bounds.low), {&tensor.high, &bounds.high}}) {
    const auto evaluated = expression->Evaluate(sizes);
    if (!evaluated.ok()) {
      return Error{ErrorCode::kBadInput, "tensor " + tensor.name + ": " + evaluated.error().message,
                   ""};
    }
    *value = *evaluated;
  }
  return bounds;
}

double Draw(const TensorSpec& tensor, const Bounds& bounds, Random& random) {
  switch (tensor.generator) {
    case Generator::kUniform:
      return 2 * random.Uniform() - 1;
    case Generator::kUnit:
      return random.Uniform();
    case Generator::kIntegers:
      return static_cast<double>(bounds.low) +
             static_cast<double>(random.Below(
                 static_cast<uint64_t>(std::max<int64_t>(1, bounds.high - bounds.low))));
    case Generator::kReference:
      return IsFloat(tensor.dtype) ? random.Normal() : 0;
    case Generator::kNormal:
    case Generator::kOffsets:
      break;
  }
  return random.Normal();
}

// Ascending whole numbers from 0 to `high`: evenly spaced, each moved by less than half a step.
std::string Offsets(const TensorSpec& tensor, const Bounds& bounds, int64_t elements,
                    Random& random) {
  const int64_t width = ElementBytes(tensor.dtype);
  std::string bytes(static_cast<size_t>(elements * width), '\0');
  const double step =
      elements > 1 ? static_cast<double>(bounds.high) / static_cast<double>(elements - 1) : 0;
  for (int64_t i = 1; i + 1 < elements; ++i) {
    const double moved = static_cast<double>(i) + random.Uniform() - 0.5;
    StoreAs(tensor.dtype, std::floor(moved * step), bytes.data() + i * width);
  }
  if (elements > 1) {
    StoreAs(tensor.dtype, static_cast<double>(bounds.high), bytes.data() + (elements - 1) * width);
  }
  return bytes;
}

// Copies what is there to the end of `bytes`, doubling.
void RepeatBlock(size_t block_bytes, std::string* bytes) {
  for (size_t filled = block_bytes; filled < bytes->size();) {
    const size_t more = std::min(filled, bytes->size() - filled);
    std::memcpy(bytes->data() + filled, bytes->data(), more);
    filled += more;
  }
}

constexpr uint64_t kSeed = 1;  // two runs of one folder see the same inputs

Result<std::string> InputBytes(const TensorSpec& tensor, const StandaloneJob& job,
                               const std::filesystem::path& dir, int64_t bytes) {
  const std::filesystem::path path = InputPath(dir, tensor.name);
  if (!std::filesystem::exists(path)) {
    return MakeContents(tensor, job.workload.sizes, bytes / ElementBytes(tensor.dtype), kSeed);
  }
  std::string contents = TRY(ReadFile(path));
  if (static_cast<int64_t>(contents.size()) == bytes) return contents;
  return Error{ErrorCode::kBadInput,
               path.string() + ": " + std::to_string(contents.size()) + " bytes, tensor " +
                   tensor.name + " has " + std::to_string(bytes),
               "write the file for this workload, or remove it"};
}

}  // namespace

Result<std::string> MakeContents(const TensorSpec& tensor, const Sizes& sizes, int64_t elements,
                                 uint64_t seed) {
  const Bounds bounds = TRY(BoundsOf(tensor, sizes));
  Random random(seed, "solo input " + tensor.name);
  if (tensor.generator == Generator::kOffsets) return Offsets(tensor, bounds, elements, random);
  const int64_t width = ElementBytes(tensor.dtype);
  std::string bytes(static_cast<size_t>(elements * width), '\0');
  const int64_t drawn = std::min(elements, kDistinctElements);
  for (int64_t i = 0; i < drawn; ++i) {
    StoreAs(tensor.dtype, Draw(tensor, bounds, random), bytes.data() + i * width);
  }
  RepeatBlock(static_cast<size_t>(drawn * width), &bytes);
  return bytes;
}

uint16_t HalfBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);   // NaN
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 65536 and above
  if (magnitude < 0x38800000) {                                              // subnormal in half
    const float scaled = std::bit_cast<float>(magnitude) * 16777216.0F;      // 2^24
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

uint16_t BFloat16Bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

Result<Buffers> MakeBuffers(const StandaloneJob& job, const std::filesystem::path& dir) {
  Buffers buffers;
  for (const TensorSpec& tensor : job.task.tensors) {
    const int64_t bytes = TRY(TensorBytes(tensor, job.workload.sizes));
    auto memory = cuda::DeviceBuffer::Allocate(static_cast<size_t>(bytes));
    if (!memory.ok()) {
      Error error = std::move(memory).error();
      error.message = "tensor " + tensor.name + ": " + error.message;
      return error;
    }
    if (tensor.role == Role::kInput) {
      const std::string contents = TRY(InputBytes(tensor, job, dir, bytes));
      TRY(cuda::CopyToDevice(memory->address(), contents.data(), contents.size()));
    }
    buffers.bindings.push_back({tensor.name, memory->address(), bytes});
    buffers.memory.push_back(std::move(memory).value());
  }
  return buffers;
}

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
