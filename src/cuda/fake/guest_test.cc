#include "cuda/guest.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "cuda/fake/fake_control.h"
#include "cuda/fake/half.h"
#include "cuda/lt_product.h"

namespace warpsmith::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(FixedLaunchTest, LaunchesWithItsConfigurationOnAnyStream) {
  const Context context = fake::OpenContext();
  const Module module = Module::Load("kernel add 8 4").value();
  const Function function = module.Kernel("add").value();
  LaunchConfig config;
  config.grid = {4, 2, 1};
  config.block = {128, 1, 1};
  config.cluster = {2, 1, 1};
  const FixedLaunch launch(function, config);
  uint64_t pointer = 0;
  int value = 0;
  void* arguments[] = {&pointer, &value};
  fake::TakeLaunches();
  EXPECT_TRUE(launch.Submit(nullptr, arguments).ok());
  const Stream stream = Stream::Create().value();
  EXPECT_TRUE(launch.Submit(stream.handle(), arguments).ok());
  const std::string line = "add grid=4,2,1 block=128,1,1 shared=0 cluster=2,1,1";
  EXPECT_THAT(fake::TakeLaunches(), ElementsAre(line, line));
}

TEST(FixedLaunchTest, ARefusalNamesTheLaunch) {
  const Context context = fake::OpenContext();
  const Module module = Module::Load("kernel add").value();
  LaunchConfig config;
  config.shared_bytes = 200 << 10;  // never raised
  const FixedLaunch launch(module.Kernel("add").value(), config);
  const Status refused = launch.Submit(nullptr, nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("kernel 'add'"));
}

TEST(GuestTest, KnowsTheContextAndTheMemoryBehindAnAddress) {
  const Context context = fake::OpenContext();
  EXPECT_NE(CurrentContext().value(), nullptr);
  EXPECT_EQ(CurrentDevice().value(), 0);
  const DeviceBuffer buffer = DeviceBuffer::Allocate(1024).value();
  EXPECT_EQ(MemoryBehind(buffer.address() + 1023), MemoryKind::kDevice);
  EXPECT_EQ(MemoryBehind(4096), MemoryKind::kUnknown);
}

// 2 x 3 = 2 x 2 * 2 x 3 in every storage, with a leading dimension of 5.
float ProductAt(bool transpose_a, bool transpose_b, HalfType type) {
  setenv("WARPSMITH_CUBLASLT", fake::CublasLtPath(), 1);  // NOLINT(concurrency-mt-unsafe)
  const auto to = type == HalfType::kF16 ? fake::ToF16 : fake::ToBF16;
  std::vector<uint16_t> a(10), b(15), c(10, to(8.0F));
  for (int i = 0; i < 2; ++i) {
    for (int p = 0; p < 2; ++p) {
      a[transpose_a ? p * 5 + i : i * 5 + p] = to(static_cast<float>(1 + 2 * i + p));  // 1 2; 3 4
    }
  }
  for (int p = 0; p < 2; ++p) {
    for (int j = 0; j < 3; ++j) {
      b[transpose_b ? j * 5 + p : p * 5 + j] = to(static_cast<float>(1 + 3 * p + j));  // 1 2 3; ...
    }
  }
  auto product = LtProduct::Create(LtLibrary::Open().value(),
                                   {2, 3, 2, transpose_a, transpose_b, 5, 5, 5, type});
  CHECK(product.ok() && product->Choose(0, {2, 2, 2}).ok());
  const auto address = [](auto& data) { return reinterpret_cast<DevicePointer>(data.data()); };
  CHECK(product->Run({.alpha = 2, .beta = 0.5, .a = address(a), .b = address(b), .c = address(c)})
            .ok());
  return (type == HalfType::kF16 ? fake::FromF16 : fake::FromBF16)(c[1 * 5 + 2]);
}

TEST(LtProductTest, MultipliesInEveryStorage) {
  for (const HalfType type : {HalfType::kF16, HalfType::kBF16}) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) {
        EXPECT_EQ(ProductAt(a, b, type), 2 * (3 * 3 + 4 * 6) + 0.5F * 8);
      }
    }
  }
}

TEST(LtProductTest, TakesAStoredAlgorithmOnlyWhereItFits) {
  setenv("WARPSMITH_CUBLASLT", fake::CublasLtPath(), 1);  // NOLINT(concurrency-mt-unsafe)
  const auto library = LtLibrary::Open().value();
  EXPECT_EQ(library->version(), "cuBLASLt 13.99.0");
  auto product = LtProduct::Create(library, {2, 3, 2, false, false, 2, 3, 3}).value();
  LtAlgorithm algorithm;
  EXPECT_FALSE(product.Take(algorithm, 1 << 20).ok());
  algorithm.bytes = {0x66616b65, 4096};
  EXPECT_FALSE(product.Take(algorithm, 0).ok());
  EXPECT_TRUE(product.Take(algorithm, 4096).ok());
  EXPECT_EQ(product.workspace_bytes(), 4096U);
}

TEST(LtProductTest, AWrongFileIsSaidSo) {
  setenv("WARPSMITH_CUBLASLT", "/nowhere/lib.so", 1);  // NOLINT(concurrency-mt-unsafe)
  const auto library = LtLibrary::Open();
  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().message, HasSubstr("WARPSMITH_CUBLASLT"));
}

}  // namespace
}  // namespace warpsmith::cuda
