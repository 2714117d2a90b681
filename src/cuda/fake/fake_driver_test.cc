// This folder's classes over the fake driver: what they submit, and what they clean up.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "cuda/fake/fake_control.h"
#include "cuda/kernel_launch.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/shared_memory.h"
#include "cuda/stream.h"

namespace warpsmith::cuda {
namespace {

using testing::HasSubstr;

class FakeDriverTest : public testing::Test {
 protected:
  static const Context& TheContext() {
    static const Context context = fake::OpenContext();
    return context;
  }
  const DeviceProperties& device_ = TheContext().device();
};

template <typename T>
T ValueOf(Result<T> result) {
  EXPECT_TRUE(result.ok()) << result.error().Line();
  return std::move(result).value();
}

void ExpectOk(const Status& status) { EXPECT_TRUE(status.ok()) << status.error().Line(); }

char* Host(DevicePointer address) { return reinterpret_cast<char*>(address); }

TEST_F(FakeDriverTest, DeviceIsDescribed) {
  EXPECT_EQ(device_.name, "Fake GPU");
  EXPECT_EQ(device_.uuid, "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
  EXPECT_EQ(device_.compute_capability(), 90);
  EXPECT_EQ(device_.sm_count, 132);
  EXPECT_EQ(device_.max_shared_bytes_per_block, 232448);
  EXPECT_EQ(device_.l2_bytes, 50 << 20);
}

TEST_F(FakeDriverTest, TransfersArriveInOrder) {
  const Stream stream = ValueOf(Stream::Create());
  const DeviceBuffer one = ValueOf(DeviceBuffer::Allocate(16));
  const DeviceBuffer two = ValueOf(DeviceBuffer::Allocate(16));
  ExpectOk(FillAsync(one.address(), 1, 16, stream));
  ExpectOk(FillAsync(one.address() + 4, 2, 12, stream));
  ExpectOk(CopyOnDeviceAsync(two.address(), one.address(), 8, stream));
  ExpectOk(FillAsync(two.address() + 8, 7, 8, stream));
  char host[16];
  ExpectOk(CopyToHost(host, two.address(), sizeof(host)));
  EXPECT_EQ(std::memcmp(host, "\1\1\1\1\2\2\2\2\7\7\7\7\7\7\7\7", 16), 0);
}

TEST_F(FakeDriverTest, NothingIsAllocatedOrMovedForZeroBytes) {
  const DeviceBuffer empty = ValueOf(DeviceBuffer::Allocate(0));
  EXPECT_EQ(empty.address(), 0U);
  ExpectOk(CopyToDevice(0, nullptr, 0));
}

TEST_F(FakeDriverTest, EventsWithinAGraphAreRecordedByEveryLaunch) {
  const Stream stream = ValueOf(Stream::Create());
  const Event start = ValueOf(Event::Create()), end = ValueOf(Event::Create());
  const Module module = ValueOf(Module::Load("kernel tick"));
  const Function tick = ValueOf(module.Kernel("tick"));
  const Graph graph = ValueOf(Graph::Capture(stream, [&]() -> Status {
    TRY(start.RecordInGraph(stream));
    for (int i = 0; i < 3; ++i) TRY(Launch(tick, {}, stream, nullptr));
    return end.RecordInGraph(stream);
  }));
  EXPECT_EQ(graph.node_count(), 5U);
  ExpectOk(graph.Launch(stream));
  EXPECT_DOUBLE_EQ(ValueOf(ElapsedUs(start, end)), 3000);
}

TEST_F(FakeDriverTest, FailedCaptureLeavesTheStreamUsable) {
  const Stream stream = ValueOf(Stream::Create());
  const auto graph = Graph::Capture(stream, []() -> Status {
    return Error{ErrorCode::kBadInput, "submission failed", ""};
  });
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().message, "submission failed");
  ExpectOk(stream.Synchronize());
}

TEST_F(FakeDriverTest, AbsentKernelListsThoseThatAreThere) {
  const Module module = ValueOf(Module::Load("kernel one\nkernel two"));
  const auto kernel = module.Kernel("three");
  ASSERT_FALSE(kernel.ok());
  EXPECT_THAT(kernel.error().message, HasSubstr("it has: one, two"));
}

TEST_F(FakeDriverTest, FailureNamesCallCodeAndArgument) {
  const auto module = Module::Load("rubbish");
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.error().message,
            "cuModuleLoadData: CUDA_ERROR_INVALID_VALUE (invalid argument): image of 7 bytes");
}

TEST_F(FakeDriverTest, TwoMappingsOfOneMemoryAreTheSameMemory) {
  const size_t granularity = ValueOf(SharedGranularity(device_));
  const PhysicalMemory memory = ValueOf(PhysicalMemory::Create(device_, 1));
  EXPECT_EQ(memory.bytes(), granularity);
  const Mapping writer = ValueOf(Mapping::Map(memory));
  const int descriptor = ValueOf(memory.Export());
  const PhysicalMemory imported =
      ValueOf(PhysicalMemory::Import(device_, descriptor, memory.bytes()));
  close(descriptor);
  MappingOptions options;
  options.access = Access::kRead;
  const Mapping reader = ValueOf(Mapping::Map(imported, options));
  EXPECT_NE(writer.address(), reader.address());
  std::strcpy(Host(writer.address()), "shared");
  EXPECT_STREQ(Host(reader.address()), "shared");
}

TEST_F(FakeDriverTest, MappingLandsWhereItIsWanted) {
  const PhysicalMemory memory = ValueOf(PhysicalMemory::Create(device_, 1));
  DevicePointer address = 0;
  MappingOptions options;
  options.guard_bytes = 1;
  {
    const Mapping somewhere = ValueOf(Mapping::Map(memory, options));
    address = somewhere.address();
  }
  options.wanted_address = address;
  EXPECT_EQ(ValueOf(Mapping::Map(memory, options)).address(), address);
}

// True when a child that touches `address` dies of it.
bool IsUnmapped(DevicePointer address) {
  const pid_t child = fork();
  if (child == 0) {
    *reinterpret_cast<volatile char*>(address);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

TEST_F(FakeDriverTest, GuardsAroundAMappingAreUnmapped) {
  const PhysicalMemory memory = ValueOf(PhysicalMemory::Create(device_, 1));
  MappingOptions options;
  options.guard_bytes = 1;
  const Mapping mapping = ValueOf(Mapping::Map(memory, options));
  EXPECT_FALSE(IsUnmapped(mapping.address()));
  EXPECT_FALSE(IsUnmapped(mapping.address() + mapping.bytes() - 1));
  EXPECT_TRUE(IsUnmapped(mapping.address() - 1));
  EXPECT_TRUE(IsUnmapped(mapping.address() + mapping.bytes()));
}

TEST_F(FakeDriverTest, MovedFromResourcesHoldNothing) {
  DeviceBuffer one = ValueOf(DeviceBuffer::Allocate(16));
  const DeviceBuffer two = std::move(one);
  EXPECT_EQ(one.address(), 0U);  // NOLINT: that is the question
  EXPECT_NE(two.address(), 0U);
}

}  // namespace
}  // namespace warpsmith::cuda
