// Parts composed with PyTorch on the CPU. Skipped where Python has no torch.

#include "agent/split/composition.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "agent/split/tests/split.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "embedded/split_scripts.h"
#include "judge/torch/torch_process.h"
#include "task/task_file.h"

namespace warpsmith::split {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class CompositionTest : public testing::Test {
 protected:
  void SetUp() override {
    static const bool has_torch = HasTorch();
    if (!has_torch) GTEST_SKIP() << "no torch here";
    WriteTestSplit(folder_.path());
  }

  std::filesystem::path At(const std::string& path) const { return folder_.path() / path; }
  Result<Proof> Run(Author author = Author::kUser) const {
    const Task whole = TRY(task::LoadTask(At("whole").string())).task;
    return Prove(whole, TRY(LoadSplit(At("split"), whole)), author, std::chrono::seconds(240));
  }
  void Refuses(const std::string& message, Author author = Author::kUser) const {
    const auto proof = Run(author);
    ASSERT_FALSE(proof.ok()) << message;
    EXPECT_EQ(proof.error().code, ErrorCode::kBadInput) << proof.error().Line();
    EXPECT_THAT(proof.error().message, HasSubstr(message));
    EXPECT_EQ(proof.error().Line().find('\n'), std::string::npos);
  }
  void PutReference(const std::string& text) const {
    WriteTest(At("split/softmax/reference.py"), text);
  }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("composition").value();
};

TEST_F(CompositionTest, ProvesPartsThatAreTheWhole) {
  const auto proof = Run(Author::kModel);
  ASSERT_TRUE(proof.ok()) << proof.error().Line();
  EXPECT_EQ(proof->comparisons, 4) << "two workloads, two drawings";
  EXPECT_GT(proof->worst, 0) << "the output is rounded to f16";
  EXPECT_LE(proof->worst, 1);
  EXPECT_THAT(proof->confined, StartsWith(sandbox::Name(sandbox::Probe().value().level)));
}

TEST_F(CompositionTest, RefusesPartsThatAreNot) {
  ChangeTest(At("split/product/reference.py"), "torch.relu(x @ w + bias)", "x @ w + bias");
  Refuses("workload 'small': the parts do not compose to the whole: output y");
}

TEST_F(CompositionTest, SaysWhereATypeBetweenPartsIsTooNarrow) {
  ChangeTest(At("split/product/task.toml"), "\"h\", dtype = \"f32\"", "\"h\", dtype = \"bf16\"");
  ChangeTest(At("split/softmax/task.toml"), "\"rows\", dtype = \"f32\"",
             "\"rows\", dtype = \"bf16\"");
  Refuses("the parts are right but lose too much between them: output y");
}

// What i64 does not hold of a difference is no small one.
TEST_F(CompositionTest, RefusesWholeNumbersThatAreFarOff) {
  WriteTest(At("whole/reference.py"),
            "import torch\n\n\ndef reference(x, w, bias):\n"
            "    return torch.relu(x @ w + bias).long()\n");
  ChangeTest(At("whole/task.toml"), "\"y\", dtype = \"f16\"", "\"y\", dtype = \"i64\"");
  ChangeTest(At("split/softmax/task.toml"), "\"y\", dtype = \"f16\"", "\"y\", dtype = \"i64\"");
  ChangeTest(At("split/product/task.toml"), "\"f32\"", "\"f64\"");
  ChangeTest(At("split/softmax/task.toml"), "\"f32\"", "\"f64\"");
  PutReference("def reference(rows):\n    return rows.long() + -2**63\n");
  Refuses("the parts do not compose to the whole: output y", Author::kModel);
  PutReference("def reference(rows):\n    return rows.long()\n");
  const auto proof = Run(Author::kModel);
  EXPECT_TRUE(proof.ok()) << proof.error().Line();
}

TEST_F(CompositionTest, RefusesATaskThatZerosPass) {
  ChangeTest(At("whole/task.toml"), "reduction_length = \"K\"",
             "absolute = 2.0\nrelative = 0.0\nreason = \"a test\"");
  Refuses("zeros alone are within the whole's tolerance");
}

TEST_F(CompositionTest, RefusesPartsThatCannotBeJudgedAlone) {
  ChangeTest(At("split/product/task.toml"), "reduction_length = \"K\"",
             "absolute = 1000.0\nrelative = 0.0\nreason = \"a test\"");
  Refuses("product: h would pass as zeros, so wide is the part's tolerance");
  WriteTestSplit(folder_.path());
  ChangeTest(At("split/product/reference.py"), "torch.relu(x @ w + bias)",
             "torch.relu(x @ w + bias).log()");
  PutReference(
      "import torch\n\n\ndef reference(rows):\n    return torch.softmax(rows.exp(), -1)\n");
  Refuses("product: h holds infinite or no numbers");
  WriteTestSplit(folder_.path());
  ChangeTest(At("split/product/task.toml"), "reduction_length = \"K\"",
             "reduction_length = \"1000000 * K\"");
  Refuses("part 'product': its reduction_length, 32000000, is more than all its tensors hold");
}

TEST_F(CompositionTest, SaysWhichReferenceFailsAndWhere) {
  PutReference("def reference(rows):\n    return rows.no_such_method()\n");
  Refuses("softmax: reference.py:2:");
  PutReference("def reference(rows):\n    return rows[0]\n");
  Refuses("output y has shape");
}

// What the rules say of each text: empty where it may run. One process: importing torch takes long.
Result<std::vector<std::string>> Judged(const std::vector<std::string>& texts) {
  const TemporaryDirectory folder = TRY(TemporaryDirectory::Create("rules"));
  for (const EmbeddedFile& file : embedded::SplitScripts()) {
    const std::string path(file.path);
    TRY(WriteFileAtomic(folder.path() / path.substr(path.rfind('/') + 1), file.contents));
  }
  TRY(WriteFileAtomic(folder.path() / "texts.json", nlohmann::json(texts).dump()));
  const std::string program =
      "import json\nsys.path.insert(0, sys.argv[1])\n"
      "from reference_rules import check_reference\n"
      "from warpsmith_peer.failures import Failure\nsaid = []\n"
      "for text in json.load(open(sys.argv[1] + '/texts.json')):\n"
      "    try:\n        check_reference('reference.py', text)\n        said.append('')\n"
      "    except Failure as failure:\n        said.append(failure.message)\n"
      "json.dump(said, open(sys.argv[1] + '/said.json', 'w'))\n";
  TRY(RunProcess(
      {TRY(torch::FindPython()), "-c", torch::PeerProgram(program), folder.path().string()},
      ProcessLimits()));
  return nlohmann::json::parse(TRY(ReadFile(folder.path() / "said.json")))
      .get<std::vector<std::string>>();
}

// All of these come from a model's reply and would run as the user.
TEST_F(CompositionTest, AModelsReferenceHoldsArithmeticOnly) {
  constexpr char kLines[] =
      "open('/etc/passwd')|__import__('os')|getattr(rows, 'numpy')|rows.numpy()|"
      "torch.load('x')|torch.save(rows, 'x')|torch.hub.load('a', 'b')|"
      "torch.ops.load_library('x')|torch.utils.cpp_extension.load('x', [])|"
      "torch.from_file('x')|().__class__|rows.__class__|rows._version|rows.untyped_storage()|"
      "eval('1')|(lambda: 1)()|torch.nn.Linear(1, 1)|[torch][0].load('x')|"
      "torch.Tensor.numpy(rows)|f'{rows}'|rows.set_(rows)|''.format(rows)|"
      "torch.nn.functional.torch.load('x')|torch.float32.__class__|torch.compile(rows)|"
      "torch.Tensor(cdata=8)|rows.new(cdata=8)|rows.const_data_ptr()|"
      "rows.as_strided((9,), (1,), 1 << 40)|rows.to_sparse_csr()|torch.empty_like(rows)|"
      "rows.new_empty(9)|torch.bernoulli(rows)|rows.uniform_()|torch.where = rows|"
      "rows.data = rows|rows.T += 1|[0 for torch.where in [rows]]|x, torch.where = rows, rows|"
      "(torch := rows)|torch = rows|rows.tolist().__iter__()|F.relu(rows)|math.os|print(rows)|"
      "type(rows)|__builtins__|rows.to('meta')|rows.to(device='meta')|"
      "torch.zeros(2, device='meta')|places = ['meta']|[].append('meta')|torch.zeros(*'ab')|"
      "torch.add(rows, 1, out=rows)|torch.add(rows, **rows)|"
      "[rows.repeat_interleave][0](rows, output_size=1)|rows.to(torch.split('meta', 'x')[0])|"
      "nn.functional.scaled_dot_product_attention(rows, rows, rows, dropout_p=0.5)|"
      "nn.functional.scaled_dot_product_attention(rows, rows, rows, None, 0.5)|"
      "[nn.functional.scaled_dot_product_attention]";
  std::vector<std::string> texts;
  for (const std::string_view line : Split(kLines, '|')) {
    texts.push_back("import torch\nimport math\nfrom torch import nn\ndef reference(rows):\n    " +
                    std::string(line) + "\n    return rows\n");
  }
  const auto said = Judged(texts);
  ASSERT_TRUE(said.ok()) << said.error().Line();
  ASSERT_EQ(said->size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_THAT((*said)[i], StartsWith("reference.py:5: ")) << texts[i];
    EXPECT_THAT((*said)[i], HasSubstr("is not allowed")) << texts[i];
  }
}

TEST_F(CompositionTest, AModelsFileDoesNothingByItself) {
  std::vector<std::string> texts = {"import os\nimport torch",
                                    "from torch import load\nimport torch",
                                    "from os import path",
                                    "import torch.hub",
                                    "import torch\nfrom . import x",
                                    "import torch\nprint(1)",
                                    "import torch\nwhile True:\n    pass",
                                    "import torch\n\nclass A:\n    pass",
                                    "import torch\nimport math as torch",
                                    "@print\ndef f():\n    pass\nimport torch",
                                    "import torch\ntorch = 1",
                                    "def open():\n    pass",
                                    "import torch as open",
                                    "def f(torch):\n    pass\nimport torch",
                                    "def f(__builtins__):\n    pass",
                                    "def f(open):\n    pass\nopen('x')",
                                    "def f(x=open('x')):\n    pass",
                                    "def f(x: open('x')):\n    pass",
                                    "import torch\ndef f(x: torch.Tensor(cdata=8)):\n    pass",
                                    "import torch\ndef f(x=torch.Tensor):\n    pass",
                                    "import torch\nimport torch.nn.functional as F\nF.relu = 1",
                                    "import torch\ndef g(L):\n    def f(a: [0 for L[0] in "
                                    "[torch.Tensor]]):\n        pass\n    L[0](cdata=8)",
                                    "def f(a: [0 for x in 'ab']):\n    pass",
                                    "def f(x=b'ab'):\n    pass",
                                    "def f(x='meta'):\n    pass"};
  for (std::string& text : texts) text += "\n\ndef reference(rows):\n    return rows\n";
  texts.emplace_back("def reference(rows):\n    return (rows\n");
  texts.emplace_back("import torch\n\ndef reference(rows):\n    return torch.relu(rows)\n");
  const auto said = Judged(texts);
  ASSERT_TRUE(said.ok()) << said.error().Line();
  ASSERT_EQ(said->size(), texts.size());
  EXPECT_EQ(said->back(), "");
  EXPECT_EQ((*said)[texts.size() - 2], "reference.py:2: it is no Python: SyntaxError");
  for (size_t i = 0; i + 2 < texts.size(); ++i) {
    EXPECT_THAT((*said)[i], HasSubstr("is not allowed")) << texts[i];
  }
}

// A reference that counts its calls could be right where it is proven, and wrong later.
TEST_F(CompositionTest, AModelsReferenceRemembersNothing) {
  std::vector<std::string> texts = {"CALLS = [0]",
                                    "CALLS = torch.zeros(1)",
                                    "CALLS = (i for i in range(9))",
                                    "CALLS = ([],)",
                                    "CALLS = zip((1,))",
                                    "def f(x, calls=[]):\n    return x",
                                    "A = B = list(())",
                                    "def float(x):\n    return [x]\nCALLS = float(0)"};
  const size_t refused = texts.size();
  for (const char* fine : {"EPS = 1e-5\nSHAPE = (2, -3)\nINF = -float('inf')",
                           "SCALE = 1 / math.sqrt(2)\nSMALL = torch.finfo(torch.float32).min",
                           "DTYPE = torch.float32\ndef f(x, n=3, *, d=DTYPE):\n    return x"}) {
    texts.emplace_back(fine);
  }
  for (std::string& text : texts) {
    text = "import math\nimport torch\n" + text + "\ndef reference(rows):\n    return rows\n";
  }
  const auto said = Judged(texts);
  ASSERT_TRUE(said.ok()) << said.error().Line();
  ASSERT_EQ(said->size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    EXPECT_THAT((*said)[i], HasSubstr(i < refused ? "outside of a function" : "")) << texts[i];
    EXPECT_EQ((*said)[i].empty(), i >= refused) << (*said)[i];
  }
}

TEST_F(CompositionTest, SaysWhatIsNotImported) {
  const auto said = Judged({"import torch\n\ndef reference(rows):\n    return F.relu(rows)\n"});
  ASSERT_TRUE(said.ok()) << said.error().Line();
  EXPECT_THAT(said->front(), StartsWith("reference.py:4: 'F', which nothing defines, is not"));
}

TEST_F(CompositionTest, NothingOfWhatARefusedReferenceHoldsIsRun) {
  PutReference("import torch\nopen('" + At("written").string() +
               "', 'w')\n\n\ndef reference(rows):\n    return torch.softmax(rows, dim=-1)\n");
  Refuses("softmax/reference.py:2: 'open' is not allowed", Author::kModel);
  EXPECT_FALSE(std::filesystem::exists(At("written")));
}

// Tensors are often called what Python calls something of its own.
TEST_F(CompositionTest, AParameterMayHaveANameOfPythons) {
  PutReference(
      "import torch\nfrom torch import nn\n\n\n"
      "def rows_of(input: torch.Tensor, *, hash: int = 1) -> torch.Tensor:\n"
      "    assert input.dim() == 2, 'rows'\n    input = input * hash\n"
      "    return nn.functional.softmax(input, dim=-1)\n\n\n"
      "def reference(filter, *, N) -> tuple[torch.Tensor, ...]:\n"
      "    return rows_of(filter)\n");
  // Generic types are no arithmetic, but nothing happens in them.
  ChangeTest(At("split/softmax/reference.py"), "tuple[torch.Tensor, ...]", "tuple[torch.Tensor]");
  const auto proof = Run(Author::kModel);
  EXPECT_TRUE(proof.ok()) << proof.error().Line();
}

// These pass no rules, being a user's: the process that runs them decides nothing.
TEST_F(CompositionTest, ReferencesCannotProveThemselves) {
  const std::string begin = "import torch\n\n\n";
  PutReference(begin +
               "torch.where = lambda a, b, c: torch.zeros_like(b)\n"
               "torch.Tensor.max = lambda self: torch.zeros(())\n\n\n"
               "def reference(rows):\n    return torch.relu(rows)\n");
  Refuses("the parts do not compose to the whole");
  PutReference(begin + "def reference(rows):\n    return torch.empty_like(rows)\n");
  Refuses("the parts do not compose to the whole");
  PutReference("import gc\n" + begin +
               "def reference(rows):\n    found = [x for x in gc.get_objects()\n"
               "             if isinstance(x, torch.Tensor) and x.shape == rows.shape\n"
               "             and x.dtype == torch.float64 and x.max() <= 1 and x.min() > 0]\n"
               "    return found[0] if found else torch.zeros_like(rows)\n");
  Refuses("the parts do not compose to the whole");
}

TEST_F(CompositionTest, SaysThatTheProcessOfThePartsBrokeOff) {
  PutReference("import os\n\n\ndef reference(rows):\n    os._exit(3)\n");
  Refuses("the process that runs the parts broke off (status 3)");
}

TEST_F(CompositionTest, PartsOfAModelThatTakeTooLongAreItsFault) {
  const Task whole = task::LoadTask(At("whole").string()).value().task;
  const std::vector<Part> parts = LoadSplit(At("split"), whole).value();
  for (const auto& [author, code] : {std::pair(Author::kModel, ErrorCode::kBadInput),
                                     std::pair(Author::kUser, ErrorCode::kUnavailable)}) {
    const auto proof = Prove(whole, parts, author, std::chrono::seconds(0));
    ASSERT_FALSE(proof.ok());
    EXPECT_EQ(proof.error().code, code);
    EXPECT_THAT(proof.error().Line(), HasSubstr("did not end within 0 s"));
  }
}

TEST_F(CompositionTest, TheWholeIsLookedAtAlone) {
  const auto look = [&] {
    return ProveWhole(task::LoadTask(At("whole").string()).value().task, std::chrono::seconds(240));
  };
  const Status good = look();
  EXPECT_TRUE(good.ok()) << good.error().Line();
  ChangeTest(At("whole/reference.py"), "torch.softmax(", "torch.log(-1 - ");
  ChangeTest(At("whole/reference.py"), ", dim=-1)", "** 2)");
  EXPECT_THAT(look().error().message, HasSubstr("gives infinite or no numbers for y"));
}

TEST_F(CompositionTest, AModelMayUseWhatTensorsNeed) {
  PutReference(
      "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\n"
      "SCALE = 2.0\n\n\ndef rows_of(rows):\n    largest = rows.amax(dim=-1, keepdim=True)\n"
      "    e = torch.exp((rows - largest) * SCALE / math.sqrt(4.0))\n"
      "    assert (rows - rows.max(dim=-1, keepdim=True).values <= 0).all(), 'the largest'\n"
      "    return nn.functional.relu(e)\n\n\n"
      "def reference(rows, *, N):\n    parts = []\n    for i in range(2):\n"
      "        parts.append(rows[:, i * (N // 2):(i + 1) * (N // 2) if i == 0 else N])\n"
      "    e = rows_of(torch.cat(parts, dim=1))\n"
      "    zeros = torch.zeros_like(e, dtype=e.dtype)\n"
      "    return torch.where(e > 0, e, zeros) / torch.linalg.vector_norm(\n"
      "        e, ord=1, dim=-1, keepdim=True) + 0 * F.gelu(zeros)\n");
  const auto proof = Run(Author::kModel);
  EXPECT_TRUE(proof.ok()) << proof.error().Line();
}

}  // namespace
}  // namespace warpsmith::split

int main(int argc, char** argv) { return warpsmith::split::MainOfTests(argc, argv); }

namespace warpsmith::split {
namespace {

namespace fs = std::filesystem;

class ConfinedTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto reached = sandbox::Probe();
    ASSERT_TRUE(reached.ok()) << reached.error().Line();
    if (reached->level == sandbox::Level::kNone) GTEST_SKIP() << "no sandbox here";
    ASSERT_TRUE(CreateDirectories(At("ours") / kScratch).ok());
    ASSERT_TRUE(WriteFileAtomic(At("ours/told"), "told\n").ok());
    ASSERT_TRUE(WriteFileAtomic(At("kept"), "kept\n").ok());
    ASSERT_TRUE(sandbox::GiveToUnprivileged(folder_.path()).ok());
  }
  fs::path At(const std::string& name) const { return folder_.path() / name; }

  // What a shell says that a confined process becomes.
  std::string Say(const std::string& script) const {
    const fs::path said = At("said");
    const int file = open(said.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    const pid_t child = fork();
    if (child == 0) {
      dup2(file, 1);
      dup2(file, 2);
      _exit(ConfinedMain({At("ours").string(), "--", "/bin/sh", "-c", script, "1"}));
    }
    close(file);
    int status = 0;
    waitpid(child, &status, 0);
    return ReadFile(said).value();
  }

  const TemporaryDirectory folder_ = TemporaryDirectory::Create("confined").value();
};

TEST_F(ConfinedTest, ReadsWhatItIsGivenAndIsToldWhereItIs) {
  EXPECT_EQ(Say("read -r x <told && echo $x"), "told\n");
  EXPECT_EQ(Say("echo $WARPSMITH_CONFINED").substr(0, 2),
            sandbox::Name(sandbox::Probe().value().level));
}

TEST_F(ConfinedTest, ReadsNothingElseAndWritesInItsScratchOnly) {
  EXPECT_EQ(Say("echo x >scratch/x && echo yes"), "yes\n");
  EXPECT_EQ(Say("(read -r x <" + At("kept").string() + ") 2>&- || echo no"), "no\n");
  EXPECT_EQ(Say("(read -r x </etc/passwd) 2>&- || echo no"), "no\n");
  for (const fs::path& path : {At("ours/told"), At("ours/new"), At("new"), fs::path("/tmp/new")}) {
    EXPECT_EQ(Say("(echo x >" + path.string() + ") 2>&- || echo no"), "no\n") << path;
  }
}

TEST_F(ConfinedTest, SeesNoSecretsAndNoNetwork) {
  setenv("WARPSMITH_TEST_API_KEY", "secret", 1);
  setenv("OPENAI_API_KEY", "secret", 1);
  EXPECT_EQ(Say("echo \"$WARPSMITH_TEST_API_KEY$OPENAI_API_KEY.\""), ".\n");
  if (!fs::exists("/bin/bash")) return;
  // Nothing listens there; but a socket is not even made.
  const std::string said = Say("exec /bin/bash -c 'echo </dev/tcp/127.0.0.1/9'");
  EXPECT_EQ(said.find("refused"), said.npos) << said;
  EXPECT_NE(said.find("socket: "), said.npos) << said;
}

TEST(ConfinedMain, SaysHowItIsUsed) {
  EXPECT_EQ(ConfinedMain({}), 2);
  EXPECT_EQ(ConfinedMain({"--", "sh", "1"}), 2);
  EXPECT_EQ(ConfinedMain({"/tmp", "--", "sh"}), 2);
}

}  // namespace

}  // namespace warpsmith::split
