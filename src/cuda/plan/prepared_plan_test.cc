#include "cuda/plan/prepared_plan.h"

#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "cuda/failure.h"
#include "cuda/fake/fake_control.h"
#include "cuda/stream.h"

namespace warpsmith::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kImage[] =
    "kernel scale 8 4 4\nkernel table 8 8\nkernel count 8 8\nkernel tma 128 8\n";

// One fake context for all tests: the driver is opened once per process.
const cuda::Context& TheContext() {
  static const cuda::Context context = cuda::fake::OpenContext();
  return context;
}

template <typename T>
T ArgumentAt(void** arguments, int i) {
  T value;
  std::memcpy(&value, arguments[i], sizeof(value));
  return value;
}

// a[0..n) *= factor
void Scale(void** arguments) {
  auto* a = ArgumentAt<float*>(arguments, 0);
  const auto n = ArgumentAt<int32_t>(arguments, 1);
  const auto factor = ArgumentAt<float>(arguments, 2);
  for (int i = 0; i < n; ++i) a[i] *= factor;
}

// *out = sum of three table entries
void SumTable(void** arguments) {
  const auto* table = ArgumentAt<int32_t*>(arguments, 1);
  *ArgumentAt<int32_t*>(arguments, 0) = table[0] + table[1] + table[2];
}

// *out = ++*counter, a workspace
void Count(void** arguments) {
  *ArgumentAt<int32_t*>(arguments, 0) = ++*ArgumentAt<int32_t*>(arguments, 1);
}

// *out = the map's first dimension, as the fake encodes it
void ReadMap(void** arguments) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arguments[0]) % 8, 0U);
  uint64_t words[16];
  std::memcpy(words, arguments[0], sizeof(words));
  *ArgumentAt<int32_t*>(arguments, 1) = static_cast<int32_t>(words[2]);
}

ResolvedScalar IntOf(int32_t value) {
  ResolvedScalar scalar;
  std::memcpy(scalar.bits.data(), &value, sizeof(value));
  return scalar;
}

ResolvedScalar FloatOf(float value) {
  ResolvedScalar scalar;
  std::memcpy(scalar.bits.data(), &value, sizeof(value));
  return scalar;
}

class PreparedPlanTest : public testing::Test {
 protected:
  void SetUp() override {
    TheContext();
    cuda::fake::DefineKernel("scale", Scale);
    cuda::fake::DefineKernel("table", SumTable);
    cuda::fake::DefineKernel("count", Count);
    cuda::fake::DefineKernel("tma", ReadMap);
    cuda::fake::TakeLaunches();
    stream_.emplace(cuda::Stream::Create().value());
    module_ = std::make_shared<cuda::Module>(cuda::Module::Load(kImage).value());
  }

  static ResolvedLaunch LaunchOf(const std::string& kernel,
                                 std::vector<ResolvedArgument> arguments) {
    ResolvedLaunch launch;
    launch.kernel = kernel;
    launch.arguments = std::move(arguments);
    return launch;
  }

  Result<PreparedPlan> Prepare(std::vector<ResolvedOperation> operations,
                               std::vector<ResolvedWorkspace> workspaces = {}) const {
    return PreparedPlan::Prepare({std::move(workspaces), std::move(operations)}, module_);
  }

  Status Execute(std::vector<ResolvedOperation> operations,
                 std::vector<ResolvedWorkspace> workspaces = {}) {
    const PreparedPlan prepared = TRY(Prepare(std::move(operations), std::move(workspaces)));
    return prepared.Execute(*stream_, Bindings());
  }

  std::vector<Binding> Bindings() {
    return {{"A", Address(a_), sizeof(a_)}, {"out", Address(&out_), sizeof(out_)}};
  }

  template <typename T>
  static cuda::DevicePointer Address(T* data) {
    return reinterpret_cast<cuda::DevicePointer>(data);
  }

  alignas(16) float a_[4] = {1, 2, 3, 4};
  alignas(16) int32_t out_ = 0;
  std::optional<cuda::Stream> stream_;
  std::shared_ptr<const cuda::Module> module_;
};

TEST_F(PreparedPlanTest, PassesTensorsAndScalars) {
  ResolvedLaunch launch = LaunchOf("scale", {TensorArgument{"A"}, IntOf(3), FloatOf(10)});
  launch.grid = {2, 1, 1};
  launch.block = {128, 1, 1};
  const Status done = Execute({launch});
  ASSERT_TRUE(done.ok()) << done.error().Line();
  EXPECT_THAT(a_, ElementsAre(10, 20, 30, 4));
  EXPECT_THAT(cuda::fake::TakeLaunches(), ElementsAre("scale grid=2,1,1 block=128,1,1 shared=0"));
}

TEST_F(PreparedPlanTest, PassesLaunchAttributes) {
  ResolvedLaunch launch = LaunchOf("scale", {TensorArgument{"A"}, IntOf(0), FloatOf(1)});
  launch.grid = {16, 1, 1};
  launch.cluster = {16, 1, 1};
  launch.shared_bytes = 200'000;
  launch.cooperative = launch.programmatic = launch.nonportable_cluster = true;
  ASSERT_TRUE(Execute({launch}).ok());
  EXPECT_THAT(cuda::fake::TakeLaunches(),
              ElementsAre("scale grid=16,1,1 block=1,1,1 shared=200000 cluster=16,1,1 cooperative "
                          "programmatic"));
}

TEST_F(PreparedPlanTest, EachLaunchHasItsOwnTable) {
  ASSERT_TRUE(Execute({LaunchOf("table", {TensorArgument{"A"}, TableArgument{{5, 6, 7}}}),
                       LaunchOf("table", {TensorArgument{"out"}, TableArgument{{1, 2, 3}}})})
                  .ok());
  EXPECT_EQ(out_, 6);
  int32_t first = 0;
  std::memcpy(&first, a_, sizeof(first));
  EXPECT_EQ(first, 18);
}

TEST_F(PreparedPlanTest, ZeroedWorkspaceIsZeroAtEveryExecution) {
  const auto prepared = Prepare(
      {LaunchOf("count", {TensorArgument{"out"}, WorkspaceArgument{"w"}})}, {{"w", 64, true}});
  ASSERT_TRUE(prepared.ok()) << prepared.error().Line();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(prepared->Execute(*stream_, Bindings()).ok());
    EXPECT_EQ(out_, 1);
  }
}

TEST_F(PreparedPlanTest, OtherWorkspacesAreLeftAloneUntilPoisoned) {
  const auto prepared = Prepare(
      {LaunchOf("count", {TensorArgument{"out"}, WorkspaceArgument{"w"}})}, {{"w", 64, false}});
  ASSERT_TRUE(prepared.ok());
  EXPECT_EQ(prepared->workspace_bytes(), 64);
  ASSERT_TRUE(prepared->PoisonWorkspaces(0x11, *stream_).ok());
  ASSERT_TRUE(prepared->Execute(*stream_, Bindings()).ok());
  ASSERT_TRUE(prepared->Execute(*stream_, Bindings()).ok());
  EXPECT_EQ(out_, 0x11111113);
}

TEST_F(PreparedPlanTest, BoundPlanReplaysWithinAGraph) {
  const auto prepared = Prepare({LaunchOf("scale", {TensorArgument{"A"}, IntOf(1), FloatOf(2)})});
  ASSERT_TRUE(prepared.ok());
  std::optional<cuda::Graph> graph;
  {
    auto bound = prepared->Bind(Bindings());
    ASSERT_TRUE(bound.ok());
    const BoundPlan moved = std::move(bound).value();
    auto captured = cuda::Graph::Capture(*stream_, [&]() -> Status {
      for (int i = 0; i < 3; ++i) TRY(moved.Execute(*stream_));
      return {};
    });
    ASSERT_TRUE(captured.ok()) << captured.error().Line();
    graph.emplace(std::move(captured).value());
  }
  EXPECT_EQ(graph->node_count(), 3U);
  EXPECT_EQ(a_[0], 1);
  ASSERT_TRUE(graph->Launch(*stream_).ok());
  EXPECT_EQ(a_[0], 8);
}

TEST_F(PreparedPlanTest, MemsetCopyAndPad) {
  alignas(16) uint8_t source[6] = {1, 2, 3, 4, 5, 6};
  alignas(16) uint8_t target[12];
  std::memset(target, 0xee, sizeof(target));
  const auto prepared = Prepare({ResolvedMemset{"out", 0x22, 4}, ResolvedCopy{"w", "source", 6},
                                 ResolvedPad{"target", "w", 2, 2, 3, 3, 4}},
                                {{"w", 6, false}});
  ASSERT_TRUE(prepared.ok());
  std::vector<Binding> bindings = Bindings();
  bindings.push_back({"source", Address(source), sizeof(source)});
  bindings.push_back({"target", Address(target), sizeof(target)});
  const Status done = prepared->Execute(*stream_, bindings);
  ASSERT_TRUE(done.ok()) << done.error().Line();
  EXPECT_EQ(out_, 0x22222222);
  EXPECT_THAT(target, ElementsAre(1, 2, 0, 0, 4, 5, 0, 0, 0, 0, 0, 0));
}

ResolvedTensorMap MapOf(const std::string& tensor, uint64_t columns) {
  ResolvedTensorMap map;
  map.tensor = tensor;
  map.dtype = DType::kF32;
  map.dims = {columns};
  map.box = {1};
  map.element_strides = {1};
  return map;
}

TEST_F(PreparedPlanTest, EncodesTensorMaps) {
  const Status done = Execute({LaunchOf("tma", {MapOf("A", 4), TensorArgument{"out"}})});
  ASSERT_TRUE(done.ok()) << done.error().Line();
  EXPECT_EQ(out_, 4);
}

// Every refusal names the operation and the field.
void ExpectBadInput(const Status& status, const std::string& place) {
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(status.error().message, HasSubstr(place));
}

TEST_F(PreparedPlanTest, ArgumentsMustMatchTheCompiledKernel) {
  ExpectBadInput(Execute({LaunchOf("scale", {TensorArgument{"A"}, IntOf(3)})}),
                 "operations[0].arguments: kernel 'scale' takes 3 parameters, found 2");
  ResolvedScalar wide = IntOf(3);
  wide.bytes = 8;
  ExpectBadInput(Execute({LaunchOf("scale", {TensorArgument{"A"}, wide, FloatOf(1)})}),
                 "operations[0].arguments[1]: kernel 'scale' takes 4 bytes there, found 8");
  ExpectBadInput(Execute({LaunchOf("absent", {})}),
                 "operations[0].kernel: the image has no kernel");
}

TEST_F(PreparedPlanTest, OperationsStayWithinTheirMemory) {
  ExpectBadInput(Execute({ResolvedMemset{"out", 0, 5}}),
                 "operations[0]: target: reaches past the 4");
  ExpectBadInput(Execute({ResolvedCopy{"A", "out", 5}}), "operations[0]: source");
  ExpectBadInput(Execute({ResolvedCopy{"A", "elsewhere", 1}}), "'elsewhere' was not bound");
  ExpectBadInput(Execute({ResolvedPad{"A", "out", 2, 2, 3, 2, 8}}), "operations[0]: source");
  ExpectBadInput(Execute({ResolvedPad{"A", "out", 2, 2, 2, 2, 9}}), "operations[0]: target");
  ExpectBadInput(Execute({LaunchOf("tma", {MapOf("A", 5), TensorArgument{"out"}})}),
                 "operations[0]: arguments[0]: reaches past the 16");
  ResolvedTensorMap huge = MapOf("A", uint64_t{1} << 63);
  huge.dims.push_back(uint64_t{1} << 63);
  huge.strides_bytes = {uint64_t{1} << 63};
  ExpectBadInput(Execute({LaunchOf("tma", {huge, TensorArgument{"out"}})}), "reaches past");
}

TEST_F(PreparedPlanTest, RefusalsOfTheDriverNameTheOperation) {
  ResolvedLaunch launch = LaunchOf("scale", {TensorArgument{"A"}, IntOf(0), FloatOf(1)});
  launch.shared_bytes = 300'000;
  const Status refused = Execute({ResolvedMemset{"out", 0, 4}, launch});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, testing::StartsWith("operations[1]: cuFuncSetAttribute"));
  const auto failure = cuda::FailureFrom(refused.error());
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->code, "CUDA_ERROR_INVALID_VALUE");
  EXPECT_THAT(failure->detail, HasSubstr("300000 B"));
}

TEST_F(PreparedPlanTest, OccupancyCountsClustersOrBlocks) {
  const ClusterOccupancy occupancy = OccupancyOf(*module_, 132);
  ResolvedLaunch launch = LaunchOf("scale", {});
  launch.block = {256, 1, 1};
  EXPECT_EQ(*occupancy(launch), 132 * 8);
  launch.cluster = {2, 1, 1};
  EXPECT_EQ(*occupancy(launch), 66);
  launch.cluster = {16, 1, 1};
  EXPECT_FALSE(occupancy(launch).ok());
  launch.nonportable_cluster = true;
  EXPECT_EQ(*occupancy(launch), 8);
}

}  // namespace
}  // namespace warpsmith::plan
