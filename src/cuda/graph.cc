#include "cuda/graph.h"

#include <utility>

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

Graph::Graph(Graph&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), node_count_(other.node_count_) {}

Graph& Graph::operator=(Graph&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(node_count_, other.node_count_);
  return *this;
}

Graph::~Graph() {
  if (handle_ != nullptr) Api().cuGraphExecDestroy(handle_);
}

Status Graph::Upload(const Stream& stream) const {
  return DRIVER_CALL(std::to_string(node_count_) + " nodes", cuGraphUpload, handle_,
                     stream.handle());
}

Status Graph::Launch(const Stream& stream) const {
  return DRIVER_CALL(std::to_string(node_count_) + " nodes", cuGraphLaunch, handle_,
                     stream.handle());
}

}  // namespace warpsmith::cuda
