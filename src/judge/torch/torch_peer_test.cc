// The PyTorch process at work, on host memory. Skipped where Python has no torch.
#include <gmock/gmock.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/frame.h"
#include "base/subprocess.h"
#include "judge/torch/tests/peer_memory.h"
#include "judge/torch/torch_process.h"

namespace warpsmith::torch {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TorchOnHost : public ::testing::Test {
 protected:
  // One process for all tests: none of them may disturb the next.
  static void SetUpTestSuite() {
    child_ =
        new ChildProcess(ChildProcess::Start(TorchPeerArgv(PeerMemory::kHost).value(), {}).value());
    const json reply = Call("start", {{"device_uuid", ""}});
    if (reply.contains("error")) absent_ = reply["error"]["message"];
  }
  static void TearDownTestSuite() {
    delete child_;
    child_ = nullptr;
  }
  void SetUp() override {
    if (!absent_.empty()) GTEST_SKIP() << absent_;
  }

  static void Send(const std::string& command, json fields, const std::vector<int>& files = {}) {
    fields["version"] = 1;
    fields["command"] = command;
    ASSERT_TRUE(SendFrame(child_->socket(), fields.dump(), {}, files).ok());
  }
  static json Receive() {
    const Result<Frame> reply = ReceiveFrame(child_->socket(), kPatience);
    EXPECT_TRUE(reply.ok()) << reply.error().Line();
    return reply.ok() ? json::parse(reply->header) : json();
  }
  static json Call(const std::string& command, json fields, const std::vector<int>& files = {}) {
    Send(command, std::move(fields), files);
    return Receive();
  }
  static json Done() { return {{"version", 1}}; }

  // `expected`: the type in which exact outputs are wanted; empty: the task's, with slots as well.
  void Map(const std::string& style, const std::map<std::string, std::string>& sources,
           const std::vector<Tensor>& tensors, const std::string& expected = "") {
    json options = options_;
    options["entry"] = "reference.py";
    options["style"] = style;
    json task{{"reference", {{"kind", "torch"}, {"options", options}, {"sources", sources}}}};
    json regions = json::array(), exact = json::array();
    std::vector<int> files, exact_files;
    arena_ = {};
    for (Tensor tensor : tensors) {
      task["tensors"].push_back(
          {{"name", tensor.name}, {"role", tensor.role}, {"dtype", tensor.dtype}});
      if (expected.empty()) {
        arena_.slots.push_back(std::make_unique<Region>(tensor, kSlots));
        regions.push_back(arena_.slots.back()->Description());
        files.push_back(arena_.slots.back()->file());
      } else if (tensor.role == "output") {
        tensor.dtype = expected;
      }
      arena_.exact.push_back(std::make_unique<Region>(tensor, 1));
      exact.push_back(arena_.exact.back()->Description());
      exact_files.push_back(arena_.exact.back()->file());
    }
    files.insert(files.end(), exact_files.begin(), exact_files.end());
    const json workload{{"name", "w"}, {"sizes", {{"n", 4}, {"m", 2}}}};
    EXPECT_EQ(Call("arena",
                   {{"task", task}, {"workload", workload}, {"regions", regions}, {"exact", exact}},
                   files),
              Done());
  }
  // The reply to a whole burst with call i on slots_of_calls[i].
  json Burst(
      const std::string& callee, const std::vector<std::vector<uint32_t>>& slots_of_calls,
      const std::function<void(uint32_t call)>& look = [](uint32_t) {}) {
    Page page(slots_of_calls.front().size());
    Send("burst", {{"callee", callee}, {"calls", slots_of_calls.size()}, {"warmup", false}},
         {page.file()});
    for (uint32_t i = 0; i < slots_of_calls.size(); ++i) {
      page.Release(i + 1, slots_of_calls[i]);
      EXPECT_TRUE(page.AwaitDone(i + 1));
      look(i);
    }
    return Receive();
  }
  std::span<float> Slot(size_t tensor, int64_t slot) const {
    return arena_.slots[tensor]->Slot<float>(slot);
  }
  std::span<float> Exact(size_t tensor) const { return arena_.exact[tensor]->Slot<float>(0); }

  static ChildProcess* child_;
  static std::string absent_;
  Arena arena_;
  json options_ = json::object();  // of the reference, beside entry and style
};
ChildProcess* TorchOnHost::child_ = nullptr;
std::string TorchOnHost::absent_;

const std::vector<Tensor> kScaled = {{"x", "input", "f32", {2, 4}}, {"y", "output", "f32", {2, 4}}};

TEST_F(TorchOnHost, AFunctionGetsTensorsAndSizes) {
  Map("function",
      {{"reference.py",
        "from shared.scale import scale\n"
        "def reference(x, *, n):\n    return scale(x) + n\n"},
       {"shared/scale.py", "def scale(x):\n    return x / 3\n"}},
      kScaled, "f64");
  for (size_t i = 0; i < 8; ++i) Exact(0)[i] = static_cast<float>(i);
  const json reply = Call("expect", json::object());
  EXPECT_EQ(reply.at("precision"), "f64");
  const auto y = arena_.exact[1]->Slot<double>(0);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(y[i], static_cast<double>(i) / 3 + 4) << i;
}

TEST_F(TorchOnHost, AReferenceThatCannotUseF64SaysWhatItUsed) {
  Map("function",
      {{"reference.py", "import torch\ndef reference(x):\n    return x @ torch.ones(4, 4)\n"}},
      kScaled, "f64");
  for (float& x : Exact(0)) x = 0.5;
  const json reply = Call("expect", json::object());
  EXPECT_EQ(reply.at("precision"), "f32");
  EXPECT_THAT(reply.at("text").get<std::string>(), HasSubstr("not in f64: reference.py:3"));
  for (const double y : arena_.exact[1]->Slot<double>(0)) EXPECT_EQ(y, 2);
}

TEST_F(TorchOnHost, AReferenceBeginsAtThePrecisionThatItsOptionNames) {
  const std::map<std::string, std::string> third = {
      {"reference.py", "def reference(x):\n    return x / 3\n"}};
  const auto expect_with = [&](const std::string& precision) {
    options_["precision"] = precision;
    Map("function", third, kScaled, "f64");
    Exact(0)[0] = 1;
    return Call("expect", json::object());
  };
  EXPECT_EQ(expect_with("f32").at("precision"), "f32");
  EXPECT_EQ(arena_.exact[1]->Slot<double>(0)[0], static_cast<double>(1.0F / 3));
  EXPECT_EQ(expect_with("f64").at("precision"), "f64");
  EXPECT_EQ(arena_.exact[1]->Slot<double>(0)[0], 1.0 / 3);
  EXPECT_THAT(expect_with("f8").at("error").dump(), HasSubstr("f8"));
}

TEST_F(TorchOnHost, AReferenceDoesNotWriteToItsInputs) {
  Map("function", {{"reference.py", "def reference(x):\n    return x.mul_(2)\n"}},
      {{"x", "input", "f64", {4}}, {"y", "output", "f64", {4}}}, "f64");
  const auto x = arena_.exact[0]->Slot<double>(0);
  std::fill(x.begin(), x.end(), 21);
  EXPECT_EQ(Call("expect", json::object()).at("precision"), "f64");
  EXPECT_EQ(x[3], 21);
  EXPECT_EQ(arena_.exact[1]->Slot<double>(0)[3], 42);
}

TEST_F(TorchOnHost, SeveralOutputsOfOtherTypes) {
  Map("function",
      {{"reference.py",
        "import torch\ndef reference(x):\n"
        "    top = torch.max(x, dim=1)\n    return top.values, top.indices\n"}},
      {{"x", "input", "f32", {2, 4}}, {"top", "output", "f32", {2}}, {"at", "output", "i64", {2}}});
  for (size_t i = 0; i < 8; ++i) Exact(0)[i] = i == 2 || i == 7 ? 9 : 1;
  EXPECT_EQ(Call("expect", json::object()).at("precision"), "f64");
  EXPECT_EQ(Exact(1)[1], 9);
  EXPECT_EQ(arena_.exact[2]->Slot<int64_t>(0)[0], 2);
  EXPECT_EQ(arena_.exact[2]->Slot<int64_t>(0)[1], 3);
}

// y = x * scale + offset: one parameter, one buffer, a number among the inputs.
constexpr const char* kAffine = R"py(
import torch
class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.inner = torch.nn.Module()
        self.inner.scale = torch.nn.Parameter(torch.randn(n))
        self.register_buffer("offset", torch.randn(n))
        self.calls = 0
    def forward(self, x, factor):
        return x * self.inner.scale * factor + self.offset
def get_inputs():
    return [torch.randn(2, 4), 3.0]
def get_init_inputs():
    return [4]
)py";
const std::vector<Tensor> kAffineTensors = {{"x", "input", "f32", {2, 4}},
                                            {"param:inner.scale", "input", "f32", {4}},
                                            {"param:offset", "input", "f32", {4}},
                                            {"y", "output", "f32", {2, 4}}};

TEST_F(TorchOnHost, AModuleDrawsItsInputsAndParameters) {
  Map("module", {{"reference.py", kAffine}}, kAffineTensors, "f64");
  const auto y = arena_.exact[3]->Slot<double>(0);
  const auto draw = [&](uint64_t seed) {
    EXPECT_EQ(Call("draw", {{"seed", seed}}).at("precision"), "f64");
    for (size_t i = 0; i < 8; ++i) {
      const double product = static_cast<double>(Exact(0)[i]) * Exact(1)[i % 4] * 3;
      EXPECT_NEAR(y[i], product + Exact(2)[i % 4], 1e-14);
    }
    return std::vector<double>(y.begin(), y.end());
  };
  const std::vector<double> first = draw(1), second = draw(uint64_t{1} << 63);
  EXPECT_NE(first, second);
  EXPECT_EQ(first, draw(1));
}

TEST_F(TorchOnHost, EagerTakesEveryTensorFromItsSlot) {
  Map("module", {{"reference.py", kAffine}}, kAffineTensors);
  const json loaded = Call("load", {{"callee", "eager"}, {"entry", ""}});
  EXPECT_THAT(loaded.at("text").get<std::string>(), AllOf(HasSubstr("torch 2"), HasSubstr("TF32")));
  for (int64_t slot = 0; slot < kSlots; ++slot) {
    for (size_t input = 0; input < 3; ++input) {
      for (float& value : Slot(input, slot)) {
        value = static_cast<float>(100 * input + 10 * static_cast<size_t>(slot) + 1);
      }
    }
  }
  const std::vector<std::vector<uint32_t>> calls = {
      {0, 1, 2, 0}, {2, 0, 1, 2}, {1, 1, 1, 1}, {2, 2, 0, 0}};
  const auto look = [&](uint32_t call) {
    const auto value = [&](size_t input) { return Slot(input, calls[call][input])[0]; };
    for (const float y : Slot(3, calls[call][3])) {
      EXPECT_EQ(y, value(0) * value(1) * 3 + value(2)) << call;
    }
  };
  EXPECT_EQ(Burst("eager", calls, look).at("calls"), 4);
  for (size_t input = 0; input < 3; ++input) std::fill(Exact(input).begin(), Exact(input).end(), 2);
  EXPECT_EQ(Call("check", {{"callee", "eager"}}), Done());
  EXPECT_EQ(Exact(3)[7], 14);
}

TEST_F(TorchOnHost, CompiledTakesEveryTensorFromItsSlot) {
  Map("module", {{"reference.py", kAffine}}, kAffineTensors);
  for (size_t input = 0; input < 3; ++input) {
    for (int64_t slot = 0; slot < kSlots; ++slot) {
      std::fill(Slot(input, slot).begin(), Slot(input, slot).end(), static_cast<float>(slot + 1));
    }
  }
  const json loaded = Call("load", {{"callee", "compile"}, {"entry", ""}});
  ASSERT_THAT(loaded.value("text", loaded.dump()), HasSubstr("compile"));
  EXPECT_EQ(Burst("compile", {{0, 1, 2, 0}, {2, 2, 0, 1}}).at("calls"), 2);
  EXPECT_EQ(Slot(3, 0)[0], 1 * 2 * 3 + 3);
  EXPECT_EQ(Slot(3, 1)[7], 3 * 3 * 3 + 1);
}

TEST_F(TorchOnHost, WhatTheCodeWritesIsSetAside) {
  Map("module", {{"reference.py", R"py(
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4, affine=False)
    def forward(self, x):
        x.add_(1)
        return self.norm(x)
def get_inputs():
    return [torch.randn(2, 4)]
)py"}},
      {{"x", "input", "f32", {2, 4}},
       {"param_norm_running_mean", "input", "f32", {4}},
       {"param_norm_running_var", "input", "f32", {4}},
       {"param_norm_num_batches_tracked", "input", "i64", {}},
       {"y", "output", "f32", {2, 4}}});
  for (size_t i = 0; i < 8; ++i) Slot(0, 0)[i] = Exact(0)[i] = static_cast<float>(i * i);
  const json loaded = Call("load", {{"callee", "eager"}, {"entry", ""}});
  EXPECT_THAT(loaded.at("text").get<std::string>(),
              AllOf(HasSubstr("copied before each call: x;"),
                    HasSubstr("kept apart: param_norm_running_mean, param_norm_running_var, "
                              "param_norm_num_batches_tracked")));
  const std::vector<std::vector<uint32_t>> calls(5, {0, 0, 0, 0, 0});
  EXPECT_EQ(Burst("eager", calls).at("calls"), 5);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(Slot(0, 0)[i], static_cast<float>(i * i));
  EXPECT_EQ(Slot(1, 0)[3], 0);
  EXPECT_EQ(arena_.slots[3]->Slot<int64_t>(0)[0], 0);
  EXPECT_NEAR(Slot(4, 0)[0], -1, 1e-4) << "of two values, the smaller";
}

TEST_F(TorchOnHost, StateThatCallsDependOnIsFilledAnew) {
  Map("module", {{"reference.py", R"py(
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(4))
    def forward(self, x):
        self.total += 1
        return x + self.total
def get_inputs():
    return [torch.randn(2, 4)]
)py"}},
      {{"x", "input", "f32", {2, 4}},
       {"param:total", "input", "f32", {4}},
       {"y", "output", "f32", {2, 4}}});
  const json loaded = Call("load", {{"callee", "eager"}, {"entry", ""}});
  EXPECT_THAT(loaded.at("text").get<std::string>(),
              HasSubstr("copied before each call: param:total"));
  const auto change = [&](uint32_t call) {  // as when contents change places under way
    EXPECT_EQ(Slot(2, 0)[0], static_cast<float>(10 * call + 1));
    Slot(1, 0)[0] = static_cast<float>(10 * (call + 1));
  };
  EXPECT_EQ(Burst("eager", {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, change).at("calls"), 3);
}

TEST_F(TorchOnHost, AnEmptyBurstNeedsNoCallee) {
  Map("function", {{"reference.py", "def reference(x):\n    return x\n"}}, kScaled);
  EXPECT_EQ(Burst("null", std::vector<std::vector<uint32_t>>(50, {0, 0})).at("calls"), 50);
  EXPECT_TRUE(Call("load", {{"callee", "eager"}, {"entry", ""}}).contains("text"));
  EXPECT_EQ(Burst("null", std::vector<std::vector<uint32_t>>(50, {2, 1})).at("calls"), 50);
}

struct Mistake {
  const char* name;
  const char* style;
  const char* source;
  const char* said;
};

TEST_F(TorchOnHost, MistakesInTheFileAreNamedAndSurvived) {
  constexpr const char* kFunction = "function";
  constexpr const char* kModule = "module";
  const Mistake mistakes[] = {
      {"syntax", kFunction, "x = 1\ndef reference(x)\n", "reference.py:2: "},
      {"import", kFunction, "import not_installed_anywhere\n", "not_installed_anywhere"},
      {"no function", kFunction, "x = 1\n", "reference.py defines no reference"},
      {"no class", kModule, "def get_inputs():\n    return []\n", "reference.py defines no Model"},
      {"raises", kFunction, "def reference(x):\n    return x @ x @ x\n", "reference.py:2: "},
      {"exits", kFunction, "import sys\ndef reference(x):\n    sys.exit(0)\n", "SystemExit"},
      {"count", kFunction, "def reference(x):\n    return x, x\n", "2 outputs, the task has 1"},
      {"shape", kFunction, "def reference(x):\n    return x.T\n", "shape (4, 2)"},
      {"kind", kFunction, "def reference(x):\n    return x > 0\n", "y is bool, the task says f"},
      {"not a tensor", kFunction, "def reference(x):\n    return 'x'\n", "y is a str"},
      {"arguments", kFunction, "def reference():\n    return 1\n", "TypeError"},
      {"inputs", kModule,
       "import torch\nModel = torch.nn.ReLU\ndef get_inputs():\n    return [[1]]\n",
       "get_inputs() returned a list at position 0"},
      {"no inputs", kModule,
       "import torch\nModel = torch.nn.ReLU\ndef get_inputs():\n    return []\n",
       "input x is no parameter"},
      {"too many inputs", kModule,
       "import torch\nModel = torch.nn.ReLU\n"
       "def get_inputs():\n    return [torch.ones(2, 4)] * 2\n",
       "returns 2 tensors, the task has 1"},
  };
  for (const Mistake& mistake : mistakes) {
    SCOPED_TRACE(mistake.name);
    for (const char* expected : {"f64", ""}) {
      Map(mistake.style, {{"reference.py", mistake.source}}, kScaled, expected);
      const bool reference = *expected != '\0';
      const json reply = reference ? Call("expect", json::object())
                                   : Call("load", {{"callee", "eager"}, {"entry", ""}});
      ASSERT_TRUE(reply.contains("error")) << reply;
      EXPECT_EQ(reply["error"]["code"], Describe(ErrorCode::kBadInput).exit_status);
      EXPECT_THAT(reply["error"]["message"].get<std::string>(), HasSubstr(mistake.said));
      EXPECT_NE(reply["error"]["fix"], "");
      EXPECT_EQ(reply["error"]["message"].get<std::string>().find('\n'), std::string::npos);
    }
  }
  Map("function", {{"reference.py", "def reference(x):\n    return x + 1\n"}}, kScaled);
  EXPECT_EQ(Call("expect", json::object()).at("precision"), "f64") << "it goes on";
}

TEST_F(TorchOnHost, ADrawOfTheWrongShapeIsNamed) {
  Map("module",
      {{"reference.py",
        "import torch\nModel = torch.nn.ReLU\n"
        "def get_inputs():\n    return [torch.randn(4, 2)]\n"}},
      kScaled, "f64");
  const json error = Call("draw", {{"seed", 1}}).at("error");
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr("drawn with shape (4, 2)"));
}

TEST_F(TorchOnHost, AnArenaThatDoesNotFitItsMemoryIsRefused) {
  Region small({"x", "input", "f32", {4}}, 1);
  json description = small.Description();
  description["slots"] = 1000;
  const json task{{"reference", {{"kind", "torch"}}},
                  {"tensors", {{{"name", "x"}, {"role", "input"}, {"dtype", "f32"}}}}};
  const json workload{{"name", "w"}, {"sizes", json::object()}};
  const auto map = [&](const json& region, std::vector<int> files) {
    return Call(
        "arena",
        {{"task", task}, {"workload", workload}, {"regions", json::array()}, {"exact", {region}}},
        files);
  };
  EXPECT_THAT(map(description, {small.file()}).dump(), HasSubstr("is not in the mapping"));
  EXPECT_THAT(map(small.Description(), {}).dump(), HasSubstr("1 regions, 0 descriptors"));
  EXPECT_EQ(map(small.Description(), {small.file()}), Done());
}

}  // namespace
}  // namespace warpsmith::torch
