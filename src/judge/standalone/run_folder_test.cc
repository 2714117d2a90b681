#include "judge/standalone/run_folder.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/file.h"
#include "base/random.h"
#include "core/tests/gemm_example.h"
#include "cuda/cupti.h"

namespace warpsmith::standalone {
namespace {

class StandaloneJobFolder : public testing::Test {
 protected:
  StandaloneJobFolder() : folder_(TemporaryDirectory::Create("solo-job").value()) {
    job_ = {GemmTask(), {}, GemmCandidate(), "sm_90a"};
    job_.workload = job_.task.workloads.at(0);
  }
  TemporaryDirectory folder_;
  StandaloneJob job_;
};

TEST_F(StandaloneJobFolder, IsReadAsItWasWritten) {
  ASSERT_TRUE(WriteStandaloneJob(folder_.path() / "run", job_, "image bytes").ok());
  const auto read = ReadStandaloneJob(folder_.path() / "run");
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(CandidateId(read->candidate), CandidateId(job_.candidate));
  EXPECT_EQ(read->workload.sizes, job_.workload.sizes);
  EXPECT_EQ(read->task.tensors.size(), 3U);
  EXPECT_EQ(read->architecture, "sm_90a");
  EXPECT_EQ(ReadFile(ImagePath(folder_.path() / "run")).value(), "image bytes");
}

// The process that reads the folder may be hostile.
TEST_F(StandaloneJobFolder, HoldsNothingThatTheCandidateNeedNotSee) {
  job_.task.reference.sources = {{"reference.cu", "the answer"}};
  job_.task.rivals = {{"rival", GemmCandidate()}};
  job_.task.workloads.push_back({"hidden", {{"M", 77}, {"N", 88}, {"K", 99}}, 1, true});
  ASSERT_TRUE(WriteStandaloneJob(folder_.path(), job_, "").ok());
  const std::string text = ReadFile(folder_.path() / "job.json").value();
  EXPECT_EQ(text.find("the answer"), std::string::npos);
  EXPECT_EQ(text.find("rival"), std::string::npos);
  EXPECT_EQ(text.find("hidden"), std::string::npos);
}

TEST_F(StandaloneJobFolder, NamesThatLeaveItAreRefused) {
  for (const char* name : {"../A", "/etc/passwd", "a/b", ".hidden", ""}) {
    job_.task.tensors[0].name = name;
    const Status written = WriteStandaloneJob(folder_.path(), job_, "");
    ASSERT_FALSE(written.ok()) << name;
    EXPECT_EQ(written.error().code, ErrorCode::kBadInput);
  }
}

TEST_F(StandaloneJobFolder, MissingAndMalformedFilesAreErrors) {
  EXPECT_EQ(ReadStandaloneJob(folder_.path()).error().code, ErrorCode::kNoInput);
  ASSERT_TRUE(WriteFileAtomic(folder_.path() / "job.json", "{\"version\":2}").ok());
  EXPECT_EQ(ReadStandaloneJob(folder_.path()).error().code, ErrorCode::kVersion);
  ASSERT_TRUE(WriteFileAtomic(folder_.path() / "job.json", "{\"version\":1}").ok());
  EXPECT_EQ(ReadStandaloneJob(folder_.path()).error().code, ErrorCode::kBadInput);
}

template <typename T>
std::vector<T> Make(TensorSpec tensor, int64_t elements, uint64_t seed = 1) {
  tensor.name = "x";
  const auto bytes = MakeContents(tensor, {{"n", 40}}, elements, seed);
  EXPECT_TRUE(bytes.ok());
  std::vector<T> values(static_cast<size_t>(elements));
  EXPECT_EQ(bytes->size(), values.size() * sizeof(T));
  std::memcpy(values.data(), bytes->data(), bytes->size());
  return values;
}

TensorSpec Spec(DType dtype, Generator generator, const char* low = "0", const char* high = "0") {
  return {
      "x", dtype, Role::kInput, {}, generator, Expression::Literal(low), Expression::Literal(high)};
}

TEST(StandaloneContents, FloatsFollowTheirGenerator) {
  double sum = 0, squares = 0;
  const auto normal = Make<float>(Spec(DType::kF32, Generator::kNormal), 10'000);
  for (const float value : normal) {
    sum += value;
    squares += double{value} * value;
  }
  EXPECT_NEAR(sum / 10'000, 0, 0.05);
  EXPECT_NEAR(squares / 10'000, 1, 0.1);
  for (const double value : Make<double>(Spec(DType::kF64, Generator::kUniform), 1000)) {
    ASSERT_LE(std::abs(value), 1);
  }
  for (const double value : Make<double>(Spec(DType::kF64, Generator::kUnit), 1000)) {
    ASSERT_TRUE(value >= 0 && value < 1);
  }
}

TEST(StandaloneContents, IntegersStayBelowHigh) {
  bool low = false, high = false;
  for (const int32_t value :
       Make<int32_t>(Spec(DType::kI32, Generator::kIntegers, "-3", "n / 8"), 1000)) {
    ASSERT_TRUE(value >= -3 && value < 5) << value;
    low |= value == -3;
    high |= value == 4;
  }
  EXPECT_TRUE(low && high);
}

TEST(StandaloneContents, OffsetsAscendFromZeroToHigh) {
  const auto offsets = Make<int64_t>(Spec(DType::kI64, Generator::kOffsets, "0", "7 * n"), 101);
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets.back(), 280);
  for (size_t i = 1; i < offsets.size(); ++i) ASSERT_LE(offsets[i - 1], offsets[i]) << i;
}

TEST(StandaloneContents, WhatOnlyTheReferenceCanDrawIsHarmless) {
  for (const int32_t value : Make<int32_t>(Spec(DType::kI32, Generator::kReference), 100)) {
    ASSERT_EQ(value, 0);
  }
  const auto floats = Make<float>(Spec(DType::kF32, Generator::kReference), 100);
  EXPECT_NE(floats[0], floats[1]);
}

TEST(StandaloneContents, EqualSeedsGiveEqualContentsThatRepeatAfterThePrime) {
  const TensorSpec spec = Spec(DType::kI8, Generator::kIntegers, "0", "100");
  EXPECT_EQ(Make<int8_t>(spec, 1000, 7), Make<int8_t>(spec, 1000, 7));
  EXPECT_NE(Make<int8_t>(spec, 1000, 7), Make<int8_t>(spec, 1000, 8));
  const auto large = Make<int8_t>(spec, 3 * kDistinctElements);
  for (const int64_t i : {int64_t{0}, int64_t{5}, kDistinctElements - 1}) {
    EXPECT_EQ(large[static_cast<size_t>(i)], large[static_cast<size_t>(i + kDistinctElements)]);
    EXPECT_EQ(large[static_cast<size_t>(i)], large[static_cast<size_t>(i + 2 * kDistinctElements)]);
  }
}

TEST(StandaloneContents, BadBoundsNameTheTensor) {
  const auto made = MakeContents(Spec(DType::kI32, Generator::kIntegers, "0", "unknown"), {}, 1, 1);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("tensor x"), std::string::npos);
}

double FromHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(HalfBits, EveryHalfIsItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double value = FromHalf(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(HalfBits(static_cast<float>(value)), bits);
  }
  EXPECT_EQ(HalfBits(65519.9F), 0x7bff);
  EXPECT_EQ(HalfBits(65520.0F), 0x7c00);
  EXPECT_EQ(HalfBits(std::numeric_limits<float>::quiet_NaN()) & 0x7fff, 0x7e00);
}

// From far below the smallest half to just below the largest.
RC_GTEST_PROP(HalfBits, RoundsToTheNearest, (uint32_t bits_of_float)) {
  const uint32_t exponent = 98 + (bits_of_float >> 23) % 44;
  const auto value = std::bit_cast<float>((bits_of_float & 0x807fffff) | (exponent << 23));
  const uint16_t bits = HalfBits(value);
  const double error = std::abs(FromHalf(bits) - double{value});
  for (const int step : {-1, 1}) {
    const int magnitude = (bits & 0x7fff) + step;
    if (magnitude < 0 || magnitude > 0x7bff) continue;
    const auto neighbour = static_cast<uint16_t>((bits & 0x8000) | magnitude);
    RC_ASSERT(error <= std::abs(FromHalf(neighbour) - double{value}));
  }
}

TEST(BFloat16Bits, RoundsToNearestEven) {
  EXPECT_EQ(BFloat16Bits(1.0F), 0x3f80);
  EXPECT_EQ(BFloat16Bits(1.00390625F), 0x3f80);  // half way to the next: even
  EXPECT_EQ(BFloat16Bits(1.01171875F), 0x3f82);  // half way above an odd one
  EXPECT_EQ(BFloat16Bits(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(BFloat16Bits(std::numeric_limits<float>::quiet_NaN()) & 0x7fc0, 0x7fc0);
}

ActivityLog Log() {
  ActivityLog log;
  log.tracer = "CUPTI 130001";
  log.stream = 7;
  log.calls = {{100, 180, 200}, {300, 310, 400}};
  log.records = {{ActivityKind::kFill, "", 7, 110, 111, 4096, false},
                 {ActivityKind::kKernel, "gemm(\"\\x)", 7, 120, 170, 0, true}};
  return log;
}

TEST(ActivityLog, IsReadAsItWasWritten) {
  const std::string text = ActivityLogToText(Log());
  const auto read = ActivityLogFromText("log", text);
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(ActivityLogToText(*read), text);
  EXPECT_EQ(read->records[1].name, "gemm(\"\\x)");
  EXPECT_EQ(read->records[0].bytes, 4096);
  EXPECT_EQ(read->calls[1].idle_ns, 400);
}

// A join that is left out makes the audit reject a program whose side stream is waited for.
TEST(ActivityLog, HoldsKernelsTransfersAndJoinsInOrderOfStart) {
  cuda::ActivityRecords seen;
  seen.kernels.resize(2);
  seen.kernels[0].stream = 7, seen.kernels[0].start_ns = 100, seen.kernels[0].end_ns = 150;
  seen.kernels[1].stream = 13, seen.kernels[1].start_ns = 120, seen.kernels[1].end_ns = 900;
  seen.transfers = {{cuda::TransferRecord::Kind::kFill, 7, 90, 95, 64, 1}};
  seen.joins = {{7, 130}};
  const std::vector<ActivityRecord> records = RecordsOf(std::move(seen));
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].kind, ActivityKind::kFill);
  EXPECT_TRUE(records[0].in_graph);
  EXPECT_EQ(records[2].end_ns, 900);
  EXPECT_EQ(records[3].kind, ActivityKind::kJoin);
  EXPECT_EQ(records[3].stream, 7u);
  EXPECT_EQ(records[3].start_ns, 130);
}

TEST(ActivityLog, AbsenceHasAReason) {
  ActivityLog log;
  log.absent = "no CUPTI";
  const auto read = ActivityLogFromText("log", ActivityLogToText(log));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->absent, "no CUPTI");
  EXPECT_FALSE(ActivityLogFromText("log", R"({"version":1,"absent":""})").ok());
}

TEST(ActivityLog, TimesThatRunBackwardsAreRefused) {
  EXPECT_FALSE(ActivityLogFromText(
                   "log", R"({"version":1,"tracer":"","stream":7,"calls":[[5,4,6]],"records":[]})")
                   .ok());
  EXPECT_FALSE(
      ActivityLogFromText("log", R"({"version":1,"tracer":"","stream":7,"calls":[],"records":
          [{"kind":"kernel","stream":1,"start_ns":9,"end_ns":8}]})")
          .ok());
}

RC_GTEST_PROP(ActivityLog, AnyTextIsReadOrRefused, (const std::string& text)) {
  static_cast<void>(ActivityLogFromText("log", text));
}

TEST(ActivityLog, MutationsAreReadOrRefused) {
  const std::string good = ActivityLogToText(Log());
  Random random(1, "activity mutations");
  int refused = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string bad = good;
    for (uint64_t changes = 1 + random.Below(4); changes > 0; --changes) {
      bad[random.Below(bad.size())] = static_cast<char>(32 + random.Below(95));
    }
    refused += ActivityLogFromText("log", bad).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
}

}  // namespace

}  // namespace warpsmith::standalone
