#include "cuda/kernel_launch.h"
#include "cuda/memory.h"
#include "cuda/plan/bound_step.h"

namespace warpsmith::plan {
namespace {

struct Submitter {
  const PlanState& state;
  const cuda::Stream& stream;
  size_t operation;

  Status operator()(const BoundLaunch& launch) const {
    return cuda::Launch(state.functions[operation], state.configs[operation], stream,
                        launch.pointers.data());
  }

  Status operator()(const BoundMemset& memset) const {
    return cuda::FillAsync(memset.target, memset.value, memset.bytes, stream);
  }

  Status operator()(const BoundCopy& copy) const {
    return cuda::CopyOnDeviceAsync(copy.target, copy.source, copy.bytes, stream);
  }

  // The copied block, the rest of its rows, and the rows below it.
  Status operator()(const BoundPad& pad) const {
    const size_t pitch = pad.target_pitch_bytes;
    const size_t width = pad.source.width_bytes, rows = pad.source.rows;
    TRY(cuda::CopyRowsAsync(pad.target, pitch, pad.source, stream));
    TRY(cuda::FillRowsAsync({pad.target + width, pitch, pitch - width, rows}, 0, stream));
    return cuda::FillAsync(pad.target + rows * pitch, 0, (pad.target_rows - rows) * pitch, stream);
  }
};

}  // namespace

Status Submit(const BoundStep& step, const PlanState& state, const cuda::Stream& stream) {
  return std::visit(Submitter{state, stream, step.operation}, step.action);
}

std::string PlaceOf(const BoundStep& step, const PlanState& state) {
  if (step.operation >= state.plan.operations.size()) return "zeroing a workspace";
  return OperationText(step.operation);
}

}  // namespace warpsmith::plan
