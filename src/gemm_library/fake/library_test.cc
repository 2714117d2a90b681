#include "gemm_library/library.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "cuda/fake/fake_control.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "gemm_library/fake/host_gemm.h"

namespace warpsmith::gemm_library {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class LibraryTest : public ::testing::Test {
 protected:
  LibraryTest() {
    fake::OpenFakeDevice();
    library_ = Library::Create(fake::HostPack(), false).value();
  }

  // Kernels that ran, by their first words; wrong elements must be none.
  std::vector<std::string> Run(const Problem& problem, size_t workspace_bytes = 0) {
    fake::HostProduct product(problem);
    product.UseWorkspace(workspace_bytes);
    cuda::fake::TakeLaunches();
    const Status status = library_->Run(problem, product.addresses(), nullptr);
    EXPECT_TRUE(status.ok()) << status.error().Line();
    EXPECT_EQ(product.Wrong(), 0) << Text(problem);
    std::vector<std::string> kernels;
    for (const std::string& line : cuda::fake::TakeLaunches()) {
      kernels.push_back(line.substr(0, line.find(' ')));
    }
    return kernels;
  }

  std::string Explain(const Problem& problem) { return library_->Explain(problem, 0).value(); }

  std::unique_ptr<Library> library_;
};

Problem Tn(int64_t size) { return {.m = size, .n = size, .k = size, .transpose_b = true}; }

TEST_F(LibraryTest, RunsTheKernelOfTheCatalogue) {
  EXPECT_THAT(Run(Tn(16)), ElementsAre("pointers"));
  EXPECT_THAT(Run(Tn(16)), ElementsAre("pointers"));  // from the cache
  EXPECT_THAT(Run(Tn(32)), ElementsAre("maps"));
  EXPECT_THAT(Explain(Tn(16)), HasSubstr("host variant=0, workspace 0 bytes; catalogue: 1.500"));
}

TEST_F(LibraryTest, RunsTheKernelOfTheType) {
  Problem problem = Tn(16);
  EXPECT_THAT(Run(problem), ElementsAre("pointers"));
  problem.dtype = DType::kBF16;
  EXPECT_THAT(Run(problem), ElementsAre("pointers-bf16"));
  problem = Tn(32);
  problem.dtype = DType::kBF16;
  EXPECT_THAT(Run(problem), IsEmpty());  // no kernel was built: cuBLASLt's, and right
}

TEST_F(LibraryTest, GivesKernelsTheCallersWorkspaceZeroed) {
  const size_t bytes = library_->Workspace(Tn(64)).value();
  EXPECT_EQ(bytes, 4U * 64 * 64);
  EXPECT_THAT(Run(Tn(64), bytes), ElementsAre("partials", "reduce"));
}

TEST_F(LibraryTest, WithoutItsWorkspaceAKernelIsPassedOver) {
  EXPECT_THAT(Run(Tn(64)), IsEmpty());  // cuBLASLt's, and right
  EXPECT_THAT(Explain(Tn(64)), HasSubstr("needs a workspace of 16384 bytes"));
}

TEST_F(LibraryTest, WhereCublasLtWasFasterItRunsTheAlgorithmThatWas) {
  EXPECT_THAT(Run(Tn(128)), IsEmpty());
  EXPECT_THAT(Explain(Tn(128)), HasSubstr("the algorithm that was fastest when measured"));
}

TEST_F(LibraryTest, TensorMapsTakeAnyPitchAndPointersDoNot) {
  Problem problem = Tn(32);
  problem.lda = 40;
  problem.ldb = 48;
  problem.ldc = 56;
  EXPECT_THAT(Run(problem), ElementsAre("maps"));
  problem.lda = 37;  // no multiple of 16 bytes
  EXPECT_THAT(Run(problem), SizeIs(::testing::Le(1)));
  Problem dense_only = Tn(16);
  dense_only.ldc = 24;
  EXPECT_THAT(Run(dense_only), IsEmpty());
  EXPECT_THAT(Explain(dense_only), HasSubstr("takes C dense only"));
}

TEST_F(LibraryTest, EveryStorageStrideAlphaAndBetaIsRight) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      for (const auto& [alpha, beta] : {std::pair(1.0F, 0.0F), {2.0F, 0.0F}, {0.5F, 1.0F}}) {
        for (const int64_t extra : {0, 1, 8}) {
          Problem problem{.m = 5, .n = 7, .k = 3, .transpose_a = a, .transpose_b = b};
          problem.alpha = alpha;
          problem.beta = beta;
          problem.lda = (a ? 5 : 3) + extra;
          problem.ldb = (b ? 3 : 7) + extra;
          problem.ldc = 7 + extra;
          EXPECT_THAT(Run(problem), IsEmpty());
        }
      }
    }
  }
}

TEST_F(LibraryTest, MisalignedAddressesGoToCublasLt) {
  fake::HostProduct product(Tn(16));
  Addresses addresses = product.addresses();
  fake::HostProduct other(Tn(16));
  addresses.c = other.addresses().c + 2;
  cuda::fake::TakeLaunches();
  EXPECT_TRUE(library_->Run(Tn(16), addresses, nullptr).ok());
  EXPECT_THAT(cuda::fake::TakeLaunches(), IsEmpty());
}

TEST_F(LibraryTest, NoSizeIsNoOpAndNoDepthScales) {
  EXPECT_TRUE(library_->Run({.m = 0, .n = 5, .k = 5}, {}, nullptr).ok());
  EXPECT_TRUE(library_->Run({.m = 5, .n = 0, .k = 5}, {}, nullptr).ok());
  EXPECT_THAT(Run({.m = 4, .n = 5, .k = 0}), IsEmpty());
  EXPECT_THAT(Run({.m = 4, .n = 5, .k = 0, .ldc = 9}), IsEmpty());
  EXPECT_THAT(Run({.m = 4, .n = 5, .k = 0, .beta = 1}), IsEmpty());
  fake::HostProduct product({.m = 4, .n = 5, .k = 0});
  const Problem half{.m = 4, .n = 5, .k = 0, .beta = 0.5};
  EXPECT_FALSE(library_->Run(half, product.addresses(), nullptr).ok());
}

TEST_F(LibraryTest, BadInputSubmitsNothing) {
  fake::HostProduct product(Tn(16));
  cuda::fake::TakeLaunches();
  for (int which = 0; which < 4; ++which) {
    Addresses addresses = product.addresses();
    if (which == 0) addresses.a = 0;
    if (which == 1) addresses.b += 1;
    if (which == 2) addresses.c = addresses.a + 64;
    if (which == 3) addresses.workspace_bytes = 64;
    EXPECT_FALSE(library_->Run(Tn(16), addresses, nullptr).ok());
  }
  Problem narrow = Tn(16);
  narrow.lda = 15;
  EXPECT_FALSE(library_->Run(narrow, product.addresses(), nullptr).ok());
  EXPECT_THAT(cuda::fake::TakeLaunches(), IsEmpty());
}

TEST_F(LibraryTest, ACapturedProductRunsAtEveryLaunchOfTheGraph) {
  for (const int64_t size : {16, 32, 128}) {
    fake::HostProduct product(Tn(size));
    const cuda::Stream stream = cuda::Stream::Create().value();
    auto graph = cuda::Graph::Capture(
        stream, [&] { return library_->Run(Tn(size), product.addresses(), stream.handle()); });
    ASSERT_TRUE(graph.ok()) << graph.error().Line();
    EXPECT_GT(product.Wrong(), 0);  // nothing ran yet
    for (int i = 0; i < 2; ++i) {
      product.ClearC();
      EXPECT_TRUE(graph->Launch(stream).ok());
      EXPECT_EQ(product.Wrong(), 0);
    }
  }
}

TEST_F(LibraryTest, ManyThreadsAtOnceAllGetTheirOwnResult) {
  std::vector<std::thread> threads;
  std::atomic<int64_t> wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {  // these threads have no context of their own
      for (int64_t turn = 0; turn < 20; ++turn) {
        const Problem problem = turn % 3 == 0   ? Tn(16)
                                : turn % 3 == 1 ? Tn(32)
                                                : Problem{.m = 5 + turn, .n = 6 + i, .k = 7};
        fake::HostProduct product(problem);
        if (!library_->Run(problem, product.addresses(), nullptr).ok()) ++wrong;
        wrong += product.Wrong();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(LibraryTest, AnotherArchitecturesPackIsSaidAndNotUsed) {
  Pack pack = fake::HostPack();
  pack.architecture = "sm_100a";
  library_ = Library::Create(std::move(pack), false).value();
  EXPECT_THAT(Run(Tn(16)), IsEmpty());
  EXPECT_THAT(Explain(Tn(16)), HasSubstr("kernels are for sm_100a, Fake GPU is sm_90a"));
}

TEST_F(LibraryTest, WithoutAPackEverythingIsCublasLts) {
  library_ = Library::Create(std::nullopt, false).value();
  EXPECT_THAT(Run(Tn(16)), IsEmpty());
  EXPECT_THAT(Explain(Tn(16)), HasSubstr("no pack of kernels"));
}

TEST_F(LibraryTest, AKernelThatCannotBeLoadedIsPassedOver) {
  Pack pack = fake::HostPack();
  pack.kernels[0].image = "damaged";
  pack.kernels[1].plan = pack.kernels[0].plan;  // other parameters than its image declares
  library_ = Library::Create(std::move(pack), false).value();
  EXPECT_THAT(Run(Tn(16)), IsEmpty());
  EXPECT_THAT(Explain(Tn(16)), HasSubstr("not host variant=0: decompressing"));
  EXPECT_THAT(Run(Tn(32)), IsEmpty());
}

TEST_F(LibraryTest, WithNeitherKernelNorCublasLtItSaysWhatIsMissing) {
  setenv("WARPSMITH_CUBLASLT", "/nowhere/lib.so", 1);  // NOLINT(concurrency-mt-unsafe)
  library_ = Library::Create(fake::HostPack(), false).value();
  EXPECT_THAT(Run(Tn(16)), ElementsAre("pointers"));
  fake::HostProduct product({.m = 5, .n = 5, .k = 5});
  const Status status = library_->Run({.m = 5, .n = 5, .k = 5}, product.addresses(), nullptr);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(status.error().message, HasSubstr("WARPSMITH_CUBLASLT"));
}

TEST_F(LibraryTest, AskedToItRefusesTheHostsMemory) {
  library_ = Library::Create(fake::HostPack(), true).value();
  fake::HostProduct product(Tn(16));
  const Status refused = library_->Run(Tn(16), product.addresses(), nullptr);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("a is no device memory"));
  const auto buffer = cuda::DeviceBuffer::Allocate(3 * 8192).value();
  const uint64_t at = buffer.address();
  EXPECT_TRUE(library_->Run(Tn(16), {at, at + 8192, at + 16384, 0, 0}, nullptr).ok());
}

}  // namespace
}  // namespace warpsmith::gemm_library
