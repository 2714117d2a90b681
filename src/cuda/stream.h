// Streams and events. Not thread-safe; in the current context.
#ifndef WARPSMITH_CUDA_STREAM_H_
#define WARPSMITH_CUDA_STREAM_H_

#include <cstddef>
#include <functional>

#include "base/result.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

class Event;

class Stream {
 public:
  static Result<Stream> Create();  // does not synchronise with the default stream
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();

  Status Synchronize() const;
  Result<bool> Done() const;  // without waiting
  Status Wait(const Event& event) const;
  CUstream_st* handle() const { return handle_; }

 private:
  explicit Stream(CUstream_st* handle) : handle_(handle) {}
  CUstream_st* handle_;
};

class Event {
 public:
  static Result<Event> Create();  // with timing
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;
  ~Event();

  Status Record(const Stream& stream) const;
  // While `stream` is captured: an event-record node, so that the event is recorded by every launch
  // of the graph and can be timed from outside. Outside a capture the same as Record.
  Status RecordInGraph(const Stream& stream) const;
  Status Synchronize() const;
  Result<bool> Done() const;
  CUevent_st* handle() const { return handle_; }

 private:
  explicit Event(CUevent_st* handle) : handle_(handle) {}
  CUevent_st* handle_;
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
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;
  ~Graph();

  size_t node_count() const { return node_count_; }
  // Moves the graph to the device ahead of its first launch, which is then as fast as any.
  Status Upload(const Stream& stream) const;
  Status Launch(const Stream& stream) const;

 private:
  Graph(CUgraphExec_st* handle, size_t node_count) : handle_(handle), node_count_(node_count) {}
  CUgraphExec_st* handle_;
  size_t node_count_;
};

}  // namespace warpsmith::cuda

#endif  // WARPSMITH_CUDA_STREAM_H_
