#include "cuda/kernel_launch.h"

#include <algorithm>
#include <span>
#include <utility>

#include "cuda/driver_api.h"

namespace warpsmith::cuda {
namespace {

static_assert(sizeof(TensorMap) == sizeof(CUtensorMap));

constexpr CUtensorMapDataType kTypes[] = {
    CU_TENSOR_MAP_DATA_TYPE_UINT8,   CU_TENSOR_MAP_DATA_TYPE_UINT16,
    CU_TENSOR_MAP_DATA_TYPE_UINT32,  CU_TENSOR_MAP_DATA_TYPE_INT32,
    CU_TENSOR_MAP_DATA_TYPE_UINT64,  CU_TENSOR_MAP_DATA_TYPE_INT64,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT16, CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    CU_TENSOR_MAP_DATA_TYPE_FLOAT64, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
};

template <typename T>
struct ByBytes {
  int bytes;
  T value;
};

constexpr ByBytes<CUtensorMapSwizzle> kSwizzles[] = {
    {0, CU_TENSOR_MAP_SWIZZLE_NONE},
    {32, CU_TENSOR_MAP_SWIZZLE_32B},
    {64, CU_TENSOR_MAP_SWIZZLE_64B},
    {128, CU_TENSOR_MAP_SWIZZLE_128B},
};
constexpr ByBytes<CUtensorMapInterleave> kInterleaves[] = {
    {0, CU_TENSOR_MAP_INTERLEAVE_NONE},
    {16, CU_TENSOR_MAP_INTERLEAVE_16B},
    {32, CU_TENSOR_MAP_INTERLEAVE_32B},
};
constexpr ByBytes<CUtensorMapL2promotion> kPromotions[] = {
    {0, CU_TENSOR_MAP_L2_PROMOTION_NONE},
    {64, CU_TENSOR_MAP_L2_PROMOTION_L2_64B},
    {128, CU_TENSOR_MAP_L2_PROMOTION_L2_128B},
    {256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B},
};

template <typename T>
Result<T> Choose(std::span<const ByBytes<T>> choices, int bytes, const char* field) {
  for (const ByBytes<T>& choice : choices) {
    if (choice.bytes == bytes) return choice.value;
  }
  return Error{ErrorCode::kBadInput,
               std::string("tensor map: ") + field + " cannot be " + std::to_string(bytes), ""};
}

template <typename T>
std::string List(const std::vector<T>& values) {
  std::string text = "[";
  for (const T value : values) text += (text.size() == 1 ? "" : ", ") + std::to_string(value);
  return text + "]";
}

std::string DescribeMap(DevicePointer address, const TensorMapSpec& spec) {
  return "dims " + List(spec.dims) + ", strides " + List(spec.strides_bytes) + " B, box " +
         List(spec.box) + ", element strides " + List(spec.element_strides) + ", swizzle " +
         std::to_string(spec.swizzle_bytes) + ", interleave " +
         std::to_string(spec.interleave_bytes) + ", address aligned to " +
         std::to_string(address & (~address + 1));
}

Status CheckRanks(const TensorMapSpec& spec) {
  const size_t rank = spec.dims.size();
  if (rank >= 1 && rank <= 5 && spec.strides_bytes.size() == rank - 1 && spec.box.size() == rank &&
      spec.element_strides.size() == rank) {
    return {};
  }
  return Error{ErrorCode::kBadInput,
               "tensor map: needs 1 to 5 dims, one stride fewer, and as many box and element "
               "strides; found " +
                   DescribeMap(0, spec),
               ""};
}

}  // namespace

Result<TensorMap> EncodeTensorMap(DevicePointer address, const TensorMapSpec& spec) {
  TRY(CheckRanks(spec));
  const auto swizzle = TRY(Choose<CUtensorMapSwizzle>(kSwizzles, spec.swizzle_bytes, "swizzle"));
  const auto interleave =
      TRY(Choose<CUtensorMapInterleave>(kInterleaves, spec.interleave_bytes, "interleave"));
  const auto promotion =
      TRY(Choose<CUtensorMapL2promotion>(kPromotions, spec.l2_promotion_bytes, "l2_promotion"));
  const auto fill = spec.fill_nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                  : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE;
  CUtensorMap encoded{};
  TRY(DRIVER_CALL(DescribeMap(address, spec), cuTensorMapEncodeTiled, &encoded,
                  kTypes[static_cast<size_t>(spec.element)],
                  static_cast<cuuint32_t>(spec.dims.size()), reinterpret_cast<void*>(address),
                  reinterpret_cast<const cuuint64_t*>(spec.dims.data()),
                  reinterpret_cast<const cuuint64_t*>(spec.strides_bytes.data()), spec.box.data(),
                  spec.element_strides.data(), interleave, swizzle, promotion, fill));
  TensorMap map;
  std::copy(std::begin(encoded.opaque), std::end(encoded.opaque), map.words.begin());
  return map;
}

// A driver configuration and the attributes it points to.
struct DriverConfig {
  std::array<CUlaunchAttribute, 3> attributes{};
  CUlaunchConfig config{};
};

namespace {

std::string Extent(const std::array<uint32_t, 3>& extent) {
  return std::to_string(extent[0]) + " x " + std::to_string(extent[1]) + " x " +
         std::to_string(extent[2]);
}

bool HasCluster(const LaunchConfig& config) {
  return config.cluster[0] * config.cluster[1] * config.cluster[2] > 1;
}

void AddAttribute(DriverConfig* driver, CUlaunchAttributeID id, CUlaunchAttributeValue value) {
  CUlaunchAttribute& attribute = driver->attributes[driver->config.numAttrs++];
  attribute.id = id;
  attribute.value = value;
}

// Fills in place: `config.attrs` points into `driver` itself.
void Fill(const LaunchConfig& launch, CUstream stream, DriverConfig* driver) {
  CUlaunchConfig& config = driver->config;
  config.gridDimX = launch.grid[0];
  config.gridDimY = launch.grid[1];
  config.gridDimZ = launch.grid[2];
  config.blockDimX = launch.block[0];
  config.blockDimY = launch.block[1];
  config.blockDimZ = launch.block[2];
  config.sharedMemBytes = launch.shared_bytes;
  config.hStream = stream;
  config.attrs = driver->attributes.data();
  CUlaunchAttributeValue value{};
  if (HasCluster(launch)) {
    value.clusterDim = {launch.cluster[0], launch.cluster[1], launch.cluster[2]};
    AddAttribute(driver, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, value);
  }
  if (launch.cooperative) {
    value = {};
    value.cooperative = 1;
    AddAttribute(driver, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value);
  }
  if (launch.programmatic) {
    value = {};
    value.programmaticStreamSerializationAllowed = 1;
    AddAttribute(driver, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, value);
  }
}

}  // namespace

std::string DescribeLaunch(const Function& function, const LaunchConfig& config) {
  return "kernel '" + function.name + "', grid " + Extent(config.grid) + ", block " +
         Extent(config.block) + ", cluster " + Extent(config.cluster) + ", " +
         std::to_string(config.shared_bytes) + " B shared";
}

Status Launch(const Function& function, const LaunchConfig& config, const Stream& stream,
              void* const* arguments) {
  DriverConfig driver;
  Fill(config, stream.handle(), &driver);
  return DRIVER_CALL(DescribeLaunch(function, config), cuLaunchKernelEx, &driver.config,
                     function.handle, const_cast<void**>(arguments), nullptr);
}

struct FixedLaunch::State {
  Function function;
  LaunchConfig launch;  // for error texts
  DriverConfig driver;
};

FixedLaunch::FixedLaunch(const Function& function, const LaunchConfig& launch) {
  auto state = std::make_unique<State>(State{function, launch, {}});
  Fill(launch, nullptr, &state->driver);
  state_ = std::move(state);
}

FixedLaunch::FixedLaunch(FixedLaunch&&) noexcept = default;
FixedLaunch& FixedLaunch::operator=(FixedLaunch&&) noexcept = default;
FixedLaunch::~FixedLaunch() = default;

Status FixedLaunch::Submit(CUstream_st* stream, void* const* arguments) const {
  CUlaunchConfig config = state_->driver.config;
  config.hStream = stream;
  return DRIVER_CALL(DescribeLaunch(state_->function, state_->launch), cuLaunchKernelEx, &config,
                     state_->function.handle, const_cast<void**>(arguments), nullptr);
}

Result<int> MaxActiveClusters(const Function& function, const LaunchConfig& config) {
  DriverConfig driver;
  LaunchConfig one_cluster = config;
  one_cluster.grid = config.cluster;  // the driver wants a whole number of clusters
  Fill(one_cluster, nullptr, &driver);
  int clusters = 0;
  TRY(DRIVER_CALL(DescribeLaunch(function, config), cuOccupancyMaxActiveClusters, &clusters,
                  function.handle, &driver.config));
  return clusters;
}

Result<int> MaxActiveBlocksPerSm(const Function& function, const LaunchConfig& config) {
  const int threads = static_cast<int>(config.block[0] * config.block[1] * config.block[2]);
  int blocks = 0;
  TRY(DRIVER_CALL(DescribeLaunch(function, config), cuOccupancyMaxActiveBlocksPerMultiprocessor,
                  &blocks, function.handle, threads, config.shared_bytes));
  return blocks;
}

}  // namespace warpsmith::cuda
