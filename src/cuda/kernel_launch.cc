#include "cuda/kernel_launch.h"

#include <utility>

#include "cuda/driver_api.h"

namespace warpsmith::cuda {

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
