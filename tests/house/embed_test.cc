#include <gtest/gtest.h>

#include "embedded/embed_nothing.h"
#include "embedded/embed_sample.h"

namespace warpsmith {
namespace {

TEST(Embed, KeepsEveryByteAndThePathBelowTheBase) {
  const auto files = embedded::EmbedSample();
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, "odd.txt");
  EXPECT_EQ(files[0].contents, "a;b[c]\\ \"x\" )R\" \xc3\xa9\n");
  EXPECT_EQ(*(files[0].contents.data() + files[0].contents.size()), '\0');
  EXPECT_EQ(files[1].path, "empty.txt");
  EXPECT_EQ(files[1].contents, "");
}

TEST(Embed, MayHoldNothing) { EXPECT_TRUE(embedded::EmbedNothing().empty()); }

}  // namespace
}  // namespace warpsmith
