#include "compile/resource_report.h"

#include <gmock/gmock.h>

namespace warpsmith::compile {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kLog =
    "gemm.cu(12): warning #177-D: variable \"x\" was declared but never referenced\n"
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to insufficient register resources in function 'gemm'\n"
    "ptxas info    : 64 bytes gmem, 8 bytes cmem[4]\n"
    "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n"
    "ptxas info    : Function properties for gemm\n"
    "    56 bytes stack frame, 48 bytes spill stores, 40 bytes spill loads\n"
    "ptxas info    : Used 168 registers, used 5 barriers, 56 bytes cumulative stack size, 1024 "
    "bytes "
    "smem, 400 bytes cmem[0]\n"
    "ptxas info    : Compile time = 12.3 ms\n"
    "ptxas info    : Function properties for helper\r\n"
    "    999 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Compiling entry function 'reduce' for 'sm_90a'\n"
    "ptxas info    : Function properties for reduce\n"
    "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 8 registers, used 0 barriers\n"
    "gemm.cu(12): warning #177-D: variable \"x\" was declared but never referenced\n";

TEST(ResourceReport, ReadsEveryKernel) {
  const ResourceReport report = ParseResourceReport(kLog);
  ASSERT_EQ(report.kernels.size(), 2U);
  const KernelResources& gemm = report.kernels[0];
  EXPECT_EQ(gemm.name, "gemm");
  EXPECT_EQ(gemm.registers_per_thread, 168);
  EXPECT_EQ(gemm.static_shared_bytes, 1024);
  EXPECT_EQ(gemm.stack_bytes, 56);
  EXPECT_EQ(gemm.spill_store_bytes, 48);
  EXPECT_EQ(gemm.spill_load_bytes, 40);
  EXPECT_EQ(report.kernels[1].name, "reduce");
  EXPECT_EQ(report.kernels[1].registers_per_thread, 8);
  EXPECT_EQ(report.kernels[1].static_shared_bytes, 0);
}

TEST(ResourceReport, KeepsWarningsOnce) {
  EXPECT_THAT(ParseResourceReport(kLog).warnings,
              ElementsAre(HasSubstr("#177-D"), HasSubstr("(C7510)")));
}

TEST(ResourceReport, OddTextIsPassedOver) {
  EXPECT_TRUE(ParseResourceReport("").kernels.empty());
  EXPECT_TRUE(ParseResourceReport("Used registers\n bytes smem").kernels.empty());
  const auto report = ParseResourceReport(
      "Compiling entry function 'open\nUsed 99999999999999999999 registers, registers");
  ASSERT_EQ(report.kernels.size(), 1U);
  EXPECT_EQ(report.kernels[0].registers_per_thread, 0);
}

}  // namespace
}  // namespace warpsmith::compile
