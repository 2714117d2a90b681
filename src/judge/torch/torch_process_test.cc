#include "judge/torch/torch_process.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/frame.h"
#include "base/subprocess.h"

namespace warpsmith::torch {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr milliseconds kPatience{60'000};

// Sends each frame back: its header and payload, its descriptors, their files' sizes, and how many
// descriptors the process has open. Tells of a broken frame before it ends.
constexpr const char* kEcho = R"(
import os
from warpsmith_peer.frames import Closed, FrameError, FrameSocket

frames = FrameSocket(int(sys.argv[-1]))
try:
    while True:
        frame = frames.receive()
        sizes = [os.fstat(number).st_size for number in frame.descriptors]
        opened = len(os.listdir("/proc/self/fd")) - len(sizes)
        frames.send({"header": frame.header.decode(), "sizes": sizes, "opened": opened},
                    frame.payload, frame.descriptors)
        frame.close()
except Closed:
    frames.send({"closed": True})
except FrameError as error:
    frames.send({"broken": str(error)})
)";

int FileOfSize(off_t bytes) {
  const int file = memfd_create("frame-test", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(file, bytes), 0);
  return file;
}

class Echo {
 public:
  Echo()
      : child_(ChildProcess::Start({FindPython().value(), "-c", PeerProgram(kEcho)}, {}).value()) {}

  int socket() const { return child_.socket(); }
  // What was sent back; its descriptors are closed here.
  json Receive() {
    Result<Frame> frame = ReceiveFrame(socket(), kPatience);
    EXPECT_TRUE(frame.ok()) << frame.error().Line();
    if (!frame.ok()) return {};
    json answer = json::parse(frame->header);
    answer["payload"] = frame->payload.size();
    for (const int descriptor : frame->descriptors) {
      struct stat status {};
      fstat(descriptor, &status);
      answer["returned"].push_back(status.st_size);
      close(descriptor);
    }
    payload_ = std::move(frame->payload);
    return answer;
  }
  json SendRaw(const std::string& bytes) {
    EXPECT_EQ(send(socket(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    shutdown(socket(), SHUT_WR);
    return Receive();
  }
  const std::string& payload() const { return payload_; }

 private:
  ChildProcess child_;
  std::string payload_;
};

std::string Preamble(std::string_view magic, uint32_t header_bytes, uint64_t payload_bytes) {
  std::string bytes(magic);
  bytes.append(reinterpret_cast<const char*>(&header_bytes), sizeof(header_bytes));
  bytes.append(reinterpret_cast<const char*>(&payload_bytes), sizeof(payload_bytes));
  return bytes;
}

TEST(PythonFrames, CarryHeaderPayloadAndDescriptors) {
  Echo echo;
  const std::vector<int> files = {FileOfSize(100), FileOfSize(7), FileOfSize(0)};
  std::string payload(9'000'001, '\0');
  for (size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * 31);
  ASSERT_TRUE(SendFrame(echo.socket(), "{\"größe\": 1}", payload, files).ok());
  const json answer = echo.Receive();
  EXPECT_EQ(answer.at("header"), "{\"größe\": 1}");
  EXPECT_EQ(answer.at("sizes"), json({100, 7, 0}));
  EXPECT_EQ(answer.at("returned"), json({100, 7, 0}));
  EXPECT_EQ(echo.payload(), payload);
  for (const int file : files) close(file);
}

TEST(PythonFrames, ManyDescriptorsLeaveNoneOpen) {
  Echo echo;
  std::vector<int> files(64);
  for (int& file : files) file = FileOfSize(1);
  std::optional<json> first;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(SendFrame(echo.socket(), "{}", "", files).ok());
    const json answer = echo.Receive();
    EXPECT_EQ(answer.at("returned").size(), 64U);
    if (!first) first = answer;
    EXPECT_EQ(answer.at("opened"), first->at("opened"));
  }
  for (const int file : files) close(file);
}

TEST(PythonFrames, ComeInSingleBytes) {
  Echo echo;
  const std::string bytes = Preamble("WSF1", 2, 3) + "{}abc";
  for (const char byte : bytes) ASSERT_EQ(send(echo.socket(), &byte, 1, 0), 1);
  const json answer = echo.Receive();
  EXPECT_EQ(answer.at("header"), "{}");
  EXPECT_EQ(echo.payload(), "abc");
}

TEST(PythonFrames, BrokenOnesEndTheConversation) {
  EXPECT_EQ(Echo().SendRaw(Preamble("WSF2", 2, 0) + "{}").at("broken"), "bad magic");
  EXPECT_EQ(Echo().SendRaw(Preamble("WSF1", ~0U, 0)).at("broken"), "header over the limit");
  EXPECT_EQ(Echo().SendRaw(Preamble("WSF1", 2, ~uint64_t{0})).at("broken"),
            "payload over the limit");
  EXPECT_EQ(Echo().SendRaw(Preamble("WSF1", 10, 0) + "{}").at("broken"), "it ended in the middle");
  EXPECT_EQ(Echo().SendRaw("WSF").at("broken"), "it ended in the middle");
  EXPECT_EQ(Echo().SendRaw("").at("closed"), true);
}

// --- The peer before it has torch.

class Peer {
 public:
  explicit Peer(std::vector<std::string> argv)
      : child_(ChildProcess::Start(std::move(argv), {}).value()) {}

  json Call(const std::string& text) {
    EXPECT_TRUE(SendFrame(child_.socket(), text).ok());
    const Result<Frame> reply = ReceiveFrame(child_.socket(), kPatience);
    EXPECT_TRUE(reply.ok()) << reply.error().Line();
    return reply.ok() ? json::parse(reply->header) : json();
  }
  int ErrorCode(const std::string& text) { return Call(text).at("error").at("code"); }

 private:
  ChildProcess child_;
};

TEST(TorchPeer, AnswersCommandsThatMakeNoSense) {
  Peer peer(TorchPeerArgv(PeerMemory::kHost).value());
  EXPECT_EQ(peer.ErrorCode("not json"), Describe(ErrorCode::kBadInput).exit_status);
  EXPECT_EQ(peer.ErrorCode("[1]"), Describe(ErrorCode::kBadInput).exit_status);
  EXPECT_EQ(peer.ErrorCode(R"({"version":1,"command":"dance"})"),
            Describe(ErrorCode::kBadInput).exit_status);
  EXPECT_EQ(peer.ErrorCode(R"({"version":2,"command":"start"})"),
            Describe(ErrorCode::kVersion).exit_status);
  EXPECT_EQ(peer.ErrorCode(R"({"version":1,"command":"arena"})"),
            Describe(ErrorCode::kBadInput).exit_status);
}

TEST(TorchPeer, SaysThatTorchIsMissing) {
  Peer peer({FindPython().value(), "-c",
             PeerProgram("sys.modules['torch'] = None\n"
                         "from warpsmith_peer.peer import main\nsys.exit(main(sys.argv[1:]))\n")});
  const json error = peer.Call(R"({"version":1,"command":"start","device_uuid":""})").at("error");
  EXPECT_EQ(error.at("code"), Describe(ErrorCode::kUnavailable).exit_status);
  EXPECT_THAT(error.at("message").get<std::string>(), HasSubstr("cannot import torch"));
  EXPECT_THAT(error.at("fix").get<std::string>(), HasSubstr("WARPSMITH_PYTHON"));
}

// --- Files in memory.

std::string RunPython(const std::string& lines) {
  const Result<ProcessOutcome> ran =
      RunProcess({FindPython().value(), "-c", PeerProgram(lines)}, {});
  return ran.ok() ? ran->output : ran.error().Line();
}

constexpr const char* kLoad = R"(
from warpsmith_peer.failures import Failure, user_code
from warpsmith_peer.sources import MemoryFiles

def load(files):
    finder = MemoryFiles(files)
    sys.meta_path.insert(0, finder)
    try:
        with user_code("loading", files):
            return finder.load("main.py", "task_main")
    except Failure as failure:
        print(failure.code, failure.message)
)";

TEST(MemoryFiles, ImportEachOther) {
  const std::string output = RunPython(std::string(kLoad) + R"py(
load({"main.py": "import one, parts.two\nfrom made.three import x\nprint(one.x + parts.two.x + x)",
      "one.py": "x = 1", "parts/two.py": "from one import x as one\nx = 1 + one",
      "made/__init__.py": "", "made/three.py": "from . import four\nx = four.x - 1",
      "made/four.py": "x = 4"})
)py");
  EXPECT_EQ(output, "6\n");
}

TEST(MemoryFiles, AreNamedInErrorsWithTheirLine) {
  EXPECT_THAT(RunPython(std::string(kLoad) + "load({'main.py': 'x = 1\\ny = = 2'})"),
              HasSubstr("65 main.py:2: loading: SyntaxError: invalid syntax"));
  const std::string deeper = RunPython(std::string(kLoad) +
                                       "load({'main.py': 'import one\\none.f()', "
                                       "'one.py': 'def f():\\n    return 1 / 0  # here'})");
  EXPECT_THAT(deeper, HasSubstr("65 one.py:2: loading: ZeroDivisionError: division by zero"));
  EXPECT_THAT(deeper, HasSubstr("return 1 / 0  # here")) << "the traceback shows the text";
  EXPECT_THAT(RunPython(std::string(kLoad) + "load({'main.py': 'import sys; sys.exit(3)'})"),
              HasSubstr("65 main.py:1: loading: SystemExit: 3"));
}

TEST(Ranges, CountOverlapsOnce) {
  EXPECT_EQ(RunPython("from warpsmith_peer.ranges import covered\n"
                      "print(covered([(5, 7), (0, 2), (1, 3), (6, 6.5)]), covered([]))"),
            "5 0\n");
}

// --- Which Python.

class NamedPython : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("WARPSMITH_PYTHON")) before_ = before;
  }
  void TearDown() override {
    if (before_) {
      setenv("WARPSMITH_PYTHON", before_->c_str(), 1);
    } else {
      unsetenv("WARPSMITH_PYTHON");
    }
  }
  // A "Python" that is a shell script.
  void Name(const std::string& body) {
    const auto path = directory_.path() / "python";
    ASSERT_TRUE(WriteFileAtomic(path, "#!/bin/sh\n" + body + "\n").ok());
    chmod(path.c_str(), 0700);
    setenv("WARPSMITH_PYTHON", path.c_str(), 1);
  }

 private:
  std::optional<std::string> before_;
  TemporaryDirectory directory_ = TemporaryDirectory::Create("named-python").value();
};

TEST_F(NamedPython, IsUsed) {
  Name("exit 0");
  EXPECT_EQ(TorchPeerArgv()->front(), std::getenv("WARPSMITH_PYTHON"));
}

TEST_F(NamedPython, ThatIsNotThereIsNamed) {
  setenv("WARPSMITH_PYTHON", "/no/such/python", 1);
  const Error error = TorchPeerArgv().error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.Line(), HasSubstr("/no/such/python"));
  EXPECT_THAT(error.fix, HasSubstr("WARPSMITH_PYTHON"));
}

}  // namespace
}  // namespace warpsmith::torch
