#include "gemm_library/problem.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include <limits>
#include <set>

namespace warpsmith::gemm_library {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

std::string ErrorOf(const Problem& problem) {
  const auto checked = Check(problem);
  return checked.ok() ? "" : checked.error().message;
}

std::string ErrorOf(const Problem& problem, const Addresses& addresses) {
  const Status status = CheckAddresses(Check(problem).value(), addresses);
  return status.ok() ? "" : status.error().message;
}

TEST(ProblemTest, DenseLeadingDimensionsAreFilledIn) {
  const CheckedProblem checked = Check({.m = 2, .n = 3, .k = 5, .transpose_b = true}).value();
  EXPECT_EQ(checked.problem.lda, 5);
  EXPECT_EQ(checked.problem.ldb, 5);
  EXPECT_EQ(checked.problem.ldc, 3);
  EXPECT_EQ(checked.storage[1].rows, 3);
  EXPECT_EQ(checked.storage[2].bytes(), 12);
  const CheckedProblem other = Check({.m = 2, .n = 3, .k = 5, .transpose_a = true}).value();
  EXPECT_EQ(other.problem.lda, 2);
  EXPECT_EQ(other.problem.ldb, 3);
}

TEST(ProblemTest, SizesAndStridesThatCannotBeAreRefused) {
  EXPECT_THAT(ErrorOf({.m = -1, .n = 3, .k = 5}), HasSubstr("negative"));
  EXPECT_THAT(ErrorOf({.m = 2, .n = 3, .k = 5, .lda = 4}), HasSubstr("lda is 4, less than"));
  EXPECT_THAT(ErrorOf({.m = 2, .n = 3, .k = 5, .ldb = 2}), HasSubstr("ldb is 2"));
  EXPECT_THAT(ErrorOf({.m = 2, .n = 3, .k = 5, .ldc = -3}), HasSubstr("ldc is -3"));
  EXPECT_THAT(ErrorOf({.m = kHuge, .n = kHuge, .k = kHuge}), HasSubstr("larger than 2^47"));
  EXPECT_THAT(ErrorOf({.m = 2, .n = 3, .k = 5, .lda = kHuge}), HasSubstr("matrix a"));
  EXPECT_THAT(ErrorOf({.m = int64_t{1} << 32, .n = int64_t{1} << 32, .k = 1}),
              HasSubstr("matrix c"));
  EXPECT_EQ(ErrorOf({.m = 1, .n = 3, .k = 5, .lda = kHuge}), "");  // one row has no next one
}

TEST(ProblemTest, NoRowsOrColumnsIsNothing) {
  EXPECT_TRUE(Check({.m = 0, .n = 3, .k = 5}).value().nothing);
  EXPECT_TRUE(Check({.m = 3, .n = 0, .k = 5}).value().nothing);
  EXPECT_FALSE(Check({.m = 3, .n = 3, .k = 0}).value().nothing);
}

TEST(ProblemTest, AddressesMustBeThereAlignedAndApart) {
  const Problem problem{.m = 4, .n = 4, .k = 4};
  EXPECT_EQ(ErrorOf(problem, {256, 512, 1024, 0, 0}), "");
  EXPECT_THAT(ErrorOf(problem, {0, 512, 1024, 0, 0}), HasSubstr("a is null"));
  EXPECT_THAT(ErrorOf(problem, {256, 0, 1024, 0, 0}), HasSubstr("b is null"));
  EXPECT_THAT(ErrorOf(problem, {256, 512, 0, 0, 0}), HasSubstr("c is null"));
  EXPECT_THAT(ErrorOf(problem, {257, 512, 1024, 0, 0}), HasSubstr("a is not aligned"));
  EXPECT_THAT(ErrorOf(problem, {256, 512, 286, 0, 0}), HasSubstr("c overlaps a"));
  EXPECT_THAT(ErrorOf(problem, {256, 512, 512, 0, 0}), HasSubstr("c overlaps b"));
  EXPECT_EQ(ErrorOf(problem, {256, 256, 288, 0, 0}), "");  // A may be B; C begins where A ends
  EXPECT_THAT(ErrorOf(problem, {256, 512, ~uint64_t{1}, 0, 0}), HasSubstr("address space"));
  EXPECT_THAT(ErrorOf(problem, {256, 512, 1024, 0, 64}), HasSubstr("workspace is null"));
  EXPECT_THAT(ErrorOf(problem, {256, 512, 1024, 2064, 64}), HasSubstr("256-byte aligned"));
  EXPECT_THAT(ErrorOf(problem, {256, 512, 1040, 1024, 64}), HasSubstr("workspace overlaps c"));
}

TEST(ProblemTest, WithoutProductsOnlyCIsLookedAt) {
  EXPECT_EQ(ErrorOf({.m = 4, .n = 4, .k = 0}, {0, 0, 1024, 0, 0}), "");
  EXPECT_THAT(ErrorOf({.m = 4, .n = 4, .k = 0}, {0, 0, 0, 0, 0}), HasSubstr("c is null"));
}

std::set<uint64_t> BytesOf(const Storage& storage, uint64_t address) {
  std::set<uint64_t> bytes;
  for (int64_t i = 0; i < storage.rows; ++i) {
    for (int64_t j = 0; j < 2 * storage.columns; ++j) {
      bytes.insert(address + static_cast<uint64_t>(2 * i * storage.leading + j));
    }
  }
  return bytes;
}

TEST(ProblemTest, OverlapNeverMissesAndIsExactForOnePitch) {
  EXPECT_TRUE(rc::check([] {
    const auto storage = [](int64_t leading) {
      const int64_t columns = *rc::gen::inRange<int64_t>(1, leading + 1);
      const int64_t rows = *rc::gen::inRange<int64_t>(1, 5);
      return Storage{rows, columns, rows == 1 ? columns : leading};
    };
    const Storage a = storage(*rc::gen::inRange<int64_t>(1, 9));
    const bool same = *rc::gen::arbitrary<bool>();
    const Storage c = storage(same ? a.leading : *rc::gen::inRange<int64_t>(1, 9));
    const uint64_t a_at = 400, c_at = *rc::gen::inRange<uint64_t>(300, 500) / 2 * 2;
    const std::set<uint64_t> a_bytes = BytesOf(a, a_at), c_bytes = BytesOf(c, c_at);
    bool shared = false;
    for (const uint64_t byte : a_bytes) shared |= c_bytes.count(byte) > 0;
    if (shared) RC_ASSERT(Overlap(a, a_at, c, c_at));
    const bool interleaved = a.leading == c.leading && a.rows > 1 && c.rows == a.rows;
    if (!shared && interleaved && c_at >= a_at && c_at < a_at + 2 * a.leading) {
      const bool wraps = c_at - a_at + 2 * c.columns > static_cast<uint64_t>(2 * a.leading);
      if (!wraps) RC_ASSERT(!Overlap(a, a_at, c, c_at));
    }
  }));
}

}  // namespace
}  // namespace warpsmith::gemm_library
