#include "task/candidate_file.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "base/tests/folder.h"
#include "core/serialize.h"

namespace warpsmith::task {
namespace {

using testing::HasSubstr;

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

class CandidateFileTest : public FolderTest {};

TEST_F(CandidateFileTest, TunablesMakeASpaceAndGoIntoPlanAndFlags) {
  Write("k.cu", "extern \"C\" __global__ void k(void*) {}\n");
  const auto file = CandidateFile::Load(Write("candidate.toml", kCandidate)).value();
  EXPECT_EQ(file.space().size(), 5u);  // 16x{1,2,4}, 32x{1,2}
  const auto candidate = file.Make({"tunables", {{"TILE", 32}, {"WARPS", 2}}}).value();
  const auto& launch = std::get<LaunchOperation>(candidate.plan.operations.front());
  EXPECT_EQ(launch.grid[0].Evaluate({{"M", 100}}).value(), 4);
  EXPECT_EQ(launch.block[0].Evaluate({}).value(), 64);
  EXPECT_EQ(candidate.flags, (std::vector<std::string>{"-DTILE=32", "-DWARPS=2"}));
  EXPECT_EQ(candidate.provenance.config.at("TILE"), 32);
}

TEST_F(CandidateFileTest, RefusesASourceThatIsNotUtf8) {
  Write("k.cu", "// caf\xe9\n");
  const auto file = CandidateFile::Load(Write("candidate.toml", kCandidate));
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().code, ErrorCode::kBadInput);
  EXPECT_NE(file.error().message.find("k.cu: not UTF-8"), std::string::npos)
      << file.error().message;
}

TEST_F(CandidateFileTest, NamesWhatIsWrong) {
  Write("k.cu", "");
  for (const auto& [old, text, message] :
       {std::tuple<std::string, std::string, std::string>{"[\"k.cu\"]", "[\"../k.cu\"]",
                                                          "inside the candidate's folder"},
        {"[16, 32]", "[16, 16]", "tunables.TILE: expected distinct values (16"},
        {"TILE * WARPS <= 64", "TILE / (WARPS - WARPS)", "candidate.toml: legal_when: "}}) {
    std::string file = kCandidate;
    file.replace(file.find(old), old.size(), text);
    EXPECT_THAT(MessageOf(CandidateFile::Load(Write("candidate.toml", file))), HasSubstr(message));
  }
}

TEST_F(CandidateFileTest, TakesAnExportedCandidateAsItIs) {
  Write("k.cu", "extern \"C\" __global__ void k(void*) {}\n");
  const auto file = CandidateFile::Load(Write("candidate.toml", kCandidate)).value();
  const Candidate original = file.Make({"tunables", {{"TILE", 32}, {"WARPS", 2}}}).value();
  const auto exported =
      CandidateFile::Load(Write("candidate.json", ToJson(original).dump())).value();
  ASSERT_EQ(exported.space().size(), 1u);
  const auto again = exported.Make(exported.space().points().front()).value();
  EXPECT_EQ(CandidateId(again), CandidateId(original));
  EXPECT_EQ(again.provenance.config, original.provenance.config);
}

TEST_F(CandidateFileTest, RefusesPython) {
  EXPECT_THAT(MessageOf(CandidateFile::Load(Write("model_new.py", "class ModelNew: pass\n"))),
              HasSubstr("share its process with the clock"));
}

TEST_F(CandidateFileTest, FindsTheExportedCandidateOfAFolder) {
  Write("candidate.json", "{\"version\": 1}");
  EXPECT_THAT(MessageOf(CandidateFile::Load(folder_.path())), HasSubstr("candidate.json: sources"));
}

constexpr const char* kProgram = R"toml(
version = 1
form = "program"
entry = "host.cu"
flags = ["-lineinfo"]
)toml";

TEST_F(CandidateFileTest, AProgramHasNoPlanAndItsEntryIsASource) {
  Write("host.cu", "void run(float*) {}\n");
  const auto file = CandidateFile::Load(Write("candidate.toml", kProgram)).value();
  const Candidate candidate = file.Make(file.space().points().front()).value();
  EXPECT_EQ(candidate.form, Form::kProgram);
  EXPECT_EQ(candidate.toolchain, "nvcc");
  EXPECT_EQ(candidate.sources.at("host.cu"), "void run(float*) {}\n");
  EXPECT_TRUE(candidate.plan.operations.empty());

  EXPECT_THAT(
      MessageOf(CandidateFile::Load(Write(
          "candidate.toml", std::string(kProgram) + "[plan]\nversion = 1\noperations = []\n"))),
      HasSubstr("plan: expected no plan"));
  EXPECT_FALSE(CandidateFile::Load(
                   Write("candidate.toml", std::string(kProgram) + "toolchain = \"nvrtc\"\n"))
                   .ok());
}

TEST_F(CandidateFileTest, ABareSourceIsAProgram) {
  const auto file = CandidateFile::Load(Write("mine.cu", "void run(float*) {}\n")).value();
  ASSERT_EQ(file.space().size(), 1u);
  const Candidate candidate = file.Make(file.space().points().front()).value();
  EXPECT_EQ(candidate.form, Form::kProgram);
  EXPECT_EQ(candidate.entry, "mine.cu");
  EXPECT_EQ(candidate.sources.size(), 1u);
  EXPECT_EQ(CandidateFile::Load(folder_.path() / "none.cu").error().code, ErrorCode::kNoInput);
  EXPECT_THAT(CandidateFile::Load(folder_.path() / "none").error().fix, HasSubstr("a candidate's"));

  Write("candidate.toml", "version = 1\nform = \"program\"\nentry = \"mine.cu\"\n");
  const auto told = CandidateFile::Load(folder_.path()).value();
  EXPECT_EQ(CandidateId(told.Make(told.space().points().front()).value()), CandidateId(candidate));
}

TEST_F(CandidateFileTest, FollowsNoLinkOutOfTheFolderAndReadsNoPipe) {
  const auto inner = folder_.path() / "inner";
  std::filesystem::create_directory(inner);
  Write("secret.cu", "secret");
  std::filesystem::create_symlink(folder_.path() / "secret.cu", inner / "host.cu");
  Write("inner/candidate.toml", kProgram);
  EXPECT_THAT(MessageOf(CandidateFile::Load(inner)), HasSubstr("inside the candidate's folder"));

  std::filesystem::remove(inner / "host.cu");
  ASSERT_EQ(mkfifo((inner / "host.cu").c_str(), 0600), 0);
  EXPECT_THAT(MessageOf(CandidateFile::Load(inner)), HasSubstr("not a regular file"));
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
