// Builds generated folders with the host's compiler and runs them on the fake driver: what they
// launch is what the judge would.
#include <gmock/gmock.h>

#include "base/file.h"
#include "base/subprocess.h"
#include "report/reproduce/tests/sample_subject.h"

namespace warpsmith::reproduce {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Prints the first launches that the fake driver saw, at the program's end.
constexpr char kTellLaunches[] = R"(#include <cstddef>
#include <cstdio>
extern "C" size_t warpsmith_fake_log_size();
extern "C" const char* warpsmith_fake_log_line(size_t);
struct Teller {
  ~Teller() {
    std::printf("launches %zu\n", warpsmith_fake_log_size());
    for (size_t i = 0; i < 2 && i < warpsmith_fake_log_size(); ++i) {
      std::printf("%s\n", warpsmith_fake_log_line(i));
    }
  }
} teller;
)";

std::string Shell(const fs::path& folder, const std::string& line) {
  ProcessLimits limits;
  limits.wall = std::chrono::minutes(2);
  const auto outcome = RunProcess({"/bin/sh", "-ec", "cd '" + folder.string() + "'; " + line},
                                  limits, {"LD_LIBRARY_PATH=" WARPSMITH_FAKE_DRIVER_ROOT "/lib64"});
  if (!outcome.ok()) return outcome.error().Line();
  EXPECT_EQ(outcome->exit_status, 0) << line << "\n" << outcome->output.substr(0, 4000);
  return outcome->output;
}

constexpr char kCompile[] = WARPSMITH_HOST_COMPILER
    " -std=c++17 -Wall -Wextra -Werror"
    " -isystem " WARPSMITH_CUDA_INCLUDE " -x c++ reproduce.cu -x none";

class Folder {
 public:
  explicit Folder(const Subject& subject)
      : folder_(TemporaryDirectory::Create("reproduce-run").value()) {
    const auto files = MakeFolder(subject, {});
    EXPECT_TRUE(files.ok()) << (files.ok() ? "" : files.error().Line());
    if (!files.ok()) return;
    EXPECT_TRUE(WriteFolder(folder_.path(), *files).ok());
    EXPECT_TRUE(CreateDirectories(folder_.path() / "build").ok());
    EXPECT_TRUE(WriteFileAtomic(folder_.path() / "tell.cc", kTellLaunches).ok());
    Shell("sh -n reproduce.sh");
    Shell(std::string(kCompile) + " tell.cc -o build/reproduce " WARPSMITH_FAKE_DRIVER_ROOT
                                  "/lib64/libcuda.so.1 -ldl");
  }

  std::string Shell(const std::string& line) const {
    return reproduce::Shell(folder_.path(), line);
  }
  void Write(const std::string& path, const std::string& text) const {
    EXPECT_TRUE(WriteFileAtomic(folder_.path() / path, text).ok());
  }

 private:
  TemporaryDirectory folder_;
};

TEST(GeneratedFolder, LaunchesWhatThePlanSays) {
  const Folder folder(SampleSubject());
  folder.Write("build/candidate.cubin", "kernel gemm 128 8 8 4 8 4 8 8\n");
  const std::string output = folder.Shell("build/reproduce --samples 3 --seed 5");
  EXPECT_THAT(output, HasSubstr("drawn from seed 5"));
  for (const char* mode : {"device", "device-cold", "offline", "server"}) {
    EXPECT_THAT(output, HasSubstr("\n" + std::string(mode) + ": "));
  }
  EXPECT_THAT(output, HasSubstr("gemm grid=2,1,1 block=128,1,1 shared=65536 cluster=2,1,1 "
                                "cooperative programmatic\n"));
}

TEST(GeneratedFolder, CallsAProgram) {
  const Folder folder(SampleProgram());
  folder.Shell(WARPSMITH_HOST_COMPILER
               " -shared -fPIC -I " WARPSMITH_CUDA_INCLUDE
               " -o build/candidate.so candidate/warpsmith_shim.cpp candidate/part.cpp "
               "candidate/run.cpp");
  const std::string output = folder.Shell("build/reproduce --samples 3");
  EXPECT_THAT(output, HasSubstr("30 calls, each on other buffers"));
}

TEST(GeneratedFolder, RefusesOtherOptions) {
  const Folder folder(SampleProgram());
  const std::string output = folder.Shell("! build/reproduce --fast 2>&1");
  EXPECT_THAT(output, HasSubstr("usage: reproduce"));
}

}  // namespace
}  // namespace warpsmith::reproduce
