// Graphs made by capturing a stream.
#ifndef WARPSMITH_CUDA_GRAPH_H_
#define WARPSMITH_CUDA_GRAPH_H_

#include <cstddef>
#include <functional>

#include "base/result.h"
#include "cuda/stream.h"
#include "cuda/types.h"

namespace warpsmith::cuda {

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

#endif  // WARPSMITH_CUDA_GRAPH_H_
