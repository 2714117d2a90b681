#include "judge/program_session.h"

#include <gmock/gmock.h>

#include "judge/audit/image_rules.h"

namespace warpsmith::judge {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;

TEST(HiddenLibraries, AreAllThatTheAuditsKnow) {
  EXPECT_THAT(HiddenLibraries({}),
              IsSupersetOf({"libcublas*", "libcudnn*", "libtorch*", "libc10*", "libnccl*",
                            "libnvrtc*", "libnvJitLink*", "libnvinfer*"}));
  EXPECT_EQ(HiddenLibraries({"dlopen"}), HiddenLibraries({}));
}

TEST(HiddenLibraries, AreNotThoseThatTheTaskAllows) {
  for (const audit::LibraryFamily& family : audit::LibraryFamilies()) {
    const auto hidden = HiddenLibraries({std::string(family.name)});
    for (const std::string_view file : family.files) {
      EXPECT_THAT(hidden, Not(Contains(std::string(file) + "*"))) << family.name;
    }
  }
  EXPECT_THAT(HiddenLibraries({"cusparse"}), Not(Contains("libnvJitLink*")));
  EXPECT_THAT(HiddenLibraries({"cusparse"}), Contains("libcublas*"));
}

// What each limit stops is tested in src/sandbox.
TEST(ProgramLimits, BoundWhatAProgramMayTake) {
  const sandbox::Limits limits = ProgramLimits();
  EXPECT_GT(limits.processes, 0);
  EXPECT_LE(limits.processes, 4096);
  EXPECT_GT(limits.open_files, 0);
  EXPECT_LE(limits.open_files, 4096);
  EXPECT_GT(limits.file_bytes, 0);
  EXPECT_LE(limits.file_bytes, 1 << 30);
  EXPECT_GT(limits.data_bytes, 1 << 30);
}

}  // namespace
}  // namespace warpsmith::judge
