#include "judge/program_sandbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "judge/audit/library_names.h"

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

}  // namespace
}  // namespace warpsmith::judge
