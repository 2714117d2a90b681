// One device, its context, streams, events and graphs.
#include <cstdio>
#include <utility>

#include "cuda/fake/fake_state.h"

namespace warpsmith::cuda::fake {

State& TheState() {
  static auto* state = new State;
  return *state;
}

CUresult Submit(CUstream stream, std::function<void()> work) {
  if (stream != nullptr && stream->capturing) {
    stream->captured.push_back(std::move(work));
  } else {
    work();
  }
  return CUDA_SUCCESS;
}

namespace {

struct NamedCode {
  CUresult code;
  const char* name;
  const char* words;
};
constexpr NamedCode kCodes[] = {
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_DEVICE_UNAVAILABLE, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device busy or unavailable"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "illegal memory access"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

constexpr std::pair<CUdevice_attribute, int> kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 132},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 50 << 20},
};

}  // namespace
}  // namespace warpsmith::cuda::fake

using warpsmith::cuda::fake::kAttributes;
using warpsmith::cuda::fake::kCodes;
using warpsmith::cuda::fake::Submit;
using warpsmith::cuda::fake::TheState;

extern "C" {

CUresult cuInit(unsigned) { return CUDA_SUCCESS; }

CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult code, const char** name) {
  for (const auto& row : kCodes) {
    if (row.code == code) *name = row.name;
  }
  return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult code, const char** words) {
  for (const auto& row : kCodes) {
    if (row.code == code) *words = row.words;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = ordinal;
  return ordinal == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::snprintf(name, static_cast<size_t>(length), "Fake GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice) {
  for (size_t i = 0; i < sizeof(uuid->bytes); ++i) uuid->bytes[i] = static_cast<char>(0xf0 + i);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice) {
  *bytes = size_t{1} << 33;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  *value = 0;
  for (const auto& [known, known_value] : kAttributes) {
    if (known == attribute) *value = known_value;
  }
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice, unsigned) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  static int storage;
  *context = reinterpret_cast<CUcontext>(&storage);
  return CUDA_SUCCESS;
}
static thread_local CUcontext current_context = nullptr;
CUresult cuCtxSetCurrent(CUcontext context) {
  current_context = context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = current_context;
  return CUDA_SUCCESS;
}
CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return current_context != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  static thread_local CUstreamCaptureMode current = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::swap(current, *mode);
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return CUDA_SUCCESS; }

CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = new CUstream_st;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  return stream->capturing ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  *status = stream->capturing ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  stream->capturing = true;
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  stream->capturing = false;
  *graph = new CUgraph_st{std::exchange(stream->captured, {})};
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
CUresult cuEventRecord(CUevent event, CUstream stream) {
  return Submit(stream, [event] { event->time_ms = TheState().clock_ms; });
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned) {
  return cuEventRecord(event, stream);
}
CUresult cuEventElapsedTime(float* elapsed_ms, CUevent start, CUevent end) {
  *elapsed_ms = end->time_ms - start->time_ms;
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode*, size_t* count) {
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphInstantiate(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  *executable = new CUgraphExec_st{graph->nodes};
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  delete graph;
  return CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec, CUstream) { return CUDA_SUCCESS; }
CUresult cuGraphLaunch(CUgraphExec executable, CUstream) {
  for (const auto& node : executable->nodes) node();
  return CUDA_SUCCESS;
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  delete executable;
  return CUDA_SUCCESS;
}

CUresult cuProfilerStart() {
  TheState().log.emplace_back("profiler-start");
  return CUDA_SUCCESS;
}
CUresult cuProfilerStop() {
  TheState().log.emplace_back("profiler-stop");
  return CUDA_SUCCESS;
}

}  // extern "C"
