#include "base/build_info.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace warpsmith {
namespace {

TEST(BuildInfo, NamesTheBuild) {
  EXPECT_FALSE(build_info::Version().empty());
  EXPECT_TRUE(build_info::VersionText().starts_with(build_info::Version()));
  EXPECT_NE(build_info::VersionText().find(build_info::Commit()), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(build_info::CudaRoot()) / "include"));
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(build_info::SourceRoot()) / "cmake" /
                                      "modules.txt"));
}

}  // namespace
}  // namespace warpsmith
