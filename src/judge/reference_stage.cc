#include "judge/reference_stage.h"

namespace warpsmith::judge {
namespace {

int64_t ExpectedBytes(const Problem& problem, size_t role) {
  const TensorInfo& tensor = problem.Tensor(role);
  if (!problem.IsOutput(role)) return tensor.bytes;
  return tensor.elements * ElementBytes(problem.expected[role - problem.inputs.size()]);
}

}  // namespace

Result<ReferenceStage> ReferenceStage::Create(const OracleDevice& device, const Problem& problem) {
  ReferenceStage stage;
  for (size_t role = 0; role < problem.Roles(); ++role) {
    const int64_t bytes = ExpectedBytes(problem, role);
    stage.memory_.push_back(TRY(cuda::PhysicalMemory::Create(
        device.properties(), static_cast<size_t>(PaddedBytes(bytes)))));
    stage.mappings_.push_back(TRY(cuda::Mapping::Map(stage.memory_.back())));
    const cuda::Mapping& mapping = stage.mappings_.back();
    Region region = MakeExactRegion(bytes, static_cast<int64_t>(mapping.bytes()));
    region.base += mapping.address();
    stage.regions_.push_back(region);
  }
  return stage;
}

std::vector<Region> ReferenceStage::regions() const {
  std::vector<Region> relative = regions_;
  for (size_t role = 0; role < relative.size(); ++role) {
    relative[role].base -= mappings_[role].address();
  }
  return relative;
}

std::vector<int64_t> ReferenceStage::mapped_bytes() const {
  std::vector<int64_t> bytes;
  for (const auto& memory : memory_) bytes.push_back(static_cast<int64_t>(memory.bytes()));
  return bytes;
}

Result<std::vector<int>> ReferenceStage::Export() const {
  std::vector<int> descriptors;
  for (const auto& memory : memory_) descriptors.push_back(TRY(memory.Export()));
  return descriptors;
}

}  // namespace warpsmith::judge
