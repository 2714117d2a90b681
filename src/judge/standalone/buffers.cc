#include "judge/standalone/buffers.h"

#include <string>
#include <utility>

#include "base/file.h"
#include "judge/standalone/contents.h"

namespace warpsmith::standalone {
namespace {

constexpr uint64_t kSeed = 1;  // two runs of one folder see the same inputs

Result<std::string> InputBytes(const TensorSpec& tensor, const StandaloneJob& job,
                               const std::filesystem::path& dir, int64_t bytes) {
  const std::filesystem::path path = InputPath(dir, tensor.name);
  if (!std::filesystem::exists(path)) {
    return MakeContents(tensor, job.workload.sizes, bytes / ElementBytes(tensor.dtype), kSeed);
  }
  std::string contents = TRY(ReadFile(path));
  if (static_cast<int64_t>(contents.size()) == bytes) return contents;
  return Error{ErrorCode::kBadInput,
               path.string() + ": " + std::to_string(contents.size()) + " bytes, tensor " +
                   tensor.name + " has " + std::to_string(bytes),
               "write the file for this workload, or remove it"};
}

}  // namespace

Result<Buffers> MakeBuffers(const StandaloneJob& job, const std::filesystem::path& dir) {
  Buffers buffers;
  for (const TensorSpec& tensor : job.task.tensors) {
    const int64_t bytes = TRY(TensorBytes(tensor, job.workload.sizes));
    auto memory = cuda::DeviceBuffer::Allocate(static_cast<size_t>(bytes));
    if (!memory.ok()) {
      Error error = std::move(memory).error();
      error.message = "tensor " + tensor.name + ": " + error.message;
      return error;
    }
    if (tensor.role == Role::kInput) {
      const std::string contents = TRY(InputBytes(tensor, job, dir, bytes));
      TRY(cuda::CopyToDevice(memory->address(), contents.data(), contents.size()));
    }
    buffers.bindings.push_back({tensor.name, memory->address(), bytes});
    buffers.memory.push_back(std::move(memory).value());
  }
  return buffers;
}

}  // namespace warpsmith::standalone
