#include "cuda/cupti.h"

#include <cupti.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "cuda/failure.h"
#include "cuda/library.h"

namespace warpsmith::cuda {
namespace {

// The kernel record of the library that these headers describe. A library of another major version
// is refused at Start, since nothing in a record says which of the structs it is.
#if CUPTI_API_VERSION >= 130000
using ActivityKernel = CUpti_ActivityKernel10;
using ActivityCopy = CUpti_ActivityMemcpy6;
using ActivityWait = CUpti_ActivitySynchronization2;
#else
using ActivityKernel = CUpti_ActivityKernel9;
using ActivityCopy = CUpti_ActivityMemcpy5;
using ActivityWait = CUpti_ActivitySynchronization;
#endif
using ActivityPeerCopy = CUpti_ActivityMemcpyPtoP4;
using ActivityFill = CUpti_ActivityMemset4;

constexpr std::array kTracedKinds = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
    CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kBufferAlignment = 64;

// clang-format off
#define WARPSMITH_CUPTI_FUNCTIONS(X)                                           \
  X(cuptiGetVersion) X(cuptiGetResultString) X(cuptiActivityRegisterCallbacks) \
  X(cuptiActivityEnable) X(cuptiActivityDisable) X(cuptiActivityFlushAll)      \
  X(cuptiActivityGetNextRecord) X(cuptiActivityGetNumDroppedRecords)           \
  X(cuptiGetTimestamp) X(cuptiGetStreamIdEx)
// clang-format on

struct CuptiApi {
  WARPSMITH_CUPTI_FUNCTIONS(WARPSMITH_MEMBER)
};

Error CuptiError(const CuptiApi& api, const char* call, CUptiResult code) {
  const char* name = nullptr;
  api.cuptiGetResultString(code, &name);
  return ErrorFrom(
      {call, name != nullptr ? name : "CUPTI_ERROR_" + std::to_string(code), "CUPTI", ""});
}

Result<CuptiApi> LoadCupti() {
  const Library library = TRY(Library::Open(
      "libcupti.so.13", "install CUPTI 13: pip install nvidia-cuda-cupti, or a CUDA 13 toolkit"));
  CuptiApi api;
  const SymbolSlot slots[] = {WARPSMITH_CUPTI_FUNCTIONS(WARPSMITH_SLOT)};
  TRY(LoadSymbols(library, slots));
  return api;
}

Result<const CuptiApi*> CuptiTable() {
  static const Result<CuptiApi> api = LoadCupti();
  if (!api.ok()) return api.error();
  return &*api;
}

Result<uint32_t> LibraryVersion() {
  const CuptiApi* api = TRY(CuptiTable());
  uint32_t version = 0;
  const CUptiResult code = api->cuptiGetVersion(&version);
  if (code != CUPTI_SUCCESS) return CuptiError(*api, "cuptiGetVersion", code);
  return version;
}

Status CheckVersion(uint32_t version) {
  constexpr uint32_t kMajor = CUPTI_API_VERSION / 10000;
  if (version / 10000 == kMajor) return {};
  return Error{ErrorCode::kUnavailable,
               "CUPTI reports API version " + std::to_string(version) +
                   ", this program was built for " + std::to_string(CUPTI_API_VERSION),
               "install CUPTI " + std::to_string(kMajor)};
}

// What CUPTI's own thread hands us. Guarded by `mutex`.
struct Collection {
  std::mutex mutex;
  ActivityRecords records;
  size_t dropped = 0;
  bool running = false;
};

Collection& TheCollection() {
  static auto* collection = new Collection;  // CUPTI may call back while the process exits
  return *collection;
}

KernelRecord FromKernel(const ActivityKernel& kernel) {
  KernelRecord record;
  record.name = kernel.name != nullptr ? kernel.name : "";
  record.stream = kernel.streamId;
  record.start_ns = static_cast<int64_t>(kernel.start);
  record.end_ns = static_cast<int64_t>(kernel.end);
  record.grid = {kernel.gridX, kernel.gridY, kernel.gridZ};
  record.block = {kernel.blockX, kernel.blockY, kernel.blockZ};
  record.registers_per_thread = kernel.registersPerThread;
  record.static_shared_bytes = kernel.staticSharedMemory;
  record.dynamic_shared_bytes = kernel.dynamicSharedMemory;
  record.graph_node = static_cast<uint32_t>(kernel.graphNodeId);
  return record;
}

// Copies, peer copies and fills name these fields alike.
template <typename Activity>
TransferRecord FromTransfer(const Activity& activity, TransferRecord::Kind kind) {
  TransferRecord record;
  record.kind = kind;
  record.stream = activity.streamId;
  record.start_ns = static_cast<int64_t>(activity.start);
  record.end_ns = static_cast<int64_t>(activity.end);
  record.bytes = static_cast<int64_t>(activity.bytes);
  record.graph_node = static_cast<uint32_t>(activity.graphNodeId);
  return record;
}

template <typename Activity>
const Activity& As(const CUpti_Activity* activity) {
  return *reinterpret_cast<const Activity*>(activity);
}

void KeepJoin(const ActivityWait& wait, ActivityRecords* records) {
  if (wait.type != CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT) return;
  records->joins.push_back({wait.streamId, static_cast<int64_t>(wait.start)});
}

void Keep(const CUpti_Activity* activity, ActivityRecords* records) {
  using Kind = TransferRecord::Kind;
  switch (activity->kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      records->kernels.push_back(FromKernel(As<ActivityKernel>(activity)));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      records->transfers.push_back(FromTransfer(As<ActivityCopy>(activity), Kind::kCopy));
      break;
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      records->transfers.push_back(FromTransfer(As<ActivityPeerCopy>(activity), Kind::kCopy));
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      records->transfers.push_back(FromTransfer(As<ActivityFill>(activity), Kind::kFill));
      break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      KeepJoin(As<ActivityWait>(activity), records);
      break;
    default:
      break;
  }
}

void CUPTIAPI OnBufferRequested(uint8_t** buffer, size_t* bytes, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *max_records = 0;  // as many as fit
}

void CUPTIAPI OnBufferCompleted(CUcontext context, uint32_t stream, uint8_t* buffer,
                                size_t /*bytes*/, size_t valid_bytes) {
  const CuptiApi* api = *CuptiTable();
  Collection& collection = TheCollection();
  const std::lock_guard lock(collection.mutex);
  CUpti_Activity* activity = nullptr;
  while (api->cuptiActivityGetNextRecord(buffer, valid_bytes, &activity) == CUPTI_SUCCESS) {
    Keep(activity, &collection.records);
  }
  size_t dropped = 0;
  api->cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
  collection.dropped += dropped;
  std::free(buffer);
}

Status EndCollection() {
  const CuptiApi* api = TRY(CuptiTable());
  const CUptiResult flushed = api->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  CUptiResult disabled = CUPTI_SUCCESS;
  for (const CUpti_ActivityKind kind : kTracedKinds) {  // one that is off is disabled without error
    const CUptiResult code = api->cuptiActivityDisable(kind);
    if (code != CUPTI_SUCCESS) disabled = code;
  }
  const std::lock_guard lock(TheCollection().mutex);
  TheCollection().running = false;
  if (flushed != CUPTI_SUCCESS) return CuptiError(*api, "cuptiActivityFlushAll", flushed);
  if (disabled != CUPTI_SUCCESS) return CuptiError(*api, "cuptiActivityDisable", disabled);
  return {};
}

template <typename Record>
void SortByStart(std::vector<Record>* records) {
  std::stable_sort(records->begin(), records->end(),
                   [](const Record& a, const Record& b) { return a.start_ns < b.start_ns; });
}

}  // namespace

Result<KernelTrace> KernelTrace::Start() {
  const CuptiApi* api = TRY(CuptiTable());
  TRY(CheckVersion(TRY(LibraryVersion())));
  Collection& collection = TheCollection();
  {
    const std::lock_guard lock(collection.mutex);
    if (collection.running) return Error{ErrorCode::kBusy, "a kernel trace is already running", ""};
    collection.running = true;
    collection.records = {};
    collection.dropped = 0;
  }
  KernelTrace trace;
  CUptiResult code = api->cuptiActivityRegisterCallbacks(OnBufferRequested, OnBufferCompleted);
  if (code != CUPTI_SUCCESS) return CuptiError(*api, "cuptiActivityRegisterCallbacks", code);
  for (const CUpti_ActivityKind kind : kTracedKinds) {
    code = api->cuptiActivityEnable(kind);
    if (code != CUPTI_SUCCESS) return CuptiError(*api, "cuptiActivityEnable", code);
  }
  return trace;
}

KernelTrace::KernelTrace(KernelTrace&& other) noexcept
    : running_(std::exchange(other.running_, false)) {}

KernelTrace::~KernelTrace() {
  if (running_) static_cast<void>(EndCollection());
}

Result<ActivityRecords> KernelTrace::Stop() {
  CHECK(running_);
  running_ = false;
  TRY(EndCollection());
  Collection& collection = TheCollection();
  const std::lock_guard lock(collection.mutex);
  if (collection.dropped > 0) {
    return Error{ErrorCode::kIo, "CUPTI dropped " + std::to_string(collection.dropped) + " records",
                 "trace fewer launches at once"};
  }
  ActivityRecords records = std::exchange(collection.records, {});
  SortByStart(&records.kernels);
  SortByStart(&records.transfers);
  return records;
}

Result<std::string> CuptiVersion() { return "CUPTI " + std::to_string(TRY(LibraryVersion())); }

Result<int64_t> CuptiNowNs() {
  const CuptiApi* api = TRY(CuptiTable());
  uint64_t now_ns = 0;
  const CUptiResult code = api->cuptiGetTimestamp(&now_ns);
  if (code != CUPTI_SUCCESS) return CuptiError(*api, "cuptiGetTimestamp", code);
  return static_cast<int64_t>(now_ns);
}

Result<uint32_t> CuptiStreamId(CUstream_st* stream) {
  const CuptiApi* api = TRY(CuptiTable());
  uint32_t id = 0;
  const CUptiResult code = api->cuptiGetStreamIdEx(nullptr, stream, 0, &id);
  if (code != CUPTI_SUCCESS) return CuptiError(*api, "cuptiGetStreamIdEx", code);
  return id;
}

}  // namespace warpsmith::cuda
