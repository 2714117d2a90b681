// Replies as models write them, and as they fail to.
#include "agent/prompts/code_reply.h"
#include "agent/prompts/prompts.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

namespace warpsmith::prompts {
namespace {

bool Holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr const char* kOld =
    "#include \"tile.cuh\"\n"
    "extern \"C\" __global__ void scale(const float* x, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) {\n"
    "    y[i] = 2.0f * x[i];\n"
    "  }\n"
    "}\n";
constexpr const char* kNew = "extern \"C\" __global__ void scale(const float4* x) {}\n";

ReplyBase ReplyBaseOf() {
  return {{{"kernel.cu", kOld}, {"tile.cuh", "#define TILE 16\n"}}, "kernel.cu"};
}

CodeReply Read(const std::string& reply, const ReplyBase& base = ReplyBaseOf()) {
  auto read = ReadCodeReply(reply, base);
  EXPECT_TRUE(read.ok()) << read.error().Line();
  return read.ok() ? *read : CodeReply();
}

std::string WhyNot(const std::string& reply, const ReplyBase& base = ReplyBaseOf()) {
  const auto read = ReadCodeReply(reply, base);
  if (read.ok()) return "it is a candidate";
  EXPECT_EQ(read.error().message.find('\n'), std::string::npos);
  EXPECT_EQ(read.error().code, ErrorCode::kBadInput);
  return read.error().message;
}

std::string In(const std::string& opening, const std::string& text) {
  return opening + "\n" + text + "```\n";
}

TEST(CodeReply, NamesAFileWhereverModelsPutTheName) {
  for (const std::string& reply : {
           In("```cuda kernel.cu", kNew),
           In("```cuda:kernel.cu", kNew),
           In("```cpp title=\"kernel.cu\"", kNew),
           In("```kernel.cu", kNew),
           In("``` cuda filename=kernel.cu", kNew),
           In("**kernel.cu**\n```cuda", kNew),
           In("### `kernel.cu`:\n\n```cpp", kNew),
           In("File: kernel.cu\n```", kNew),
           In("1. kernel.cu (updated)\n```cuda", kNew),
           In("Here is the new `kernel.cu`, with wider loads:\n```cuda", kNew),
           "kernel.cu\n~~~cuda\n" + std::string(kNew) + "~~~\n",
           "kernel.cu\n`````cuda\n" + std::string(kNew) + "`````\n",
       }) {
    EXPECT_EQ(Read(reply).sources.at("kernel.cu"), kNew) << reply;
    EXPECT_EQ(Read(reply).sources.at("tile.cuh"), "#define TILE 16\n") << reply;
  }
}

TEST(CodeReply, TakesTheNameFromTheFirstComment) {
  const std::string file = "// kernel.cu\n" + std::string(kNew);
  EXPECT_EQ(Read(In("```cuda", file)).sources.at("kernel.cu"), file);
  const std::string header = "/* file: tile.cuh */\n#define TILE 32\n";
  EXPECT_EQ(Read(In("```cpp", header)).sources.at("tile.cuh"), header);
}

TEST(CodeReply, ABlockWithoutANameIsTheEntry) {
  EXPECT_EQ(Read("I widen the loads.\n\n" + In("```cuda", kNew)).sources.at("kernel.cu"), kNew);
  EXPECT_EQ(Read(In("```", kNew)).sources.at("kernel.cu"), kNew);
  EXPECT_EQ(Read(kNew).sources.at("kernel.cu"), kNew);  // nothing but code
}

TEST(CodeReply, ASnippetIsNotTheFile) {
  const std::string reply = "The loop in `kernel.cu` is bound by memory:\n" +
                            In("```cuda", "    y[i] = 2.0f * x[i];\n") + "Now whole:\n" +
                            In("```cuda", kNew);
  EXPECT_EQ(Read(reply).sources.at("kernel.cu"), kNew);
  EXPECT_PRED2(Holds, WhyNot(In("See `kernel.cu`:\n```cuda", "y[i] = x[i];\n")),
               std::string("has no code"));
}

TEST(CodeReply, OfSeveralNamelessBlocksTheLastCountsIfItIsTheLongest) {
  const std::string longer = std::string(kNew) + "// more\n";
  EXPECT_EQ(
      Read(In("First:\n```cuda", kNew) + In("Better:\n```cuda", longer)).sources.at("kernel.cu"),
      longer);
  EXPECT_EQ(WhyNot(In("Whole:\n```cuda", longer) + In("Part:\n```cuda", kNew)),
            "the reply has 2 blocks of code without a name, and the last is not the longest");
}

TEST(CodeReply, TakesSeveralFilesAndAPlan) {
  const std::string reply = In("```cuda kernel.cu", kNew) +
                            In("```cpp tile.cuh", "#define TILE 8\n") +
                            In("```json plan.json",
                               R"json({"operations": [{"type": "launch", "kernel": "scale",
  "grid": ["ceil_div(n, 256)", 1, 1], "block": [256, 1, 1], "arguments": [{"tensor": "x"}]}]}
)json");
  const CodeReply read = Read(reply);
  EXPECT_EQ(read.sources.at("tile.cuh"), "#define TILE 8\n");
  ASSERT_TRUE(read.plan.has_value());
  EXPECT_EQ(std::get<LaunchOperation>(read.plan->operations.at(0)).kernel, "scale");
  EXPECT_EQ(read.entry, "kernel.cu");
}

TEST(CodeReply, APlanMayBeTomlAndFlagsAreNeverTaken) {
  const std::string reply = In("```cuda kernel.cu", kNew) + In("```toml candidate.toml", R"(
version = 1
entry = "/etc/passwd"
flags = ["-Xcompiler", "-fplugin=evil.so"]
[plan]
version = 1
[[plan.operations]]
type = "memset"
target = "y"
bytes = "4 * n"
)");
  const CodeReply read = Read(reply);
  ASSERT_TRUE(read.plan.has_value());
  Candidate base;
  base.sources = ReplyBaseOf().sources;
  base.entry = "kernel.cu";
  base.flags = {"-DX=1"};
  base.provenance.technique = "the parent's";
  const Candidate candidate = WithReply(base, read);
  EXPECT_EQ(candidate.flags, base.flags);
  EXPECT_EQ(candidate.entry, "kernel.cu");
  EXPECT_EQ(candidate.plan.operations.size(), 1u);
  EXPECT_EQ(candidate.provenance.technique, "");
}

TEST(CodeReply, SaysWhatIsWrongWithAPlan) {
  const std::string file = In("```cuda kernel.cu", kNew);
  EXPECT_PRED2(
      Holds, WhyNot(file + In("```json plan.json", "{\"operations\": [{\"type\": \"lunch\"}]}\n")),
      std::string("operations[0].type"));
  EXPECT_PRED2(Holds, WhyNot(file + In("```json plan.json", "{\"operations\": [,]}\n")),
               std::string("the reply's plan"));
  EXPECT_PRED2(
      Holds,
      WhyNot(file + In("```toml plan.toml", "[tunables]\nT = [1]\n[plan]\noperations = []\n")),
      std::string("tunables"));
  EXPECT_PRED2(Holds,
               WhyNot(file + In("```json plan.json", "{\"version\": 2, \"operations\": []}\n")),
               std::string("version"));
}

TEST(CodeReply, OtherDataIsNoPlan) {
  const CodeReply read = Read(In("```json", "{\"expected_speedup\": 1.4}\n") + In("```cuda", kNew));
  EXPECT_FALSE(read.plan.has_value());
  EXPECT_EQ(read.sources.at("kernel.cu"), kNew);
}

TEST(CodeReply, ACandidateAsJson) {
  const CodeReply read = Read(
      R"({"sources": {"kernel.cu": "extern \"C\" __global__ void scale() {}"}, "flags": ["-g"]})");
  EXPECT_EQ(read.sources.at("kernel.cu"), "extern \"C\" __global__ void scale() {}");
}

constexpr const char* kEdit =
    "<<<<<<< SEARCH\n"
    "    y[i] = 2.0f * x[i];\n"
    "=======\n"
    "    y[i] = x[i] + x[i];\n"
    ">>>>>>> REPLACE\n";

TEST(CodeReply, AppliesEdits) {
  for (const std::string& reply :
       {"kernel.cu\n" + std::string(kEdit), In("kernel.cu\n```cuda", kEdit),
        In("```", "kernel.cu\n" + std::string(kEdit)), std::string(kEdit),
        In("I double by adding.\n\n```diff", kEdit)}) {
    const std::string text = Read(reply).sources.at("kernel.cu");
    EXPECT_PRED2(Holds, text, std::string("    y[i] = x[i] + x[i];\n  }\n")) << reply;
    EXPECT_EQ(text.size(), std::string(kOld).size()) << reply;
  }
}

TEST(CodeReply, EditsOfSeveralFilesAndOfANewOne) {
  const CodeReply read =
      Read(std::string("kernel.cu\n") + kEdit +
           "\ntile.cuh\n<<<<<<< SEARCH\n#define TILE 16\n=======\n#define TILE 8\n"
           ">>>>>>> REPLACE\n\nnew.cuh\n<<<<<<< SEARCH\n=======\n#define N 1\n"
           ">>>>>>> REPLACE\n");
  EXPECT_EQ(read.sources.at("tile.cuh"), "#define TILE 8\n");
  EXPECT_EQ(read.sources.at("new.cuh"), "#define N 1\n");
}

TEST(CodeReply, NamesTheEditThatDoesNotFit) {
  const std::string second =
      "<<<<<<< SEARCH\n  float z = 3;\n=======\n  float z = 4;\n>>>>>>> REPLACE\n";
  EXPECT_EQ(WhyNot("kernel.cu\n" + std::string(kEdit) + second),
            "edit 2 of 'kernel.cu': no place in the file has the lines that begin with "
            "'float z = 3;'");
  EXPECT_EQ(WhyNot("other.cu\n" + second), "edit 1 of 'other.cu': there is no such file");
  EXPECT_EQ(WhyNot("kernel.cu\n<<<<<<< SEARCH\nint i\n=======\nlong i\n"),
            "edit 1 ends without its REPLACE line");
  EXPECT_EQ(WhyNot("kernel.cu\n<<<<<<< SEARCH\nint i\n"), "edit 1 has no ======= line");
  EXPECT_PRED2(Holds, WhyNot("plan.json\n" + second), std::string("a plan cannot be edited"));
}

TEST(CodeReply, AppliesUnifiedDiffs) {
  const std::string diff =
      "--- a/kernel.cu\n"
      "+++ b/kernel.cu\n"
      "@@ -99,4 +99,5 @@ void scale()\n"
      "   if (i < n) {\n"
      "-    y[i] = 2.0f * x[i];\n"
      "+    float v = x[i];\n"
      "+    y[i] = v + v;\n"
      "   }\n";
  for (const std::string& reply :
       {In("```diff", diff), diff, "Here you are:\n" + In("```", diff)}) {
    EXPECT_PRED2(Holds, Read(reply).sources.at("kernel.cu"),
                 std::string("  if (i < n) {\n    float v = x[i];\n    y[i] = v + v;\n  }\n}\n"))
        << reply;
  }
  const CodeReply added =
      Read(In("```diff", "--- /dev/null\n+++ b/new.cuh\n@@ -0,0 +1,1 @@\n+#define N 1\n"));
  EXPECT_EQ(added.sources.at("new.cuh"), "#define N 1\n");
  EXPECT_PRED2(
      Holds,
      WhyNot(In("```diff", "--- a/tile.cuh\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-#define TILE 16\n")),
      std::string("deletes"));
}

TEST(CodeReply, EditsMayFollowTheFileThatTheyChange) {
  const CodeReply read = Read(In("```cuda kernel.cu", kNew) + "kernel.cu\n<<<<<<< SEARCH\n" + kNew +
                              "=======\n// gone\n" + ">>>>>>> REPLACE\n");
  EXPECT_EQ(read.sources.at("kernel.cu"), "// gone\n");
}

TEST(CodeReply, HalfAFileIsNoCandidate) {
  EXPECT_EQ(WhyNot("```cuda kernel.cu\nextern \"C\" __global__ void scale(const fl"),
            "the reply ends inside 'kernel.cu', before its fence is closed");
  EXPECT_EQ(WhyNot(In("```cuda kernel.cu", kNew) + "```cuda tile.cuh\n#define"),
            "the reply ends inside 'tile.cuh', before its fence is closed");
  EXPECT_EQ(Read(In("```cuda kernel.cu", kNew) + "```").sources.at("kernel.cu"), kNew);
}

TEST(CodeReply, CodeThatIsLeftOutIsNoCandidate) {
  EXPECT_EQ(WhyNot(In("```cuda kernel.cu",
                      std::string(kNew) + "  // ... rest of the kernel unchanged ...\n")),
            "'kernel.cu' leaves code out: '// ... rest of the kernel unchanged ...'");
  EXPECT_PRED2(Holds,
               WhyNot(In("```cuda kernel.cu", std::string(kNew) + "/* … existing code … */\n")),
               std::string("leaves code out"));
  Read(In("```cuda kernel.cu", std::string(kNew) + "// a[0], a[1], ... in order\n"));
}

TEST(CodeReply, ThoughtsAreNotPartOfTheReply) {
  const std::string answer = In("```cuda kernel.cu", kNew);
  const std::string thought = "maybe\n```cuda kernel.cu\nint wrong;\n";
  EXPECT_EQ(Read("<think>" + thought + "</think>\n" + answer).sources.at("kernel.cu"), kNew);
  EXPECT_EQ(Read("<thinking>\n" + thought + "```\n</thinking>" + answer).sources.at("kernel.cu"),
            kNew);
  EXPECT_EQ(Read(thought + "```\n</think>\n\n" + answer).sources.at("kernel.cu"), kNew);
  EXPECT_EQ(WhyNot("<think>" + thought), "the reply ends while the model still thinks");
}

TEST(CodeReply, LineEndsAndBrokenUtf8) {
  EXPECT_EQ(
      Read("\xEF\xBB\xBFkernel.cu\r\n```cuda\r\nextern \"C\" __global__ void f() {}\r\n```\r\n")
          .sources.at("kernel.cu"),
      "extern \"C\" __global__ void f() {}\n");
  EXPECT_EQ(
      Read(In("```cuda kernel.cu", "// caf\xe9\n" + std::string(kNew))).sources.at("kernel.cu"),
      "// caf\xEF\xBF\xBD\n" + std::string(kNew));
  EXPECT_PRED2(Holds, WhyNot(In("```cuda kernel.cu", std::string("int a;\0\n", 8))),
               std::string("NUL"));
}

TEST(CodeReply, NamesAreNeverPaths) {
  for (const std::string name :
       {"../kernel.cu", "/etc/kernel.cu", "src/kernel.cu", "~/kernel.cu", "..\\kernel.cu"}) {
    EXPECT_PRED2(Holds, WhyNot(In("```cuda " + name, kNew)), std::string("is a path")) << name;
    EXPECT_PRED2(Holds, WhyNot(name + "\n" + kEdit), std::string("is a path")) << name;
  }
  EXPECT_PRED2(Holds, WhyNot(In("```cuda .hidden.cu", kNew)), std::string("is no name"));
  EXPECT_PRED2(Holds, WhyNot(In("```cuda " + std::string(80, 'a') + ".cu", kNew)),
               std::string("is no name"));
  EXPECT_PRED2(Holds, WhyNot(R"({"sources": {"../a.cu": "x"}})"), std::string("is a path"));
}

TEST(CodeReply, SaysWhyThereIsNothing) {
  EXPECT_EQ(WhyNot("I'm sorry, but I can't help with that.\nBye."),
            "the reply has no code; it begins 'I'm sorry, but I can't help with that.'");
  EXPECT_EQ(WhyNot(""), "the reply is empty");
  EXPECT_EQ(WhyNot(" \r\n\t"), "the reply is empty");
  EXPECT_EQ(WhyNot("NOT APPLICABLE: the loads are 16 bytes wide already"),
            "the model declines: the loads are 16 bytes wide already");
  EXPECT_EQ(WhyNot(In("```python", "import triton\n")),
            "the reply has no CUDA source; passed over: a block of 'python'");
  EXPECT_EQ(WhyNot(In("```python model.py", "import triton\n")),
            "the reply has no CUDA source; passed over: 'model.py'");
  EXPECT_EQ(WhyNot(In("```cuda kernel.cu", kOld)), "the reply gives the code back unchanged");
}

TEST(CodeReply, HugeRepliesAreRefusedUnread) {
  EXPECT_PRED2(Holds, WhyNot(std::string(50'000'000, 'x')), std::string("50000000 bytes"));
  EXPECT_PRED2(Holds, WhyNot(In("```cuda kernel.cu", std::string(kMaxSourceBytes, 'x') + "\n")),
               std::string("at most 524288 are taken"));
  std::string many;
  for (size_t i = 0; i <= kMaxSourceFiles; ++i)
    many += In("```cuda f" + std::to_string(i) + ".cuh", "//\n");
  EXPECT_PRED2(Holds, WhyNot(many), std::string("at most 16 are taken"));
}

TEST(CodeReply, AFirstKernelChoosesItsName) {
  EXPECT_EQ(Read(In("```cuda softmax.cu", kNew), {}).entry, "softmax.cu");
  EXPECT_EQ(Read(In("```cuda", kNew), {}).entry, "kernel.cu");
  EXPECT_PRED2(Holds, WhyNot(In("```cuda a.cu", kNew) + In("```cuda b.cu", kNew), {}),
               std::string("2 .cu files and none is called 'kernel.cu'"));
}

TEST(CodeReply, ARenamedEntryTakesTheEntrysPlace) {
  const CodeReply read = Read(In("```cuda fast_scale.cu", kNew));
  EXPECT_EQ(read.sources.at("kernel.cu"), kNew);
  EXPECT_FALSE(read.sources.contains("fast_scale.cu"));
}

TEST(CodeReply, AWrappedReplyIsUnwrapped) {
  EXPECT_EQ(Read("```markdown\n# Answer\n" + In("```cuda kernel.cu", kNew) + "```\n")
                .sources.at("kernel.cu"),
            kNew);
}

std::string CodeLine() {
  return *rc::gen::element<std::string>("int i = 0;", "  y[i] = x[i];", "}", "",
                                        "// ``` in a comment", "```", "// kernel", "\tif (a < b) {",
                                        "=======", "#pragma unroll", "__syncthreads();", "{{name}}",
                                        "asm(\"mov\");", "~~~", "/* \xC3\xA9 */");
}

std::string Code(int least = 1) {
  const int lines = *rc::gen::inRange(least, 30);
  std::string text = "__global__ void k" + std::to_string(*rc::gen::inRange(0, 1000)) + "() {\n";
  for (int i = 0; i < lines; ++i) text += CodeLine() + "\n";
  return text;
}

RC_GTEST_PROP(CodeReplyProperty, WholeFilesComeBack, ()) {
  std::map<std::string, std::string> files = {{"kernel.cu", Code()}};
  if (*rc::gen::arbitrary<bool>()) files["part.cuh"] = Code();
  std::string reply = "Some words.\n\n";
  for (const auto& [name, text] : files) reply += name + "\n" + Fenced(text) + "\n";
  const auto read = ReadCodeReply(reply, {});
  RC_ASSERT(read.ok());
  RC_ASSERT(read->sources == files);
}

// A stretch of a file that stands there once, given as an edit, is replaced and nothing else is.
RC_GTEST_PROP(CodeReplyProperty, EditsChangeTheirPlaceAlone, ()) {
  std::vector<std::string> lines;
  const int count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < count; ++i) {
    lines.push_back("  x[" + std::to_string(i) +
                    "] = " + *rc::gen::element<std::string>("a", "b * c", "f(1,  2)") + ";");
  }
  const int begin = *rc::gen::inRange(0, count), end = *rc::gen::inRange(begin + 1, count + 1);
  const bool loose = *rc::gen::arbitrary<bool>();
  std::string before, found, after;
  for (int i = 0; i < count; ++i) (i < begin ? before : i < end ? found : after) += lines[i] + "\n";
  std::string search = found;
  if (loose) search = "\t" + search;
  const std::string put = "  y = " + std::to_string(*rc::gen::arbitrary<int>()) + ";\n";
  const auto read = ReadCodeReply(
      "kernel.cu\n<<<<<<< SEARCH\n" + search + "=======\n" + put + ">>>>>>> REPLACE\n",
      {{{"kernel.cu", before + found + after}}, "kernel.cu"});
  RC_ASSERT(read.ok());
  RC_ASSERT(read->sources.at("kernel.cu") == before + put + after);
}

RC_GTEST_PROP(CodeReplyProperty, AnyBytesAreACandidateOrALine, ()) {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      rc::gen::oneOf(rc::gen::element<std::string>(
                         "```", "```cuda kernel.cu\n", "\n", "<think>", "</think>", "kernel.cu\n",
                         "<<<<<<< SEARCH\n", "=======\n", ">>>>>>> REPLACE\n", "@@ -1 +1 @@\n",
                         "--- a/k.cu\n+++ b/k.cu\n", "-", "+", "__global__", "{\"plan\":", "}",
                         "[[plan.operations]]\n", "```json plan.json\n", "../x.cu", "\r", "\xff"),
                     rc::gen::arbitrary<std::string>()));
  std::string reply;
  for (const std::string& part : parts) reply += part;
  const auto read = ReadCodeReply(
      reply, {{{"kernel.cu", "__global__ void k() {}\n"}, {"tile.cuh", "#define TILE 16\n"}},
              "kernel.cu"});
  if (!read.ok()) {
    RC_ASSERT(!read.error().message.empty());
    RC_ASSERT(read.error().message.find('\n') == std::string::npos);
    return;
  }
  RC_ASSERT(read->sources.contains(read->entry));
  for (const auto& [name, text] : read->sources) {
    RC_ASSERT(name.find('/') == std::string::npos && !name.empty());
  }
}

}  // namespace
}  // namespace warpsmith::prompts
