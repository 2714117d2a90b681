#include "compile/program_build.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::compile {
namespace {

TEST(ProgramUnits, AreTheSourcesThatNobodyIncludes) {
  Compilation compilation;
  compilation.entry = "shim.cpp";
  compilation.sources = {{"a.cu", "#include \"sub/part.cu\"\n#include \"b.h\"\nint x;"},
                         {"b.h", ""},
                         {"sub/part.cu", "// #include <cuda.h>"},
                         {"more.cc", ""},
                         {"notes.txt", ""},
                         {"shim.cpp", ""}};
  EXPECT_THAT(ProgramUnits(compilation), testing::ElementsAre("shim.cpp", "a.cu", "more.cc"));
}

}  // namespace
}  // namespace warpsmith::compile
