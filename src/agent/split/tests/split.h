// A task and its parts on disk, for tests: y = softmax(relu(x w + bias)).
#ifndef WARPSMITH_AGENT_SPLIT_TESTS_SPLIT_H_
#define WARPSMITH_AGENT_SPLIT_TESTS_SPLIT_H_

#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "agent/split/composition.h"
#include "base/file.h"
#include "base/subprocess.h"
#include "judge/torch/torch_process.h"

namespace warpsmith::split {

inline const std::string kTestWorkloads =
    "workloads = [\n  { name = \"small\", sizes = { M = 64, N = 96, K = 32 } },\n"
    "  { name = \"odd\", sizes = { M = 61, N = 37, K = 19 }, hidden = true },\n]\n";

// One tensor a line: "x f16 input M K".
inline std::string TestTask(const std::string& name, const std::string& tensors,
                            const std::string& reduction) {
  return "version = 1\nname = \"" + name + "\"\nbaselines = [\"torch-best\"]\n" + kTestWorkloads +
         "tensors = [\n" + tensors +
         "]\n[reference]\nkind = \"torch\"\nsource = \"reference.py\"\nstyle = \"function\"\n"
         "[tolerance]\nreduction_length = \"" +
         reduction + "\"\n";
}

inline std::string TestTensor(const std::string& name, const std::string& dtype,
                              const std::string& role, const std::string& shape) {
  return "  { name = \"" + name + "\", dtype = \"" + dtype + "\", role = \"" + role +
         "\", shape = [" + shape + "] },\n";
}

inline void WriteTest(const std::filesystem::path& path, const std::string& text) {
  CHECK(CreateDirectories(path.parent_path()).ok());
  CHECK(WriteFileAtomic(path, text).ok());
}

inline const std::string kTestSources =
    "whole = \"../whole\"\nparts = [\n"
    "  { name = \"softmax\", tensors = { rows = \"h\" } },\n  { name = \"product\" },\n]\n";

// whole/, and split/ with its parts listed in the other order and a tensor under another name.
inline void WriteTestSplit(const std::filesystem::path& folder) {
  const std::string inputs = TestTensor("x", "f16", "input", "\"M\", \"K\"") +
                             TestTensor("w", "f16", "input", "\"K\", \"N\"") +
                             TestTensor("bias", "f16", "input", "\"N\"");
  const std::string y = TestTensor("y", "f16", "output", "\"M\", \"N\"");
  WriteTest(folder / "whole/task.toml", TestTask("mlp", inputs + y, "K"));
  WriteTest(folder / "whole/reference.py",
            "import torch\n\n\ndef reference(x, w, bias):\n"
            "    return torch.softmax(torch.relu(x @ w + bias), dim=-1)\n");
  WriteTest(folder / "split/product/task.toml",
            TestTask("product", inputs + TestTensor("h", "f32", "output", "\"M\", \"N\""), "K"));
  WriteTest(folder / "split/product/reference.py",
            "import torch\n\n\ndef reference(x, w, bias):\n    return torch.relu(x @ w + bias)\n");
  WriteTest(folder / "split/softmax/task.toml",
            TestTask("softmax", TestTensor("rows", "f32", "input", "\"M\", \"N\"") + y, "N"));
  WriteTest(folder / "split/softmax/reference.py",
            "import torch\n\n\ndef reference(rows):\n    return torch.softmax(rows, dim=-1)\n");
  WriteTest(folder / "split/parts.toml", "version = 1\n" + kTestSources);
}

// Words of a file changed; they must be there.
inline void ChangeTest(const std::filesystem::path& path, const std::string& from,
                       const std::string& to) {
  std::string text = ReadFile(path).value();
  const size_t at = text.find(from);
  CHECK(at != std::string::npos);
  WriteTest(path, text.replace(at, from.size(), to));
}

inline bool HasTorch() {
  const auto python = torch::FindPython();
  if (!python.ok()) return false;
  const auto ran = RunProcess({*python, "-c", "import torch"}, ProcessLimits());
  return ran.ok() && ran->exit_status == 0 && ran->signal == 0;
}

// The parts of a model run confined, in what the tests' own program becomes.
inline int MainOfTests(int argc, char** argv) {
  if (argc > 1 && argv[1] == kConfinedSubcommand) return ConfinedMain({argv + 2, argv + argc});
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}

// What a model might say for the same split.
inline const std::string kTestReply =
    "Two parts.\n\n```json\n{\"parts\": [\n"
    "  {\"name\": \"product\", \"reduction_length\": \"K\",\n"
    "   \"inputs\": [{\"name\": \"x\"}, {\"name\": \"w\"}, {\"name\": \"bias\"}],\n"
    "   \"outputs\": [{\"name\": \"h\", \"dtype\": \"f32\", \"shape\": [\"M\", \"N\"]}]},\n"
    "  {\"name\": \"softmax\", \"reduction_length\": \"N\",\n"
    "   \"inputs\": [{\"name\": \"h\", \"generator\": \"unit\"}],\n"
    "   \"outputs\": [{\"name\": \"y\"}]}]}\n```\n\n"
    "```python\nimport torch\nimport torch.nn.functional as F\n\n"
    "def reference(x, w, bias):\n    return F.relu(torch.matmul(x, w) + bias)\n```\n\n"
    "```python\nimport torch\n\n"
    "def reference(h, *, N):\n    return torch.softmax(h, dim=-1)\n```\n";

}  // namespace warpsmith::split

#endif  // WARPSMITH_AGENT_SPLIT_TESTS_SPLIT_H_
