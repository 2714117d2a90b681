#include "task/candidate_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "core/serialize.h"

namespace warpsmith::task {
namespace {

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

class CandidateFileTest : public testing::Test {
 protected:
  CandidateFileTest() : folder_(TemporaryDirectory::Create("candidate-file").value()) {}
  std::filesystem::path Write(const std::string& name, const std::string& text) {
    const auto path = folder_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  TemporaryDirectory folder_;
};

TEST_F(CandidateFileTest, TunablesMakeASpaceAndGoIntoPlanAndFlags) {
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

TEST_F(CandidateFileTest, SourcesStayInsideTheFolder) {
  std::string text = kCandidate;
  text.replace(text.find("[\"k.cu\"]"), 8, "[\"../k.cu\"]");
  const auto file = CandidateFile::Load(Write("candidate.toml", text));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("inside the candidate's folder"), std::string::npos);
}

TEST_F(CandidateFileTest, RefusesASourceThatIsNotUtf8) {
  Write("k.cu", "// caf\xe9\n");
  const auto file = CandidateFile::Load(Write("candidate.toml", kCandidate));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kBadInput);
  EXPECT_NE(file.error().message.find("k.cu: not UTF-8"), std::string::npos)
      << file.error().message;
}

TEST_F(CandidateFileTest, RefusesATunableValueThatIsThereTwice) {
  Write("k.cu", "");
  std::string text = kCandidate;
  text.replace(text.find("[16, 32]"), 8, "[16, 16]");
  const auto file = CandidateFile::Load(Write("candidate.toml", text));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("tunables.TILE: expected distinct values (16"),
            std::string::npos)
      << file.error().message;
}

TEST_F(CandidateFileTest, NamesTheFileOfAnExpressionThatFails) {
  Write("k.cu", "");
  std::string text = kCandidate;
  text.replace(text.find("TILE * WARPS <= 64"), 18, "TILE / (WARPS - WARPS)");
  const auto file = CandidateFile::Load(Write("candidate.toml", text));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("candidate.toml: legal_when: "), std::string::npos)
      << file.error().message;
}

TEST_F(CandidateFileTest, TakesAnExportedCandidateAsItIs) {
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

TEST_F(CandidateFileTest, RefusesPython) {
  const auto file = CandidateFile::Load(Write("model_new.py", "class ModelNew: pass\n"));
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("share its process with the clock"), std::string::npos)
      << file.error().message;
}

TEST_F(CandidateFileTest, FindsTheExportedCandidateOfAFolder) {
  Write("candidate.json", "{\"version\": 1}");
  const auto file = CandidateFile::Load(folder_.path());
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.error().message.find("candidate.json: sources"), std::string::npos)
      << file.error().message;
}

constexpr const char* kProgram = R"toml(
version = 1
form = "program"
entry = "host.cu"
flags = ["-lineinfo"]
)toml";

TEST_F(CandidateFileTest, AProgramHasNoPlanAndItsEntryIsASource) {
  Write("host.cu", "void run(float*) {}\n");
  const auto file = CandidateFile::Load(Write("candidate.toml", kProgram));
  ASSERT_TRUE(file.ok()) << file.error().Line();
  const Candidate candidate = file->Make(file->space().points().front()).value();
  EXPECT_EQ(candidate.form, Form::kProgram);
  EXPECT_EQ(candidate.toolchain, "nvcc");
  EXPECT_EQ(candidate.sources.at("host.cu"), "void run(float*) {}\n");
  EXPECT_TRUE(candidate.plan.operations.empty());

  const auto planned = CandidateFile::Load(
      Write("candidate.toml", std::string(kProgram) + "[plan]\nversion = 1\noperations = []\n"));
  ASSERT_FALSE(planned.ok());
  EXPECT_NE(planned.error().message.find("plan: expected no plan"), std::string::npos)
      << planned.error().message;
  EXPECT_FALSE(CandidateFile::Load(
                   Write("candidate.toml", std::string(kProgram) + "toolchain = \"nvrtc\"\n"))
                   .ok());
}

TEST_F(CandidateFileTest, ABareSourceIsAProgram) {
  const auto file = CandidateFile::Load(Write("mine.cu", "void run(float*) {}\n"));
  ASSERT_TRUE(file.ok()) << file.error().Line();
  ASSERT_EQ(file->space().size(), 1u);
  const Candidate candidate = file->Make(file->space().points().front()).value();
  EXPECT_EQ(candidate.form, Form::kProgram);
  EXPECT_EQ(candidate.entry, "mine.cu");
  EXPECT_EQ(candidate.sources.size(), 1u);
  EXPECT_EQ(CandidateFile::Load(folder_.path() / "none.cu").error().code, ErrorCode::kNoInput);

  Write("candidate.toml", "version = 1\nform = \"program\"\nentry = \"mine.cu\"\n");
  const auto told = CandidateFile::Load(folder_.path());
  ASSERT_TRUE(told.ok()) << told.error().Line();
  EXPECT_EQ(CandidateId(told->Make(told->space().points().front()).value()),
            CandidateId(candidate));
}

TEST_F(CandidateFileTest, FollowsNoLinkOutOfTheFolderAndReadsNoPipe) {
  const auto inner = folder_.path() / "inner";
  std::filesystem::create_directory(inner);
  Write("secret.cu", "secret");
  std::filesystem::create_symlink(folder_.path() / "secret.cu", inner / "host.cu");
  Write("inner/candidate.toml", kProgram);
  const auto linked = CandidateFile::Load(inner);
  ASSERT_FALSE(linked.ok());
  EXPECT_NE(linked.error().message.find("inside the candidate's folder"), std::string::npos)
      << linked.error().message;

  std::filesystem::remove(inner / "host.cu");
  ASSERT_EQ(mkfifo((inner / "host.cu").c_str(), 0600), 0);
  const auto pipe = CandidateFile::Load(inner);
  ASSERT_FALSE(pipe.ok());
  EXPECT_NE(pipe.error().message.find("not a regular file"), std::string::npos)
      << pipe.error().message;
}

TEST_F(CandidateFileTest, SaysWhichFormsATaskTakes) {
  Task task;
  task.name = "t";
  Candidate program;
  program.form = Form::kProgram;
  const Status refused = CheckForm("x.cu", program, task);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().fix.find("[program]"), std::string::npos) << refused.error().fix;
  EXPECT_TRUE(CheckForm("x", Candidate{}, task).ok());
  task.forms = {Form::kProgram};
  EXPECT_TRUE(CheckForm("x.cu", program, task).ok());
  EXPECT_FALSE(CheckForm("x", Candidate{}, task).ok());
}

}  // namespace
}  // namespace warpsmith::task
