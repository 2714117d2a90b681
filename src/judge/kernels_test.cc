#include "judge/kernels.h"

#include <gmock/gmock.h>

#include "cuda/nvrtc.h"

namespace warpsmith::judge {
namespace {

TEST(KernelSources, CarryEveryHeaderTheyInclude) {
  const Candidate candidate = KernelSources();
  EXPECT_TRUE(candidate.sources.contains(candidate.entry));
  EXPECT_EQ(candidate.sources.size(), 7U);
}

TEST(KernelSources, CompileForEveryArchitectureWeMeasureOn) {
  const auto nvrtc = cuda::Nvrtc::Open();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.error().Line();
  const Candidate candidate = KernelSources();
  cuda::NvrtcInput input;
  input.name = candidate.entry;
  input.source = candidate.sources.at(candidate.entry);
  for (const auto& source : candidate.sources) input.headers.push_back(source);
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100"}) {
    input.options = {std::string("--gpu-architecture=") + architecture, "--std=c++17"};
    const auto output = (*nvrtc)->Compile(input);
    ASSERT_TRUE(output.ok()) << output.error().Line();
    EXPECT_TRUE(output->compiled) << architecture << ": " << output->log;
    EXPECT_THAT(output->cubin, testing::HasSubstr("JudgeReference"));
  }
}

// What is passed to a kernel by value must have the layout that the device sources give it.
TEST(KernelParameters, HaveTheDevicesLayout) {
  EXPECT_EQ(sizeof(FillParameters), 64U);
  EXPECT_EQ(sizeof(ReferenceEntry), 32U);
  EXPECT_EQ(sizeof(ReferenceShape), 32U);
  EXPECT_EQ(sizeof(TensorFill), 72U);
  EXPECT_EQ(sizeof(SpreadResult), 16U);
  EXPECT_EQ(sizeof(VerifyEntry), 32U);
  EXPECT_EQ(sizeof(VerifyResult), 80U);
  EXPECT_EQ(sizeof(VerifyParameters), 72U);
  EXPECT_EQ(sizeof(Region), 48U);
  EXPECT_EQ(sizeof(CopyEntry), 16U);
  EXPECT_EQ(sizeof(CompareEntry), 16U);
  EXPECT_EQ(sizeof(FlipParameters), 120U);
}

}  // namespace
}  // namespace warpsmith::judge
