#include "search/evaluation/judging.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace warpsmith::search {
namespace {

constexpr const char* kTask = R"toml(
version = 1
name = "product"
tensors = [
  { name = "A", dtype = "f16", role = "input", shape = ["P", "K"] },
  { name = "B", dtype = "f16", role = "input", shape = ["N", "K"] },
  { name = "C", dtype = "f16", role = "output", shape = ["P", "N"] },
]
baselines = ["cublaslt-auto"]
flops = "2 * P * N * K"
[reference]
kind = "gemm"
options = { layout = "TN" }
[tolerance]
reduction_length = "K"
[[workloads]]
name = "small"
sizes = { P = 64, N = 64, K = 64 }
)toml";

// The task's error with one text in it replaced by another; empty when it is accepted.
std::string Refusal(const std::string& from, const std::string& to) {
  const auto folder = TemporaryDirectory::Create("judging").value();
  std::string text = kTask;
  text.replace(text.find(from), from.size(), to);
  WriteFileAtomic(folder.path() / "task.toml", text).value();
  const auto loaded = LoadJudgeable(folder.path().string(), "");
  return loaded.ok() ? "" : loaded.error().message;
}

TEST(JudgingTest, ATaskMayNameItsSizesAsItLikes) { EXPECT_EQ(Refusal("small", "tiny"), ""); }

TEST(JudgingTest, RefusesWhatNoJudgeCouldJudge) {
  const std::tuple<const char*, const char*, const char*> cases[] = {
      {"\"gemm\"", "\"conv\"", "reference.kind: 'conv' is unknown"},
      {"\"TN\"", "\"XX\"", "reference.layout is 'XX'"},
      {"[\"P\", \"N\"]", "[\"P\", \"N + 1\"]", "do not fit together"},
      {"2 * P * N * K", "P / 0", "flops: expression \"P / 0\" divides by zero"},
      {"2 * P * N * K", "P * 9223372036854775807", "overflows 64 bits"},
      {"cublaslt-auto", "fastest", "baselines: "},
  };
  for (const auto& [from, to, expected] : cases) {
    const std::string refusal = Refusal(from, to);
    EXPECT_NE(refusal.find(expected), std::string::npos) << to << ": " << refusal;
  }
}

}  // namespace
}  // namespace warpsmith::search
