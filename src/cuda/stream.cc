#include "cuda/stream.h"

#include "cuda/driver_api.h"

namespace warpsmith::cuda {
namespace {

struct GraphDestroyer {
  CUgraph graph;
  ~GraphDestroyer() {
    if (graph != nullptr) Api().cuGraphDestroy(graph);
  }
};

}  // namespace

Result<Graph> Graph::Capture(const Stream& stream, const std::function<Status()>& submit) {
  TRY(DRIVER_CALL("", cuStreamBeginCapture, stream.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  const Status submitted = submit();
  GraphDestroyer captured{nullptr};
  const Status ended = DRIVER_CALL("", cuStreamEndCapture, stream.handle(), &captured.graph);
  if (!submitted.ok()) return submitted.error();
  if (!ended.ok()) return ended.error();

  size_t node_count = 0;
  TRY(DRIVER_CALL("", cuGraphGetNodes, captured.graph, nullptr, &node_count));
  CUgraphExec executable = nullptr;
  TRY(DRIVER_CALL(std::to_string(node_count) + " nodes", cuGraphInstantiate, &executable,
                  captured.graph, 0));
  return Graph(executable, node_count);
}

Graph::Graph(CUgraphExec_st* handle, size_t node_count)
    : handle_(handle, [](CUgraphExec_st* graph) { Api().cuGraphExecDestroy(graph); }),
      node_count_(node_count) {}

Status Graph::Upload(const Stream& stream) const {
  return DRIVER_CALL(std::to_string(node_count_) + " nodes", cuGraphUpload, handle_.get(),
                     stream.handle());
}

Status Graph::Launch(const Stream& stream) const {
  return DRIVER_CALL(std::to_string(node_count_) + " nodes", cuGraphLaunch, handle_.get(),
                     stream.handle());
}

Result<Stream> Stream::Create() {
  CUstream handle = nullptr;
  TRY(DRIVER_CALL("", cuStreamCreate, &handle, CU_STREAM_NON_BLOCKING));
  return Stream(handle);
}

Stream::Stream(CUstream_st* handle)
    : handle_(handle, [](CUstream_st* stream) { Api().cuStreamDestroy(stream); }) {}

Status Stream::Synchronize() const { return DRIVER_CALL("", cuStreamSynchronize, handle_.get()); }

Result<Event> Event::Create() {
  CUevent handle = nullptr;
  TRY(DRIVER_CALL("", cuEventCreate, &handle, CU_EVENT_DEFAULT));
  return Event(handle);
}

Event::Event(CUevent_st* handle)
    : handle_(handle, [](CUevent_st* event) { Api().cuEventDestroy(event); }) {}

Status Event::Record(const Stream& stream) const {
  return DRIVER_CALL("", cuEventRecord, handle_.get(), stream.handle());
}

Status Event::RecordInGraph(const Stream& stream) const {
  CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
  TRY(DRIVER_CALL("", cuStreamIsCapturing, stream.handle(), &capturing));
  if (capturing == CU_STREAM_CAPTURE_STATUS_NONE) return Record(stream);
  return DRIVER_CALL("CU_EVENT_RECORD_EXTERNAL", cuEventRecordWithFlags, handle_.get(),
                     stream.handle(), CU_EVENT_RECORD_EXTERNAL);
}

Result<double> ElapsedUs(const Event& start, const Event& end) {
  float elapsed_ms = 0;
  TRY(DRIVER_CALL("", cuEventElapsedTime, &elapsed_ms, start.handle(), end.handle()));
  return elapsed_ms * 1e3;
}

}  // namespace warpsmith::cuda
