#include "task/kernelbench/launch_declaration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace warpsmith::kernelbench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kMain = "\nint main() { return 0; }\n";

LaunchDeclaration Found(const std::string& text) {
  const auto found = FindLaunchDeclaration(text + std::string(kMain));
  EXPECT_TRUE(found.ok()) << text << "\n" << (found.ok() ? "" : found.error().message);
  return found.ok() ? *found : LaunchDeclaration{};
}

std::string TextOf(const std::string& text) { return DeclarationText(Found(text)); }

std::string ErrorOf(const std::string& text) {
  const auto found = FindLaunchDeclaration(text);
  return found.ok() ? "" : found.error().message;
}

TEST(LaunchDeclaration, TakesTypesAndNamesThroughCommentsAndLines) {
  const LaunchDeclaration declaration = Found(R"(
#include <torch/torch.h>  // void launch_gpu_implementation(int wrong);
/* void launch_gpu_implementation(int wrong); */
void launch_gpu_implementation(
    void* output,              // [N, N], f16
    const void *input , /* a, b) */ int64_t N,
    const std::vector<int64_t>& sizes,
    unsigned long long count, float eps = 1e-5f, bool flag = f(1, 2));
)");
  EXPECT_EQ(declaration.returns, "void");
  EXPECT_FALSE(declaration.c_linkage);
  EXPECT_THAT(declaration.parameters,
              ElementsAre(LaunchParameter{"void*", "output"},
                          LaunchParameter{"const void*", "input"}, LaunchParameter{"int64_t", "N"},
                          LaunchParameter{"const std::vector<int64_t>&", "sizes"},
                          LaunchParameter{"unsigned long long", "count"},
                          LaunchParameter{"float", "eps"}, LaunchParameter{"bool", "flag"}));
}

TEST(LaunchDeclaration, NamesWhatHasNoName) {
  EXPECT_EQ(
      TextOf("void launch_gpu_implementation(void*, const float *, int, unsigned int, "
             "at::Half*, const half, std::vector<int>);"),
      "void launch_gpu_implementation(void* argument0, const float* argument1, int argument2, "
      "unsigned int argument3, at::Half* argument4, const half argument5, "
      "std::vector<int> argument6)");
}

TEST(LaunchDeclaration, KeepsLinkage) {
  EXPECT_EQ(TextOf("extern \"C\" void launch_gpu_implementation(void* x);"),
            "extern \"C\" void launch_gpu_implementation(void* x)");
  EXPECT_EQ(TextOf("extern \"C\" {\nint launch_gpu_implementation(void* x);\n}"),
            "extern \"C\" int launch_gpu_implementation(void* x)");
  EXPECT_EQ(TextOf("extern void launch_gpu_implementation(void* x);"),
            "void launch_gpu_implementation(void* x)");
}

TEST(LaunchDeclaration, IsNotFooledByLiteralsAndCalls) {
  EXPECT_EQ(TextOf("const char* a = \"void launch_gpu_implementation(int x);\";\n"
                   "const char* b = R\"x(void launch_gpu_implementation(int y);)\")x\";\n"
                   "char c = '\"';\n#define D void launch_gpu_implementation( \\\n int z);\n"
                   "void launch_gpu_implementation(void* right);"),
            "void launch_gpu_implementation(void* right)");
  EXPECT_THAT(ErrorOf("int main() { launch_gpu_implementation(a, b); }"),
              HasSubstr("is not declared"));
  EXPECT_THAT(ErrorOf("int main() { return launch_gpu_implementation(a); }"),
              HasSubstr("is not declared"));
}

TEST(LaunchDeclaration, RefusesWhatCannotBeRepeated) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("is not declared"));
  EXPECT_THAT(ErrorOf("void launch_gpu_implementation();"), HasSubstr("takes no parameters"));
  EXPECT_THAT(ErrorOf("void launch_gpu_implementation(void* x) { }"), HasSubstr("is defined"));
  EXPECT_THAT(ErrorOf("void launch_gpu_implementation(void (*f)(int), int n);"),
              HasSubstr("has the parameter"));
  EXPECT_THAT(ErrorOf("void launch_gpu_implementation(void* x '\n, int n);"),
              HasSubstr("has the parameter"));
  EXPECT_THAT(ErrorOf("void launch_gpu_implementation(std::vector<int = 3> x, int n);"),
              HasSubstr("has the parameter"));
  EXPECT_THAT(ErrorOf("void launch_gpu_implementation(float x[3]);"),
              HasSubstr("has the parameter"));
  EXPECT_THAT(ErrorOf("void launch_gpu_implementation(void* x, int x);"), HasSubstr("named x"));
  EXPECT_THAT(ErrorOf("void launch_gpu_implementation(void* x"), HasSubstr("never closes"));
  EXPECT_THAT(ErrorOf("template <int N> void launch_gpu_implementation(void* x);"),
              HasSubstr("not understood"));
}

TEST(LaunchDeclaration, DefinesACallThatCapturesEveryArgument) {
  EXPECT_EQ(CapturingDefinition(Found("int launch_gpu_implementation(void* out, int n);")),
            "int launch_gpu_implementation(void* out, int n) {\n"
            "  warpsmith::capture::Call call;\n"
            "  call.Argument(\"out\", out);\n"
            "  call.Argument(\"n\", n);\n"
            "  return {};\n}\n");
}

std::string AnyBlank() {
  return *rc::gen::elementOf(std::vector<std::string>{" ", "\n", "\t", " /* , ) { */ ",
                                                      " // void f(;\n", "\n#pragma once\n"});
}

TEST(LaunchDeclaration, PropertyReadsWhatItWritesInAnySpacing) {
  const bool holds = rc::check([] {
    const auto types =
        *rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(std::vector<std::string>{
            "void*", "const void*", "int64_t", "int", "float", "bool", "void**",
            "const std::vector<int64_t>&", "unsigned int", "std::map<int, std::vector<int>>"}));
    RC_PRE(!types.empty());
    LaunchDeclaration declaration;
    declaration.c_linkage = *rc::gen::arbitrary<bool>();
    std::string text = declaration.c_linkage ? "extern \"C\" void" : "void";
    text += AnyBlank() + std::string(kLaunchName) + AnyBlank() + "(";
    for (size_t i = 0; i < types.size(); ++i) {
      declaration.parameters.push_back({types[i], "p" + std::to_string(i)});
      text += (i > 0 ? "," : "") + AnyBlank() + types[i] + AnyBlank() + "p" + std::to_string(i) +
              (*rc::gen::arbitrary<bool>() ? " = g({1, 2}, \",\")" : "") + AnyBlank();
    }
    const auto found = FindLaunchDeclaration(text + ");" + std::string(kMain));
    RC_ASSERT(found.ok());
    RC_ASSERT(found->c_linkage == declaration.c_linkage);
    RC_ASSERT(found->parameters.size() == declaration.parameters.size());
    RC_ASSERT(*FindLaunchDeclaration(DeclarationText(*found) + ";") == *found);
    for (size_t i = 0; i < types.size(); ++i) {
      RC_ASSERT(found->parameters[i].name == declaration.parameters[i].name);
    }
  });
  EXPECT_TRUE(holds);
}

// Any text gives an answer: pieces of C++ in any order find what a plain fuzzer would not.
TEST(LaunchDeclaration, PropertyEndsOnAnyText) {
  const bool holds = rc::check([] {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(
        rc::gen::elementOf(std::vector<std::string>{"launch_gpu_implementation",
                                                    "(",
                                                    ")",
                                                    "{",
                                                    "}",
                                                    "[",
                                                    "]",
                                                    "<",
                                                    ">",
                                                    ",",
                                                    ";",
                                                    "void",
                                                    "*",
                                                    "\"",
                                                    "'",
                                                    "\\",
                                                    "\n",
                                                    "/*",
                                                    "*/",
                                                    "//",
                                                    "#",
                                                    "R\"(",
                                                    ")\"",
                                                    "extern",
                                                    "\"C\"",
                                                    "=",
                                                    "::",
                                                    "x",
                                                    "7",
                                                    "\xff",
                                                    std::string(1, '\0')}));
    std::string text;
    for (const std::string& piece : pieces)
      text += piece + (*rc::gen::inRange(0, 3) == 0 ? " " : "");
    const auto found = FindLaunchDeclaration(text);
    if (found.ok()) RC_ASSERT(!found->parameters.empty());
    if (!found.ok()) RC_ASSERT(!found.error().message.empty());
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace warpsmith::kernelbench
