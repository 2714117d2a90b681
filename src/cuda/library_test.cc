#include "cuda/library.h"

#include <gmock/gmock.h>

namespace warpsmith::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(LibraryCandidates, RootsComeInTheDocumentedOrder) {
  EXPECT_THAT(
      LibraryCandidates("libnvrtc.so.13", {"/mine", "/theirs", "/wheels/nvidia/cu13"}),
      ElementsAre("/mine/lib64/libnvrtc.so.13", "/mine/lib/libnvrtc.so.13",
                  "/theirs/lib64/libnvrtc.so.13", "/theirs/lib/libnvrtc.so.13",
                  "/usr/local/cuda/lib64/libnvrtc.so.13", "/usr/local/cuda/lib/libnvrtc.so.13",
                  "libnvrtc.so.13", "/wheels/nvidia/cu13/lib64/libnvrtc.so.13",
                  "/wheels/nvidia/cu13/lib/libnvrtc.so.13"));
}

TEST(LibraryCandidates, UnsetRootsAreSkipped) {
  EXPECT_THAT(LibraryCandidates("libcuda.so.1", {}),
              ElementsAre("/usr/local/cuda/lib64/libcuda.so.1", "/usr/local/cuda/lib/libcuda.so.1",
                          "libcuda.so.1"));
}

TEST(LibraryCandidates, CuptiIsAlsoInTheToolkitsExtras) {
  EXPECT_THAT(LibraryCandidates("libcupti.so.13", {"/mine", "", ""}),
              testing::Contains("/mine/extras/CUPTI/lib64/libcupti.so.13"));
}

TEST(Library, AbsentOneSaysWhereItWasLookedForAndWhatToDo) {
  const auto library = Library::Open("libwarpsmith-nowhere.so.1", "install it");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(library.error().message,
              HasSubstr("/usr/local/cuda/lib64/libwarpsmith-nowhere.so.1"));
  EXPECT_EQ(library.error().fix, "install it");
}

TEST(Library, AbsentSymbolIsNamed) {
  const auto library = Library::Open("libc.so.6", "");
  ASSERT_TRUE(library.ok()) << library.error().Line();
  EXPECT_TRUE(library->Symbol("strlen").ok());
  const auto symbol = library->Symbol("cuMemAlloc_v9");
  ASSERT_FALSE(symbol.ok());
  EXPECT_THAT(symbol.error().message, HasSubstr("cuMemAlloc_v9"));
}

TEST(FindTool, LooksInPathToo) {
  EXPECT_TRUE(FindTool("sh").ok());
  const auto tool = FindTool("warpsmith-nowhere");
  ASSERT_FALSE(tool.ok());
  EXPECT_EQ(tool.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace warpsmith::cuda
