#include "judge/baseline/torch_gemm.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "base/file.h"

namespace warpsmith::baseline {
namespace {

using testing::HasSubstr;

const std::vector<cuda::GemmShape> kShapes = {
    {.m = 64, .n = 64, .k = 64, .layout = cuda::GemmLayout::kNN}};

// A "Python" that is a shell script.
class FakePython {
 public:
  explicit FakePython(const std::string& body) {
    const auto path = directory_.path() / "python";
    EXPECT_TRUE(WriteFileAtomic(path, "#!/bin/sh\n" + body + "\n").ok());
    chmod(path.c_str(), 0700);
    options_.python = path.string();
  }
  Result<TorchOutcome> Measure() const { return MeasureTorch(kShapes, options_); }
  TorchOptions& options() { return options_; }

 private:
  TemporaryDirectory directory_ = TemporaryDirectory::Create("fake-python").value();
  TorchOptions options_;
};

TEST(MeasureTorch, ReadsTheLastLineOfWhatPythonPrints) {
  const FakePython python(
      "echo 'a warning'; echo '{\"torch\": \"2.11\", \"device\": \"H200\", \"rows\": [{\"m\": 64, "
      "\"n\": 64, \"k\": 64, \"layout\": \"NN\", \"dtype\": \"bf16\", \"device_us\": 2.5, "
      "\"offline_us\": 6, "
      "\"server_us\": 14}]}'");
  const TorchOutcome outcome = python.Measure().value();
  const TorchMeasured& measured = std::get<TorchMeasured>(outcome);
  EXPECT_EQ(measured.version, "2.11");
  ASSERT_EQ(measured.times.size(), 1U);
  EXPECT_EQ(measured.times[0].device_us, 2.5);
  EXPECT_EQ(measured.times[0].server_us, 14);
  EXPECT_EQ(measured.times[0].shape.layout, cuda::GemmLayout::kNN);
  EXPECT_EQ(measured.times[0].shape.type, cuda::HalfType::kBF16);
}

TEST(MeasureTorch, GivesTheScriptItsShapes) {
  const FakePython python(
      "case \"$3\" in '[[64,64,64,\"NN\",\"f16\"]]') echo '{\"absent\": \"seen\"}';; esac");
  EXPECT_EQ(std::get<TorchAbsent>(python.Measure().value()).reason, "seen");
}

TEST(MeasureTorch, NoPythonIsNotAnError) {
  const TorchOutcome outcome =
      MeasureTorch(kShapes, {.python = "/no/such/python", .device_uuid = ""}).value();
  EXPECT_THAT(std::get<TorchAbsent>(outcome).reason, HasSubstr("/no/such/python"));
}

TEST(MeasureTorch, AFailingScriptIsAnErrorWithItsLastWords) {
  const FakePython python("echo 'CUDA out of memory'; exit 1");
  const auto outcome = python.Measure();
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message, HasSubstr("CUDA out of memory"));
}

TEST(MeasureTorch, AHangingScriptIsEnded) {
  FakePython python("exec sleep 60");
  python.options().limit = std::chrono::milliseconds(200);
  const auto outcome = python.Measure();
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message, HasSubstr("did not end in time"));
}

TEST(MeasureTorch, NonsenseIsAnError) {
  for (const char* output : {"", "hello", "{}", R"({"torch": 1})"}) {
    EXPECT_FALSE(ReadTorchAnswer(output).ok()) << output;
  }
}

}  // namespace
}  // namespace warpsmith::baseline
