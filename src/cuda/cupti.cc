#include "cuda/cupti.h"

#include <cupti.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "cuda/failure.h"
#include "cuda/symbol_table.h"

namespace warpsmith::cuda {
namespace {

// The kernel record of the library that these headers describe. A library of another major version
// is refused at Start, since nothing in a record says which of the structs it is.
#if CUPTI_API_VERSION >= 130000
using ActivityKernel = CUpti_ActivityKernel10;
#else
using ActivityKernel = CUpti_ActivityKernel9;
#endif

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kBufferAlignment = 64;

// clang-format off
#define WARPSMITH_CUPTI_FUNCTIONS(X)                                           \
  X(cuptiGetVersion) X(cuptiGetResultString) X(cuptiActivityRegisterCallbacks) \
  X(cuptiActivityEnable) X(cuptiActivityDisable) X(cuptiActivityFlushAll)      \
  X(cuptiActivityGetNextRecord) X(cuptiActivityGetNumDroppedRecords)
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

Result<CuptiApi> Load() {
  const Library library = TRY(Library::Open(
      "libcupti.so.13", "install CUPTI 13: pip install nvidia-cuda-cupti, or a CUDA 13 toolkit"));
  CuptiApi api;
  const SymbolSlot slots[] = {WARPSMITH_CUPTI_FUNCTIONS(WARPSMITH_SLOT)};
  TRY(LoadSymbols(library, slots));
  return api;
}

Result<const CuptiApi*> CuptiTable() {
  static const Result<CuptiApi> api = Load();
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
  std::vector<KernelRecord> records;
  size_t dropped = 0;
  bool running = false;
};

Collection& TheCollection() {
  static auto* collection = new Collection;  // CUPTI may call back while the process exits
  return *collection;
}

KernelRecord FromActivity(const ActivityKernel& kernel) {
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
    if (activity->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    collection.records.push_back(FromActivity(*reinterpret_cast<ActivityKernel*>(activity)));
  }
  size_t dropped = 0;
  api->cuptiActivityGetNumDroppedRecords(context, stream, &dropped);
  collection.dropped += dropped;
  std::free(buffer);
}

Status EndCollection() {
  const CuptiApi* api = TRY(CuptiTable());
  const CUptiResult flushed = api->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  const CUptiResult disabled = api->cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  const std::lock_guard lock(TheCollection().mutex);
  TheCollection().running = false;
  if (flushed != CUPTI_SUCCESS) return CuptiError(*api, "cuptiActivityFlushAll", flushed);
  if (disabled != CUPTI_SUCCESS) return CuptiError(*api, "cuptiActivityDisable", disabled);
  return {};
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
    collection.records.clear();
    collection.dropped = 0;
  }
  KernelTrace trace;
  CUptiResult code = api->cuptiActivityRegisterCallbacks(OnBufferRequested, OnBufferCompleted);
  if (code != CUPTI_SUCCESS) return CuptiError(*api, "cuptiActivityRegisterCallbacks", code);
  code = api->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (code != CUPTI_SUCCESS) return CuptiError(*api, "cuptiActivityEnable", code);
  return trace;
}

KernelTrace::KernelTrace(KernelTrace&& other) noexcept
    : running_(std::exchange(other.running_, false)) {}

KernelTrace::~KernelTrace() {
  if (running_) static_cast<void>(EndCollection());
}

Result<std::vector<KernelRecord>> KernelTrace::Stop() {
  CHECK(running_);
  running_ = false;
  TRY(EndCollection());
  Collection& collection = TheCollection();
  const std::lock_guard lock(collection.mutex);
  if (collection.dropped > 0) {
    return Error{ErrorCode::kIo,
                 "CUPTI dropped " + std::to_string(collection.dropped) + " kernel records",
                 "trace fewer launches at once"};
  }
  std::vector<KernelRecord> records = std::exchange(collection.records, {});
  std::stable_sort(
      records.begin(), records.end(),
      [](const KernelRecord& a, const KernelRecord& b) { return a.start_ns < b.start_ns; });
  return records;
}

Result<std::string> CuptiVersion() { return "CUPTI " + std::to_string(TRY(LibraryVersion())); }

}  // namespace warpsmith::cuda
