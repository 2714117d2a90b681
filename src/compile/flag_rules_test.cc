#include "compile/flag_rules.h"

#include <gmock/gmock.h>

namespace warpsmith::compile {
namespace {

using testing::HasSubstr;

TEST(RefusedFlag, HonestFlagsPass) {
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {},
           {"-DBM=128", "-DNAME", "-D", "TYPE=float4", "--define-macro=X=(a + b) * 2", "-UX"},
           {"-std=c++20", "--std=c++17", "-O3", "--use_fast_math", "-use_fast_math", "-lineinfo"},
           {"-maxrregcount=128", "--maxrregcount", "64", "--fmad=false", "-ftz=true"},
           {"--expt-relaxed-constexpr", "--extended-lambda", "--diag-suppress=177,20012"},
           {"-I", "include", "-Isub/folder", "-I."},
           {"-Xptxas", "-v,-O3", "-Xptxas=-dlcm=ca", "--ptxas-options=-v", "-Xptxas",
            "--allow-expensive-optimizations=true"},
           {"-Xcompiler", "-fPIC,-O3", "-lcudart", "-lm"}}) {
    EXPECT_EQ(RefusedFlag(flags, {}), std::nullopt) << testing::PrintToString(flags);
  }
}

TEST(RefusedFlag, OthersAreNamed) {
  for (const std::vector<std::string>& flags :
       std::vector<std::vector<std::string>>{{"-o", "/some/where"},
                                             {"-o=/some/where"},
                                             {"--output-file=/some/where"},
                                             {"--run"},
                                             {"-run"},
                                             {"--run-args", "x"},
                                             {"-Xcompiler", "-fplugin=evil.so"},
                                             {"-Xcompiler=-fPIC,-fplugin=evil.so"},
                                             {"-Xcompiler", "-wrapper,sh"},
                                             {"-Xlinker", "-rpath=/"},
                                             {"-Xptxas", "-o,/etc/passwd"},
                                             {"-Xptxas", "--output-file=x"},
                                             {"-Xptxas", "-v --output-file=x"},
                                             {"--compiler-bindir=/tmp/evil"},
                                             {"-ccbin", "/tmp/evil"},
                                             {"--options-file=/etc/passwd"},
                                             {"-optf", "/etc/passwd"},
                                             {"--keep-dir=/tmp"},
                                             {"--time=/tmp/x"},
                                             {"-arch=sm_80"},
                                             {"--gpu-architecture=sm_80"},
                                             {"-gencode", "arch=compute_80,code=sm_80"},
                                             {"-include", "/etc/passwd"},
                                             {"--pre-include=/etc/passwd"},
                                             {"-I/usr/include"},
                                             {"-I", "../other"},
                                             {"-Isub/../../other"},
                                             {"-L/tmp"},
                                             {"/etc/passwd"},
                                             {"kernel2.cu"},
                                             {"@file"},
                                             {"-DX=$(id)"},
                                             {"-DX=`id`"},
                                             {"-DX=\"; id; \""},
                                             {"-DX=a\nb"},
                                             {"-std=c++17 -o x"},
                                             {"-std=/etc"},
                                             {"-lcublas"},
                                             {"-l", "cudnn"},
                                             {"-D"},
                                             {"-"},
                                             {"---D=1"},
                                             {""}}) {
    const auto refused = RefusedFlag(flags, {});
    ASSERT_TRUE(refused.has_value()) << testing::PrintToString(flags);
    EXPECT_THAT(*refused, HasSubstr("'" + flags[0]));
  }
}

TEST(RefusedFlag, LibrariesThatTheTaskAllowsPass) {
  EXPECT_EQ(RefusedFlag({"-lcublas", "-l", "cublasLt"}, {"cublas", "cublasLt"}), std::nullopt);
  EXPECT_THAT(RefusedFlag({"-lcudnn"}, {"cublas"}).value_or(""), HasSubstr("-lcudnn"));
}

TEST(RefusedFlag, SecondOfTwoIsSeen) {
  EXPECT_THAT(RefusedFlag({"-DX=1", "--run"}, {}).value_or(""), HasSubstr("--run"));
}

}  // namespace
}  // namespace warpsmith::compile
