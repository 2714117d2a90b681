#include "task/kernelbench/size_tag.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace warpsmith::kernelbench {
namespace {

constexpr const char* kText = R"(import torch
from torch import nn as layers

class Model(layers.Module):
    scale = 3
    def forward(self, x, width=4):
        return x

batch, width = 16, 32  # of images
shape = (
    8,

    4,
)
@torch.no_grad()
def other(n=5):
    return n

def get_inputs():
    x = torch.rand(batch, 7)
    return [x]

def get_init_inputs():
    return []
)";

TEST(SizeText, IsWhatSaysTheSizes) {
  EXPECT_EQ(SizeText(kText),
            "batch,width=16,32\nshape=(\n8,\n4,\n)\ndefget_inputs():\nx=torch.rand(batch,7)\n"
            "return[x]\ndefget_init_inputs():\nreturn[]\n");
  EXPECT_EQ(SizeText("batch, width=16, 32\n"), SizeText("batch, width = 16, 32 # now\n\n"));
  EXPECT_EQ(SizeText(""), "");
}

class SizeTagTest : public ::testing::Test {
 protected:
  // With a problem of level 1 and one of level 3, which say their sizes.
  std::string Tag(const std::string& early, const std::string& late) {
    Checkout checkout;
    for (const auto& [level, text] : {std::pair{1, early}, std::pair{3, late}}) {
      const auto path = folder_.path() / (std::to_string(level) + ".py");
      EXPECT_TRUE(WriteFileAtomic(path, text).ok());
      checkout.problems.push_back({level, 1, "1_p", path});
    }
    return SizeTag(checkout).value();
  }
  TemporaryDirectory folder_ = TemporaryDirectory::Create("tag").value();
};

TEST_F(SizeTagTest, IsOfTheEarlyLevelsSizes) {
  const std::string tag = Tag("n = 2\n", "n = 3\n");
  EXPECT_EQ(tag.size(), 8U);
  EXPECT_EQ(tag, Tag("class Model: pass\nn = 2\n", "n = 4\n"));
  EXPECT_NE(tag, Tag("n = 1\n", "n = 3\n"));
}

TEST_F(SizeTagTest, NeedsEveryFile) {
  EXPECT_FALSE(SizeTag({Kind::kModules, {}, {{1, 1, "1_p", folder_.path() / "absent.py"}}}).ok());
}

}  // namespace
}  // namespace warpsmith::kernelbench
