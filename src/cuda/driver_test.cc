#include "cuda/driver.h"

#include <gmock/gmock.h>

#include "cuda/context.h"
#include "cuda/driver_api.h"
#include "cuda/nvml.h"

namespace warpsmith::cuda {
namespace {

using testing::HasSubstr;

DeviceProperties Device(int ordinal, const std::string& uuid) {
  DeviceProperties device;
  device.ordinal = ordinal;
  device.name = "NVIDIA H200";
  device.uuid = uuid;
  return device;
}

const std::vector<DeviceProperties> kTwo = {Device(0, "GPU-8f2c0000-0000-0000-0000-000000000001"),
                                            Device(1, "GPU-8f310000-0000-0000-0000-000000000002")};

int Chosen(std::string_view wanted) {
  const auto device = ChooseDevice(kTwo, wanted);
  return device.ok() ? device->ordinal : -1;
}

TEST(ChooseDevice, ByIndexUuidOrUniquePrefix) {
  EXPECT_EQ(Chosen(""), 0);
  EXPECT_EQ(Chosen("1"), 1);
  EXPECT_EQ(Chosen("GPU-8f31"), 1);
  EXPECT_EQ(Chosen("8f2c"), 0);
  EXPECT_EQ(Chosen("GPU-8f2c0000-0000-0000-0000-000000000001"), 0);
}

TEST(ChooseDevice, RefusalListsWhatIsHere) {
  const auto ambiguous = ChooseDevice(kTwo, "GPU-8f");
  ASSERT_FALSE(ambiguous.ok());
  EXPECT_EQ(ambiguous.error().code, ErrorCode::kUnknownDevice);
  EXPECT_THAT(ambiguous.error().message, HasSubstr("more than one"));
  const auto absent = ChooseDevice(kTwo, "2");
  ASSERT_FALSE(absent.ok());
  EXPECT_THAT(absent.error().message, HasSubstr("GPU-8f310000"));
  EXPECT_FALSE(ChooseDevice({}, "").ok());
}

TEST(Architecture, IsTheSpecificOneWhereThereIsOne) {
  DeviceProperties device;
  device.compute_major = 9;
  EXPECT_EQ(ArchitectureOf(device), "sm_90a");
  device.compute_major = 8;
  device.compute_minor = 6;
  EXPECT_EQ(ArchitectureOf(device), "sm_86");
  device.compute_major = 12;
  device.compute_minor = 0;
  EXPECT_EQ(ArchitectureOf(device), "sm_120a");
}

TEST(DriverVersion, OlderThanTheToolkitIsUnavailable) {
  EXPECT_TRUE(CheckDriverVersion(13000).ok());
  EXPECT_TRUE(CheckDriverVersion(13020).ok());
  const Status old = CheckDriverVersion(12080);
  ASSERT_FALSE(old.ok());
  EXPECT_EQ(old.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(old.error().message, "driver supports CUDA 12.8, needs 13.0");
  EXPECT_FALSE(old.error().fix.empty());
}

TEST(Driver, WithoutOneEverythingSaysSoAndLivesOn) {
  const auto driver = Driver::Open();
  if (driver.ok()) GTEST_SKIP() << "a driver is here";
  EXPECT_EQ(driver.error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(driver.error().fix.empty());
  EXPECT_EQ(Driver::Open().error().message, driver.error().message);
  EXPECT_EQ(Context::Retain(kTwo[0]).error().code, ErrorCode::kUnavailable);
}

TEST(Nvml, WithoutADriverIsUnavailable) {
  if (Driver::Open().ok()) GTEST_SKIP() << "a driver is here";
  EXPECT_EQ(TelemetryReader::Open(kTwo[0].uuid).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(DriverRelease().error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace warpsmith::cuda
