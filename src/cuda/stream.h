// Streams and events. Not thread-safe; in the current context. Errors are the driver's (failure.h).
#ifndef WARPSMITH_CUDA_STREAM_H_
#define WARPSMITH_CUDA_STREAM_H_

#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

class Stream {
 public:
  static Result<Stream> Create();  // does not synchronise with the default stream

  // Waits for all that was submitted. Reports the fault of a kernel there, too.
  Status Synchronize() const;
  CUstream_st* handle() const { return handle_.get(); }

 private:
  explicit Stream(CUstream_st* handle);
  std::unique_ptr<CUstream_st, void (*)(CUstream_st*)> handle_;
};

class Event {
 public:
  static Result<Event> Create();  // with timing

  Status Record(const Stream& stream) const;  // done when all that was submitted so far is
  // While `stream` is captured: an event-record node, so that the event is recorded by every launch
  // of the graph and can be timed from outside. Outside a capture the same as Record.
  Status RecordInGraph(const Stream& stream) const;
  CUevent_st* handle() const { return handle_.get(); }

 private:
  explicit Event(CUevent_st* handle);
  std::unique_ptr<CUevent_st, void (*)(CUevent_st*)> handle_;
};

// Both must be done.
Result<double> ElapsedUs(const Event& start, const Event& end);

// Graphs made by capturing a stream.
// An executable graph. It keeps no memory alive: what its nodes point to must outlive its launches.
class Graph {
 public:
  // Captures what `submit` puts on `stream` (thread-local mode: other threads are not disturbed).
  // The capture is ended whatever `submit` returns; its Error comes first.
  static Result<Graph> Capture(const Stream& stream, const std::function<Status()>& submit);

  size_t node_count() const { return node_count_; }
  // Moves the graph to the device ahead of its first launch, which is then as fast as any.
  Status Upload(const Stream& stream) const;
  Status Launch(const Stream& stream) const;  // does not wait for it

 private:
  Graph(CUgraphExec_st* handle, size_t node_count);
  std::unique_ptr<CUgraphExec_st, void (*)(CUgraphExec_st*)> handle_;
  size_t node_count_;
};

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_STREAM_H_
