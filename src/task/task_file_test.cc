#include "task/task_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/serialize.h"
#include "util/file.h"

namespace warpsmith::task {
namespace {

constexpr const char* kTask = R"toml(
version = 1
name = "square"
tensors = [
  { name = "A", dtype = "f16", role = "input", shape = ["M", "K"] },
  { name = "B", dtype = "f16", role = "input", shape = ["N", "K"] },
  { name = "C", dtype = "f16", role = "output", shape = ["M", "N"] },
]
baselines = ["cublaslt-auto"]
flops = "2 * M * N * K"
[reference]
kind = "gemm"
options = { layout = "TN" }
[tolerance]
reduction_length = "K"
[[workloads]]
name = "secret"
hidden = true
sizes = { M = 16, N = 16, K = 16 }
[[workloads]]
name = "small"
sizes = { M = 64, N = 64, K = 64 }
)toml";

constexpr const char* kCandidate = R"toml(
version = 1
entry = "k.cu"
sources = ["k.cu"]
legal_when = "TILE * WARPS <= 64"
[tunables]
TILE = [16, 32]
WARPS = [4, 2, 1]
[plan]
version = 1
[[plan.operations]]
type = "launch"
kernel = "k"
grid = ["ceil_div(M, TILE)", "1", "1"]
block = ["32 * WARPS", "1", "1"]
arguments = [ { tensor = "C" } ]
)toml";

class TaskFileTest : public testing::Test {
 protected:
  TaskFileTest() : folder_(TemporaryDirectory::Create("task-file").value()) {}
  std::filesystem::path Write(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  TemporaryDirectory folder_;
};

TEST_F(TaskFileTest, LoadsATaskAndTakesTheFirstWorkloadThatIsNotHidden) {
  const auto loaded = LoadTask(Write("task.toml", kTask));
  ASSERT_TRUE(loaded.ok()) << loaded.error().Line();
  EXPECT_EQ(loaded->task.name, "square");
  EXPECT_EQ(loaded->workload.name, "small");
  EXPECT_EQ(loaded->task.workloads.size(), 2u);
}

TEST_F(TaskFileTest, NamesFileAndPlaceOfASyntaxError) {
  const auto loaded = LoadTask(Write("task.toml", "name = \"x\"\nflops = = 3\n"));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kBadInput);
  EXPECT_NE(loaded.error().message.find("task.toml:2:"), std::string::npos)
      << loaded.error().message;
}

TEST_F(TaskFileTest, RefusesAMisspeltField) {
  std::string text = kTask;
  text.replace(text.find("baselines"), 9, "baselinez");
  const auto loaded = LoadTask(Write("task.toml", text));
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find("baselinez"), std::string::npos) << loaded.error().message;
}

TEST_F(TaskFileTest, KnowsTheBuiltInHgemm) {
  const auto loaded = LoadTask("hgemm:64x128x256:NN");
  ASSERT_TRUE(loaded.ok()) << loaded.error().Line();
  EXPECT_EQ(loaded->task.name, "hgemm-NN");
  EXPECT_EQ(loaded->workload.sizes.at("N"), 128);
  EXPECT_FALSE(LoadTask("hgemm:64x128x256:NT").ok());
  EXPECT_FALSE(LoadTask("hgemm:64x0x256").ok());
}

TEST_F(TaskFileTest, MissingFileIsSaid) {
  const auto loaded = LoadTask("/nowhere/task.toml");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kNoInput);
}

TEST_F(TaskFileTest, TunablesMakeASpaceAndGoIntoPlanAndFlags) {
  Write("k.cu", "extern \"C\" __global__ void k(void*) {}\n");
  const auto file = CandidateFile::Load(Write("candidate.toml", kCandidate));
  ASSERT_TRUE(file.ok()) << file.error().Line();
  EXPECT_EQ(file->space().size(), 5u);  // 16x{1,2,4}, 32x{1,2}
  const auto candidate = file->Make({"tunables", {{"TILE", 32}, {"WARPS", 2}}});
  ASSERT_TRUE(candidate.ok()) << candidate.error().Line();
  const auto& launch = std::get<LaunchOperation>(candidate->plan.operations.front());
  EXPECT_EQ(launch.grid[0].Evaluate({{"M", 100}}).value(), 4);
  EXPECT_EQ(launch.block[0].Evaluate({}).value(), 64);
  EXPECT_EQ(candidate->flags, (std::vector<std::string>{"-DTILE=32", "-DWARPS=2"}));
  EXPECT_EQ(candidate->provenance.config.at("TILE"), 32);
}

TEST_F(TaskFileTest, SourcesStayInsideTheFolder) {
  std::string text = kCandidate;
  text.replace(text.find("[\"k.cu\"]"), 8, "[\"../k.cu\"]");
  const auto file = CandidateFile::Load(Write("candidate.toml", text));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("inside the candidate's folder"), std::string::npos);
}

TEST_F(TaskFileTest, RefusesASourceThatIsNotUtf8) {
  Write("k.cu", "// caf\xe9\n");
  const auto file = CandidateFile::Load(Write("candidate.toml", kCandidate));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kBadInput);
  EXPECT_NE(file.error().message.find("k.cu: not UTF-8"), std::string::npos)
      << file.error().message;
}

TEST_F(TaskFileTest, RefusesATunableValueThatIsThereTwice) {
  Write("k.cu", "");
  std::string text = kCandidate;
  text.replace(text.find("[16, 32]"), 8, "[16, 16]");
  const auto file = CandidateFile::Load(Write("candidate.toml", text));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("tunables.TILE: expected distinct values (16"),
            std::string::npos)
      << file.error().message;
}

TEST_F(TaskFileTest, NamesTheFileOfAnExpressionThatFails) {
  Write("k.cu", "");
  std::string text = kCandidate;
  text.replace(text.find("TILE * WARPS <= 64"), 18, "TILE / (WARPS - WARPS)");
  const auto file = CandidateFile::Load(Write("candidate.toml", text));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("candidate.toml: legal_when: "), std::string::npos)
      << file.error().message;

  text = kTask;
  text.replace(text.find("M = 64"), 6, "M = 0");
  const auto task = LoadTask(Write("task.toml", text));
  ASSERT_FALSE(task.ok());
  EXPECT_NE(task.error().message.find("task.toml: workload 'small': tensor A"), std::string::npos)
      << task.error().message;
}

TEST_F(TaskFileTest, TakesAnExportedCandidateAsItIs) {
  Write("k.cu", "extern \"C\" __global__ void k(void*) {}\n");
  const auto file = CandidateFile::Load(Write("candidate.toml", kCandidate));
  ASSERT_TRUE(file.ok()) << file.error().Line();
  const Candidate original = file->Make({"tunables", {{"TILE", 32}, {"WARPS", 2}}}).value();
  const auto exported = CandidateFile::Load(Write("candidate.json", ToJson(original).dump()));
  ASSERT_TRUE(exported.ok()) << exported.error().Line();
  ASSERT_EQ(exported->space().size(), 1u);
  const auto again = exported->Make(exported->space().points().front());
  ASSERT_TRUE(again.ok()) << again.error().Line();
  EXPECT_EQ(CandidateId(*again), CandidateId(original));
  EXPECT_EQ(again->provenance.config, original.provenance.config);
}

TEST_F(TaskFileTest, FindsTheExportedCandidateOfAFolder) {
  Write("candidate.json", "{\"version\": 1}");
  const auto file = CandidateFile::Load(folder_.path());
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("candidate.json: sources"), std::string::npos)
      << file.error().message;
}

}  // namespace
}  // namespace warpsmith::task
