#include "judge/standalone/buffers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/random.h"

namespace warpsmith::standalone {
namespace {

template <typename T>
void Store(T value, char* target) {
  std::memcpy(target, &value, sizeof(value));
}

template <typename T>
T Clamped(double value) {
  const double rounded = std::nearbyint(value);
  if (!(rounded > static_cast<double>(std::numeric_limits<T>::min()))) {
    return std::numeric_limits<T>::min();
  }
  if (rounded >= static_cast<double>(std::numeric_limits<T>::max())) {
    return std::numeric_limits<T>::max();
  }
  return static_cast<T>(rounded);
}

void StoreAs(DType dtype, double value, char* target) {
  switch (dtype) {
    case DType::kF16:
      return Store(HalfBits(static_cast<float>(value)), target);
    case DType::kBF16:
      return Store(BFloat16Bits(static_cast<float>(value)), target);
    case DType::kF32:
      return Store(static_cast<float>(value), target);
    case DType::kF64:
      return Store(value, target);
    case DType::kI8:
      return Store(Clamped<int8_t>(value), target);
    case DType::kI32:
      return Store(Clamped<int32_t>(value), target);
    case DType::kI64:
      return Store(Clamped<int64_t>(value), target);
    case DType::kBool:
      return Store(static_cast<uint8_t>(value != 0), target);
  }
}

bool IsFloat(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

struct Bounds {
  int64_t low = 0, high = 0;
};

Result<Bounds> BoundsOf(const TensorSpec& tensor, const Sizes& sizes) {
  Bounds bounds;
  for (auto [expression, value] :
       {std::pair(&tensor.low, &bounds.low), {&tensor.high, &bounds.high}}) {
    const auto evaluated = expression->Evaluate(sizes);
    if (!evaluated.ok()) {
      return Error{ErrorCode::kBadInput, "tensor " + tensor.name + ": " + evaluated.error().message,
                   ""};
    }
    *value = *evaluated;
  }
  return bounds;
}

double Draw(const TensorSpec& tensor, const Bounds& bounds, Random& random) {
  switch (tensor.generator) {
    case Generator::kUniform:
      return 2 * random.Uniform() - 1;
    case Generator::kUnit:
      return random.Uniform();
    case Generator::kIntegers:
      return static_cast<double>(bounds.low) +
             static_cast<double>(random.Below(
                 static_cast<uint64_t>(std::max<int64_t>(1, bounds.high - bounds.low))));
    case Generator::kReference:
      return IsFloat(tensor.dtype) ? random.Normal() : 0;
    case Generator::kNormal:
    case Generator::kOffsets:
      break;
  }
  return random.Normal();
}

// Ascending whole numbers from 0 to `high`: evenly spaced, each moved by less than half a step.
std::string Offsets(const TensorSpec& tensor, const Bounds& bounds, int64_t elements,
                    Random& random) {
  const int64_t width = ElementBytes(tensor.dtype);
  std::string bytes(static_cast<size_t>(elements * width), '\0');
  const double step =
      elements > 1 ? static_cast<double>(bounds.high) / static_cast<double>(elements - 1) : 0;
  for (int64_t i = 1; i + 1 < elements; ++i) {
    const double moved = static_cast<double>(i) + random.Uniform() - 0.5;
    StoreAs(tensor.dtype, std::floor(moved * step), bytes.data() + i * width);
  }
  if (elements > 1) {
    StoreAs(tensor.dtype, static_cast<double>(bounds.high), bytes.data() + (elements - 1) * width);
  }
  return bytes;
}

// Copies what is there to the end of `bytes`, doubling.
void RepeatBlock(size_t block_bytes, std::string* bytes) {
  for (size_t filled = block_bytes; filled < bytes->size();) {
    const size_t more = std::min(filled, bytes->size() - filled);
    std::memcpy(bytes->data() + filled, bytes->data(), more);
    filled += more;
  }
}

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

Result<std::string> MakeContents(const TensorSpec& tensor, const Sizes& sizes, int64_t elements,
                                 uint64_t seed) {
  const Bounds bounds = TRY(BoundsOf(tensor, sizes));
  Random random(seed, "solo input " + tensor.name);
  if (tensor.generator == Generator::kOffsets) return Offsets(tensor, bounds, elements, random);
  const int64_t width = ElementBytes(tensor.dtype);
  std::string bytes(static_cast<size_t>(elements * width), '\0');
  const int64_t drawn = std::min(elements, kDistinctElements);
  for (int64_t i = 0; i < drawn; ++i) {
    StoreAs(tensor.dtype, Draw(tensor, bounds, random), bytes.data() + i * width);
  }
  RepeatBlock(static_cast<size_t>(drawn * width), &bytes);
  return bytes;
}

uint16_t HalfBits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);   // NaN
  if (magnitude >= 0x47800000) return static_cast<uint16_t>(sign | 0x7c00);  // 65536 and above
  if (magnitude < 0x38800000) {                                              // subnormal in half
    const float scaled = std::bit_cast<float>(magnitude) * 16777216.0F;      // 2^24
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(std::nearbyint(scaled)));
  }
  const uint32_t rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000) >> 13));
}

uint16_t BFloat16Bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>((bits >> 16) | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

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
