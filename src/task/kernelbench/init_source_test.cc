#include "task/kernelbench/init_source.h"

#include <gtest/gtest.h>

namespace warpsmith::kernelbench {
namespace {

TEST(InitSource, AddsTheHeadersThatTorchBroughtElsewhere) {
  const std::string vector = "#include <math.h>\nvoid f(const std::vector<int>& x);\n";
  EXPECT_EQ(InitSource(vector), "#include <vector>\n" + vector);
  const std::string error = "void f() { fprintf(stderr, \"x\"); }\n";
  EXPECT_EQ(InitSource(error), "#include <cstdio>\n" + error);
  EXPECT_EQ(InitSource(vector + error), "#include <vector>\n#include <cstdio>\n" + vector + error);
}

TEST(InitSource, LeavesTheOthersAsTheyAre) {
  for (const char* text :
       {"", "__global__ void f() { printf(\"x\"); }\n", "#include <vector>\nstd::vector<int> x;\n",
        "#include <stdio.h>\nvoid f() { fputs(\"x\", stderr); }\n",
        "#include <iostream>\nvoid f() { fputs(\"x\", stderr); }\n"}) {
    EXPECT_EQ(InitSource(text), text);
  }
}

}  // namespace
}  // namespace warpsmith::kernelbench
