#include "cuda/nvrtc.h"

#include <gmock/gmock.h>

namespace warpsmith::cuda {
namespace {

using testing::HasSubstr;

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto nvrtc = Nvrtc::Open();
    if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().Line();
    nvrtc_ = *nvrtc;
  }

  NvrtcOutput Compile(const NvrtcInput& input) const {
    const auto output = nvrtc_->Compile(input);
    EXPECT_TRUE(output.ok()) << output.error().Line();
    return output.ok() ? *output : NvrtcOutput{};
  }

  const Nvrtc* nvrtc_ = nullptr;
};

TEST_F(NvrtcTest, KnowsItsVersionAndArchitectures) {
  EXPECT_GE(nvrtc_->version(), 13000);
  EXPECT_THAT(nvrtc_->architectures(), testing::Contains(90));
  EXPECT_FALSE(nvrtc_->path().empty());
}

TEST_F(NvrtcTest, CompilesWithHeadersFromMemory) {
  const NvrtcOutput output =
      Compile({"add.cu",
               "#include \"deep/one.h\"\nextern \"C\" __global__ void add(int* a) { *a += kOne; }",
               {{"deep/one.h", "constexpr int kOne = 1;"}},
               {"--gpu-architecture=sm_90a", "--ptxas-options=-v"}});
  EXPECT_TRUE(output.compiled) << output.log;
  EXPECT_THAT(output.cubin, testing::StartsWith("\x7f"
                                                "ELF"));
  EXPECT_THAT(output.log, HasSubstr("registers"));
}

TEST_F(NvrtcTest, SourceThatDoesNotCompileIsAnOutput) {
  const NvrtcOutput output = Compile({"bad.cu", "__global__ void f( {", {}, {}});
  EXPECT_FALSE(output.compiled);
  EXPECT_THAT(output.failure, HasSubstr("COMPILATION"));
  EXPECT_THAT(output.log, HasSubstr("bad.cu(1): error"));
}

TEST_F(NvrtcTest, FlagThatDoesNotExistIsAnOutput) {
  const NvrtcOutput output = Compile({"a.cu", "", {}, {"--no-such-flag"}});
  EXPECT_FALSE(output.compiled);
  EXPECT_FALSE(output.failure.empty());
}

}  // namespace
}  // namespace warpsmith::cuda
