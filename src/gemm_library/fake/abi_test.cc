// The installed library through its C header alone, on the fake device.
#include <gmock/gmock.h>
#include <warpsmith/gemm.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "cuda/fake/fake_control.h"
#include "gemm_library/fake/host_gemm.h"

namespace warpsmith::gemm_library {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AbiTest : public ::testing::Test {
 protected:
  AbiTest() {
    fake::OpenFakeDevice();
    path_ = folder_.path() / "host.wspack";
    EXPECT_TRUE(WriteFileAtomic(path_, WritePack(Whole()).value()).ok());
    options_.struct_bytes = sizeof(options_);
    options_.pack = path_.c_str();
    EXPECT_EQ(warpsmith_gemm_create(&options_, &library_), WARPSMITH_GEMM_OK)
        << warpsmith_gemm_last_error();
  }
  ~AbiTest() override { warpsmith_gemm_destroy(library_); }

  // HostPack as it was before it was packed: with whole images.
  static Pack Whole() {
    Pack pack = fake::HostPack();
    for (PackKernel& kernel : pack.kernels) kernel.image = Image(kernel).value();
    return pack;
  }

  warpsmith_gemm_status Run(const warpsmith_gemm_problem& problem, const Addresses& at) {
    const auto pointer = [](uint64_t address) { return reinterpret_cast<void*>(address); };
    return warpsmith_gemm_run(library_, &problem, pointer(at.a), pointer(at.b), pointer(at.c),
                              pointer(at.workspace), at.workspace_bytes, nullptr);
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("abi_test").value();
  std::filesystem::path path_;
  warpsmith_gemm_options options_{};
  warpsmith_gemm* library_ = nullptr;
};

TEST_F(AbiTest, MultipliesWithAKernelOfThePackFile) {
  fake::HostProduct product({.m = 16, .n = 16, .k = 16, .transpose_b = true});
  cuda::fake::TakeLaunches();
  const warpsmith_gemm_problem problem = warpsmith_gemm_dense(16, 16, 16, 0, 1);
  ASSERT_EQ(Run(problem, product.addresses()), WARPSMITH_GEMM_OK) << warpsmith_gemm_last_error();
  EXPECT_EQ(product.Wrong(), 0);
  EXPECT_THAT(cuda::fake::TakeLaunches(), ElementsAre(HasSubstr("pointers")));
}

TEST_F(AbiTest, ExplainsWithinTheRoomThatThereIs) {
  const warpsmith_gemm_problem problem = warpsmith_gemm_dense(16, 16, 16, 0, 1);
  char text[512];
  ASSERT_EQ(warpsmith_gemm_explain(library_, &problem, 0, text, sizeof text), WARPSMITH_GEMM_OK);
  EXPECT_THAT(text, HasSubstr("host variant=0"));
  ASSERT_EQ(warpsmith_gemm_explain(library_, &problem, 0, text, 5), WARPSMITH_GEMM_OK);
  EXPECT_STREQ(text, "16 x");
  EXPECT_EQ(warpsmith_gemm_explain(library_, &problem, 0, text, 0),
            WARPSMITH_GEMM_INVALID_ARGUMENT);
}

TEST_F(AbiTest, ToldWorkspaceIsEnough) {
  const warpsmith_gemm_problem problem = warpsmith_gemm_dense(64, 64, 64, 0, 1);
  size_t bytes = 0;
  ASSERT_EQ(warpsmith_gemm_workspace(library_, &problem, &bytes), WARPSMITH_GEMM_OK);
  EXPECT_EQ(bytes, 16384U);
  EXPECT_EQ(warpsmith_gemm_prepare(library_, &problem, bytes), WARPSMITH_GEMM_OK);
  fake::HostProduct product({.m = 64, .n = 64, .k = 64, .transpose_b = true});
  product.UseWorkspace(bytes);
  ASSERT_EQ(Run(problem, product.addresses()), WARPSMITH_GEMM_OK);
  EXPECT_EQ(product.Wrong(), 0);
}

TEST_F(AbiTest, NullAndForeignStructsAreRefusedInWords) {
  warpsmith_gemm_problem problem = warpsmith_gemm_dense(16, 16, 16, 0, 1);
  fake::HostProduct product({.m = 16, .n = 16, .k = 16, .transpose_b = true});
  const auto refused = [&] {
    EXPECT_EQ(Run(problem, product.addresses()), WARPSMITH_GEMM_INVALID_ARGUMENT);
    return std::string(warpsmith_gemm_last_error());
  };
  problem.struct_bytes = 8;
  EXPECT_THAT(refused(), HasSubstr("struct_bytes is 8"));
  problem = warpsmith_gemm_dense(16, 16, 16, 0, 2);
  EXPECT_THAT(refused(), HasSubstr("transpose_b is 2"));
  problem = warpsmith_gemm_dense(16, 16, 16, -1, 0);
  EXPECT_THAT(refused(), HasSubstr("transpose_a is -1"));
  problem = warpsmith_gemm_dense(16, 16, 16, 0, 0);
  problem.dtype = static_cast<warpsmith_gemm_dtype>(7);
  EXPECT_THAT(refused(), HasSubstr("dtype is 7"));
  EXPECT_EQ(warpsmith_gemm_run(nullptr, &problem, nullptr, nullptr, nullptr, nullptr, 0, nullptr),
            WARPSMITH_GEMM_INVALID_ARGUMENT);
  EXPECT_THAT(warpsmith_gemm_last_error(), HasSubstr("library is null"));
  EXPECT_EQ(warpsmith_gemm_run(library_, nullptr, nullptr, nullptr, nullptr, nullptr, 0, nullptr),
            WARPSMITH_GEMM_INVALID_ARGUMENT);
  EXPECT_EQ(warpsmith_gemm_create(nullptr, nullptr), WARPSMITH_GEMM_INVALID_ARGUMENT);
  EXPECT_EQ(warpsmith_gemm_workspace(library_, &problem, nullptr), WARPSMITH_GEMM_INVALID_ARGUMENT);
  warpsmith_gemm_destroy(nullptr);
}

TEST_F(AbiTest, ADamagedOrMissingPackIsRefusedNotIgnored) {
  warpsmith_gemm* library = library_;
  const auto create = [&](const std::filesystem::path& path) {
    warpsmith_gemm_options options = options_;
    options.pack = path.c_str();
    const warpsmith_gemm_status status = warpsmith_gemm_create(&options, &library);
    EXPECT_EQ(library, nullptr);
    return status;
  };
  EXPECT_EQ(create(folder_.path() / "none.wspack"), WARPSMITH_GEMM_BAD_PACK);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  EXPECT_EQ(create(path_), WARPSMITH_GEMM_BAD_PACK);
  EXPECT_THAT(warpsmith_gemm_last_error(), HasSubstr("host.wspack"));
  EXPECT_EQ(create("/proc/self/exe"), WARPSMITH_GEMM_BAD_PACK);
  setenv("WARPSMITH_GEMM_PACK", "/nowhere", 1);  // NOLINT(concurrency-mt-unsafe)
  EXPECT_EQ(warpsmith_gemm_create(nullptr, &library), WARPSMITH_GEMM_BAD_PACK);
  unsetenv("WARPSMITH_GEMM_PACK");  // NOLINT(concurrency-mt-unsafe)
}

TEST_F(AbiTest, EachThreadHasItsOwnLastError) {
  EXPECT_EQ(warpsmith_gemm_prepare(library_, nullptr, 0), WARPSMITH_GEMM_INVALID_ARGUMENT);
  std::string other = "x";
  std::thread([&] { other = warpsmith_gemm_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_THAT(warpsmith_gemm_last_error(), HasSubstr("problem is null"));
}

TEST_F(AbiTest, EveryStatusHasAText) {
  for (int status = 0; status <= 6; ++status) {
    EXPECT_STRNE(warpsmith_gemm_status_text(static_cast<warpsmith_gemm_status>(status)),
                 "unknown status");
  }
  EXPECT_STREQ(warpsmith_gemm_status_text(static_cast<warpsmith_gemm_status>(99)),
               "unknown status");
  EXPECT_THAT(warpsmith_gemm_version(), HasSubstr("."));
}

}  // namespace
}  // namespace warpsmith::gemm_library
