#include "task/kernelbench/launch_match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace warpsmith::kernelbench {
namespace {

using ::testing::HasSubstr;

TEST(PlainType, IsTheSameForWhatLinksAlike) {
  for (const auto& [a, b] : std::vector<std::pair<const char*, const char*>>{
           {"long", "int64_t"},
           {"std::int64_t", "const int64_t"},
           {"unsigned long", "size_t"},
           {"const void*", "void const *"},
           {"void* const", "void*"},
           {"__half*", "half *"},
           {"const std::vector<int64_t>&", "const vector<long>&"}}) {
    EXPECT_EQ(PlainType(a), PlainType(b));
  }
  for (const auto& [a, b] :
       std::vector<std::pair<const char*, const char*>>{{"int", "int64_t"},
                                                        {"const void*", "void*"},
                                                        {"long long", "long"},
                                                        {"half*", "void*"},
                                                        {"int*", "int"},
                                                        {"unsigned", "int"},
                                                        {"bool", "int"}}) {
    EXPECT_NE(PlainType(a), PlainType(b));
  }
}

LaunchMatch Of(const std::string& declared, const std::string& candidate) {
  return Match(FindLaunchDeclaration(declared).value(), FindLaunchDefinitions(candidate));
}
const std::string kDeclared = "void launch_gpu_implementation(void* out, const void* x, long n);\n";

TEST(LaunchMatch, TakesADefinitionThatLinks) {
  for (const char* candidate :
       {"", "#include <x>\n", "void launch_gpu_implementation(void* o, const void*, int64_t m) {}",
        "static void launch_gpu_implementation(int) {}",
        "void launch_gpu_implementation(int n) {}\n"
        "void launch_gpu_implementation(void* a, void const* b, const long c) { f(); }"}) {
    const LaunchMatch match = Of(kDeclared, candidate);
    EXPECT_EQ(match.note, "") << candidate;
    EXPECT_FALSE(match.declaration.c_linkage);
  }
}

TEST(LaunchMatch, SaysWhatDiffers) {
  EXPECT_THAT(Of(kDeclared, "void launch_gpu_implementation(void* o, void* x, long n) {}").note,
              HasSubstr("(x is void*, not const void*): it cannot load"));
  EXPECT_THAT(Of(kDeclared, "void launch_gpu_implementation(void* o, const void* x) {}").note,
              HasSubstr("(2, not 3)"));
  const LaunchMatch hidden =
      Of("extern \"C\" " + kDeclared,
         "extern \"C\" void launch_gpu_implementation(void* o, const void* x, int n) {}");
  EXPECT_THAT(hidden.note, HasSubstr("(n is int, not long), and C linkage hides it"));
}

TEST(LaunchMatch, TakesTheLinkageOfTheDefinition) {
  const std::string defined = "void launch_gpu_implementation(void* o, const void* x, long n) {}";
  const LaunchMatch c = Of(kDeclared, "extern \"C\" // so that it links\n" + defined);
  EXPECT_TRUE(c.declaration.c_linkage);
  EXPECT_EQ(c.declaration.parameters[0].name, "out");
  EXPECT_THAT(c.note, HasSubstr("has C linkage"));
  const LaunchMatch plain = Of("extern \"C\" " + kDeclared, defined);
  EXPECT_FALSE(plain.declaration.c_linkage);
  EXPECT_THAT(plain.note, HasSubstr("has C++ linkage"));
  EXPECT_EQ(Of(kDeclared, "extern \"C\" {\n" + defined + "}\n" + defined).note, "");
  EXPECT_EQ(Of("extern \"C\" " + kDeclared,
               "extern \"C\" {\n" + defined + "void launch_gpu_implementation(int n) {}\n}")
                .note,
            "");
}

}  // namespace
}  // namespace warpsmith::kernelbench
