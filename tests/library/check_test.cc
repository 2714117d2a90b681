// Does gemm_check notice what it should? On the fake device, whose memory is the host's.
#include <gmock/gmock.h>

#include <cstdint>
#include <fstream>
#include <vector>

#include "base/file.h"
#include "check_data.h"
#include "check_report.h"
#include "cuda/driver.h"
#include "cuda/fake/fake_control.h"
#include "cuda/fake/half.h"
#include "differences.h"

namespace warpsmith::check {
namespace {

class CheckTest : public ::testing::Test {
 protected:
  const cuda::Context context_ = cuda::fake::OpenContext();
  const cuda::DeviceProperties device_ = cuda::Driver::Open().value()->FindDevice("").value();
};

constexpr int64_t kM = 3, kN = 5, kK = 7, kGap = 2;

warpsmith_gemm_problem SampleProblem() {
  warpsmith_gemm_problem problem = warpsmith_gemm_dense(kM, kN, kK, 0, 1);
  problem.ldc = kN + kGap;
  return problem;
}

// C as it should be, poison between its rows.
std::vector<uint16_t> RightC(const Operands& operands) {
  constexpr uint16_t kPoisonedElement = kPoison << 8 | kPoison;
  std::vector<uint16_t> c(static_cast<size_t>(SpanOfC(SampleProblem())), kPoisonedElement);
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kK; ++k) sum += operands.A(i * kK + k) * operands.B(j * kK + k);
      c[static_cast<size_t>(i * (kN + kGap) + j)] = cuda::fake::ToF16(static_cast<float>(sum));
    }
  }
  return c;
}

Deviation DeviationOf(const Operands& operands, const std::vector<uint16_t>& c) {
  const auto buffer = cuda::DeviceBuffer::Allocate(2 * c.size()).value();
  EXPECT_TRUE(cuda::CopyToDevice(buffer.address(), c.data(), 2 * c.size()).ok());
  return Compare(operands, SampleProblem(), buffer.address()).value();
}

TEST_F(CheckTest, OneWrongElementIsSeenAndOneThatWasWrittenBetweenRows) {
  const Operands operands = Operands::Make(64, WARPSMITH_GEMM_F16).value();
  std::vector<uint16_t> c = RightC(operands);
  Deviation deviation = DeviationOf(operands, c);
  EXPECT_LE(deviation.worst, 1);
  EXPECT_EQ(deviation.checked, kM * kN);
  EXPECT_EQ(deviation.touched, 0);

  c[kN] = 0;  // behind the first row
  deviation = DeviationOf(operands, c);
  EXPECT_LE(deviation.worst, 1);
  EXPECT_EQ(deviation.touched, 1);

  c = RightC(operands);
  c.back() ^= 0x4000;  // the last element's exponent
  deviation = DeviationOf(operands, c);
  EXPECT_GT(deviation.worst, 1);
  EXPECT_EQ(deviation.touched, 0);
}

TEST_F(CheckTest, DifferencesAreCounted) {
  const auto wanted = cuda::DeviceBuffer::Allocate(200).value();
  const auto found = cuda::DeviceBuffer::Allocate(200).value();
  const auto stream = cuda::Stream::Create().value();
  std::vector<uint16_t> elements(100, 7);
  ASSERT_TRUE(cuda::CopyToDevice(wanted.address(), elements.data(), 200).ok());
  elements[0] = elements[99] = 8;
  ASSERT_TRUE(cuda::CopyToDevice(found.address(), elements.data(), 200).ok());
  Differences differences = Differences::Make().value();
  ASSERT_TRUE(differences.Add(wanted, wanted, stream).ok());
  EXPECT_EQ(differences.Count(stream).value(), 0U);
  ASSERT_TRUE(differences.Add(wanted, found, stream).ok());
  EXPECT_EQ(differences.Count(stream).value(), 2U);
}

TEST_F(CheckTest, OnlyWhatWasRightByTheSameKernelOftenEnoughIsSkipped) {
  const auto folder = TemporaryDirectory::Create("check").value();
  const std::string path = (folder.path() / "a.csv").string();
  const warpsmith_gemm_problem problem = SampleProblem();
  warpsmith_gemm_problem other = problem;
  other.beta = 1;
  {
    CheckReport report = CheckReport::Open(path, "", device_).value();
    report.Add("repeats", problem, 1000, true, "0 elements differ; tiny a=1; workspace 0 bytes, x");
    report.Add("odd", problem, 0.5, true, "tiny a=1");
    report.Add("odd", other, 2, false, "tiny a=1");
    report.Add("graph", problem, 3, true,
               "wgmma tile_m=64, workspace 0 bytes; not in the catalogue");
    report.Add("streams", problem, 3, true, "tiny a=1");
    report.Add("streams", problem, 3, false, "tiny a=1");
    report.Add("repeats", other, 1000, false, "9 elements differ; tiny a=3");
    report.Add("repeats", problem, 1000, true, "0 elements differ; tiny a=3");
    EXPECT_EQ(report.done(), 8);
    EXPECT_EQ(report.wrong(), 3);
  }
  const CheckReport next = CheckReport::Open("", path, device_).value();
  EXPECT_TRUE(next.SkipsKernel("repeats", "tiny a=1", 1000));
  EXPECT_FALSE(next.SkipsKernel("repeats", "tiny a=1", 1001));
  EXPECT_FALSE(next.SkipsKernel("repeats", "tiny a=12", 1000));
  EXPECT_FALSE(next.SkipsKernel("repeats_beside", "tiny a=1", 100));
  EXPECT_FALSE(next.SkipsKernel("repeats", "tiny a=3", 1000));  // wrong on one problem
  EXPECT_TRUE(next.Skips("odd", problem, "tiny a=1"));
  EXPECT_FALSE(next.Skips("odd", other, "tiny a=1"));
  EXPECT_FALSE(next.Skips("streams", problem, "tiny a=1"));  // wrong when last seen
  // With a parameter that had its default when the row was written.
  const std::string tail = ", workspace 0 bytes; catalogue: 1.2 [1.1, 1.3] x";
  EXPECT_TRUE(next.Skips("graph", problem, "wgmma l2_promotion=256 tile_m=64" + tail));
  EXPECT_FALSE(next.Skips("graph", problem, "wgmma l2_promotion=128 tile_m=64" + tail));
  EXPECT_FALSE(next.Skips("graph", problem, "wgmma tile_m=64, workspace 8 bytes; not in it"));
  EXPECT_TRUE(next.SkipsKernel("repeats", "tiny a=1, workspace 8 bytes; not in it", 1000));

  EXPECT_EQ(CheckReport::Open(path, path, device_).error().code, ErrorCode::kUsage);
  std::ofstream(path) << "# another GPU\n";
  EXPECT_EQ(CheckReport::Open("", path, device_).error().code, ErrorCode::kBadInput);
}

}  // namespace
}  // namespace warpsmith::check
