#include "task/task_file.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/tests/folder.h"
#include "core/serialize.h"
#include "task/hgemm_task.h"

namespace warpsmith::task {
namespace {

using testing::HasSubstr;

constexpr const char* kTask = R"toml(
version = 1
name = "square"
tensors = [
  { name = "A", dtype = "f16", role = "input", shape = ["M", "K"] },
  { name = "B", dtype = "f16", role = "input", shape = ["N", "K"] },
  { name = "C", dtype = "f16", role = "output", shape = ["M", "N"] },
]
baselines = ["cublaslt-auto"]
flops = "2 * M * N * K"
[reference]
kind = "gemm"
options = { layout = "TN" }
[tolerance]
reduction_length = "K"
[[workloads]]
name = "secret"
hidden = true
sizes = { M = 16, N = 16, K = 16 }
[[workloads]]
name = "small"
sizes = { M = 64, N = 64, K = 64 }
)toml";

class TaskFileTest : public FolderTest {};

TEST_F(TaskFileTest, LoadsATaskAndTakesTheFirstWorkloadThatIsNotHidden) {
  const auto loaded = LoadTask(Write("task.toml", kTask)).value();
  EXPECT_EQ(loaded.task.name, "square");
  EXPECT_EQ(loaded.workload.name, "small");
  EXPECT_EQ(loaded.task.workloads.size(), 2u);
}

TEST_F(TaskFileTest, NamesFileAndPlaceOfASyntaxError) {
  const auto loaded = LoadTask(Write("task.toml", "name = \"x\"\nflops = = 3\n"));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kBadInput);
  EXPECT_NE(loaded.error().message.find("task.toml:2:"), std::string::npos)
      << loaded.error().message;
}

// What toml++ of Debian 12 asserts, and what it takes for unreachable.
TEST_F(TaskFileTest, NoFileStopsTheProgram) {
  for (const char* text : {"[[[a]]]\n", "[(]\n", "\u048a = 1\n", "\u00e9\n"}) {
    EXPECT_THAT(MessageOf(LoadTask(Write("task.toml", text))), HasSubstr("task.toml:1:"));
  }
}

// toml++ follows the parts of a key by recursion.
TEST_F(TaskFileTest, RefusesAKeyOfEndlessParts) {
  std::string key = "a";
  for (int i = 0; i < 500'000; ++i) key += ".a";
  for (const std::string& text : {key + " = 1", "[" + key + "]", "b = {" + key + " = 1}"}) {
    EXPECT_THAT(MessageOf(LoadTask(Write("task.toml", "# a.b\n" + text + "\n"))),
                HasSubstr("task.toml:2:1: a key of"));
  }
}

TEST_F(TaskFileTest, DotsInTextsAndNumbersAreNoKey) {
  const std::string dots(100, '.');
  std::string numbers;
  for (int i = 0; i < 100; ++i) numbers += "1.5, ";
  const auto loaded =
      LoadTask(Write("task.toml", "# " + dots + "\na = \"\\\"" + dots + "\"\nb = '''\n'" + dots +
                                      "'''\nc = [" + numbers + "]\n"));
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message.find("a key of"), std::string::npos) << loaded.error().message;
  EXPECT_EQ(loaded.error().message.find("Error while parsing"), std::string::npos)
      << loaded.error().message;
}

TEST_F(TaskFileTest, KnowsTheBuiltInHgemm) {
  const auto loaded = LoadTask("hgemm:64x128x256:NN").value();
  EXPECT_EQ(loaded.task.name, "hgemm-NN");
  EXPECT_EQ(loaded.workload.sizes.at("N"), 128);
  EXPECT_EQ(loaded.task.tensors[2].dtype, DType::kF16);
  EXPECT_FALSE(LoadTask("hgemm:64x0x256").ok());
}

TEST_F(TaskFileTest, KnowsTheBuiltInHgemmInBf16) {
  for (const auto& [text, name] : {std::pair("hgemm:64x128x256:NN:bf16", "hgemm-NN-bf16"),
                                   {"hgemm:64x128x256:bf16", "hgemm-TN-bf16"},
                                   {"hgemm:64x128x256:TN:f16", "hgemm-TN"},
                                   {"hgemm:64x128x256", "hgemm-TN"}}) {
    const auto loaded = LoadTask(text).value();
    EXPECT_EQ(loaded.task.name, name) << text;
    EXPECT_EQ(loaded.workload.sizes.at("K"), 256) << text;
    const DType dtype = loaded.task.name.ends_with("bf16") ? DType::kBF16 : DType::kF16;
    for (const TensorSpec& tensor : loaded.task.tensors) EXPECT_EQ(tensor.dtype, dtype) << text;
  }
}

TEST_F(TaskFileTest, SaysWhatIsWrongWithABuiltInTask) {
  for (const auto& [text, word] : {std::pair("hgemm:64x128x256:NT", "'NT'"),
                                   {"hgemm:64x128x256:f32", "'f32'"},
                                   {"hgemm:64x128x256:bf16:NN", "'NN'"},
                                   {"hgemm:64x128x256:NN:TN", "'TN'"},
                                   {"hgemm:64x128x256:NN:bf16:f16", "'f16'"},
                                   {"hgemm:64x128x256:", "''"},
                                   {"hgemm:64x128x256:TN::bf16", "''"}}) {
    EXPECT_THAT(MessageOf(LoadTask(text)), HasSubstr(word));
  }
}

TEST_F(TaskFileTest, MissingFileIsSaid) {
  const auto loaded = LoadTask("/nowhere/task.toml");
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kNoInput);
  EXPECT_THAT(loaded.error().fix, HasSubstr("a task's folder"));
}

// Recordings, stores and bundles are keyed by these.
TEST(BuiltInTask, KeepsItsIdentity) {
  EXPECT_EQ(TaskId(LoadTask("hgemm:64x64x64:TN")->task),
            "fb6dcbd2dbd2b31020a679f0acdc652b3e8c7dfaf51484f538bed70caf641919");
  EXPECT_EQ(TaskId(LoadTask("hgemm:64x64x64:NN")->task),
            "5893666dd5b74135fd464fd8ae0001d64ade1870162e0e3f9637e74e53dbbc0c");
  EXPECT_EQ(TaskId(HgemmTask("TN")), TaskId(LoadTask("hgemm:128x64x64:TN")->task));
  EXPECT_NE(TaskId(HgemmTask("TN", DType::kBF16)), TaskId(HgemmTask("TN")));
}

constexpr const char* kOwn = R"toml(
version = 1
name = "scale"
tensors = [
  { name = "index", dtype = "i32", role = "input", shape = ["n"], generator = "integers", low = 0, high = "n" },
  { name = "x", dtype = "f32", role = "input", shape = ["n"] },
  { name = "y", dtype = "f32", role = "output", shape = ["n"] },
]
baselines = ["current"]
allow = ["cublas"]
precision = "f32"
[reference]
kind = "cuda"
source = "reference.cu"
[[reference.plan.operations]]
type = "launch"
kernel = "reference"
grid = ["ceil_div(n, 256)", 1, 1]
block = [256, 1, 1]
arguments = [ { tensor = "x" }, { tensor = "y" }, { i64 = "n" } ]
[program]
declaration = "void run(const float* x, float* y, long n)"
arguments = ["x", "y", "n"]
[tolerance]
absolute = 1e-3
reason = "one rounding"
[[rivals]]
name = "current"
path = "current/candidate.toml"
[[workloads]]
name = "big"
sizes = { n = 1048576 }
[[workloads]]
name = "odd"
hidden = true
sizes = { n = 999 }
)toml";

class OwnTaskTest : public TaskFileTest {
 protected:
  OwnTaskTest() {
    std::filesystem::create_directory(folder_.path() / "current");
    Write("reference.cu", "// the reference");
    Write("current/mine.cu", "// mine");
    Write("current/candidate.toml", "version = 1\nform = \"program\"\nentry = \"mine.cu\"\n");
  }
  Result<LoadedTask> With(const std::string& old, const std::string& text) {
    std::string changed = kOwn;
    changed.replace(changed.find(old), old.size(), text);
    return LoadTask(Write("task.toml", changed));
  }
  void Refuses(const std::string& old, const std::string& text, const std::string& message) {
    const auto loaded = With(old, text);
    ASSERT_FALSE(loaded.ok()) << message;
    EXPECT_EQ(loaded.error().message.find(folder_.path().string()), 0u) << loaded.error().message;
    EXPECT_NE(loaded.error().message.find(message), std::string::npos) << loaded.error().message;
    EXPECT_EQ(loaded.error().Line().find('\n'), std::string::npos);
  }
};

TEST_F(OwnTaskTest, HoldsTheTextsThatTheFileNames) {
  const auto loaded = With("x", "x").value();
  const Task& task = loaded.task;
  EXPECT_EQ(task.reference.sources.at("reference.cu"), "// the reference");
  EXPECT_EQ(task.reference.options.at("entry"), "reference.cu");
  ASSERT_TRUE(task.reference.plan.has_value());
  EXPECT_EQ(task.reference.plan->operations.size(), 1u);
  EXPECT_EQ(task.forms, (std::vector<Form>{Form::kKernel, Form::kProgram}));
  ASSERT_EQ(task.rivals.size(), 1u);
  EXPECT_EQ(task.rivals[0].candidate.sources.at("mine.cu"), "// mine");
  EXPECT_EQ(task.tensors[0].generator, Generator::kIntegers);
  EXPECT_EQ(task.tensors[0].high.text(), "n");
  EXPECT_EQ(AllWorkloads(loaded).size(), 2u);
  EXPECT_EQ(AllWorkloads(LoadTask("hgemm:64x64x64").value()).at(0).name, "64x64x64");

  const nlohmann::json json = ToJson(task);  // the JSON form holds all of it
  const auto again = TaskFrom(JsonReader("json", json)).value();
  EXPECT_EQ(TaskId(again), TaskId(task));
}

TEST_F(OwnTaskTest, ReadsAPythonReference) {
  Write("reference.py", "def reference(x):\n  return x\n");
  std::string text = kOwn;
  const size_t begin = text.find("kind = \"cuda\""), end = text.find("[program]");
  text.replace(begin, end - begin,
               "kind = \"torch\"\nsource = \"reference.py\"\nstyle = \"function\"\n"
               "outputs = \"f32\"\n");
  const auto loaded = LoadTask(Write("task.toml", text)).value();
  EXPECT_EQ(loaded.task.reference.options,
            (std::map<std::string, std::string>{
                {"entry", "reference.py"}, {"outputs", "f32"}, {"style", "function"}}));
}

TEST_F(OwnTaskTest, RefusesWhatNoJudgeCouldUse) {
  Refuses("kind = \"cuda\"", "kind = \"magic\"", "reference.kind: 'magic' is unknown");
  Refuses("kind = \"cuda\"", "kind = \"torch\"", "reference.style: missing");
  Refuses("source = \"reference.cu\"", "", "reference.source: missing");
  Refuses("source = \"reference.cu\"", "source = \"../x.cu\"", "inside the task's folder");
  Refuses("path = \"current/", "path = \"../current/", "inside the task's folder");
  Refuses("source = \"reference.cu\"", "source = \"reference.cu\"\noutputs = \"i32\"",
          "reference.outputs: 'i32'");
  Refuses("type = \"launch\"", "type = \"lunch\"", "reference.plan.operations[0].type");
  Refuses("precision = \"f32\"", "precision = \"f31\"", "precision: 'f31'");
  Refuses("allow = [\"cublas\"]", "allow = [\"../cublas\"]", "allow: '../cublas'");
  Refuses("name = \"current\"", "name = \"torch-best\"", "rivals.torch-best: the name");
  Refuses("role = \"output\"", "role = \"input\"", "tensors: no output");
  Refuses("n = 999", "m = 999", "workload 'odd': tensor index");
  Refuses("n = 1048576", "n = 0", "task.toml: workload 'big': tensor index");
  Refuses("baselines", "baselinez", "baselinez");
  Refuses("reason = \"one rounding\"", "", "tolerance.reason");
}

TEST_F(OwnTaskTest, AProgramsEntryMustBeSaid) {
  std::string text = kOwn;
  const size_t begin = text.find("[program]"), end = text.find("[tolerance]");
  text.erase(begin, end - begin);
  EXPECT_THAT(MessageOf(LoadTask(Write("task.toml", text))),
              HasSubstr("rivals.current: a program"));
  EXPECT_THAT(MessageOf(LoadTask(Write("task.toml", "forms = [\"program\"]\n" + text))),
              HasSubstr("forms: has program"));
}

TEST_F(OwnTaskTest, ARivalIsOneCandidate) {
  Write("current/candidate.toml",
        "version = 1\nform = \"program\"\nentry = \"mine.cu\"\n[tunables]\nT = [1, 2]\n");
  Refuses("x", "x", "rivals[0].path: expected one candidate, not a family of 2");
}

}  // namespace
}  // namespace warpsmith::task
