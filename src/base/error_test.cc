#include "base/error.h"

#include <gtest/gtest.h>

#include <set>

#include "base/result.h"

namespace warpsmith {
namespace {

TEST(ErrorCodes, HaveDistinctNamesAndRisingStatuses) {
  std::set<std::string_view> names;
  int last = 0;
  for (const ErrorCodeRow& row : ErrorCodeTable()) {
    EXPECT_GT(row.exit_status, last);
    EXPECT_LT(row.exit_status, 256);
    EXPECT_TRUE(names.insert(row.name).second);
    EXPECT_EQ(&Describe(row.code), &row);
    last = row.exit_status;
  }
}

TEST(Error, IsOneLine) {
  EXPECT_EQ((Error{ErrorCode::kIo, "writing x: no space", "free some"}.Line()),
            "writing x: no space (free some)");
  EXPECT_EQ((Error{ErrorCode::kIo, "writing x: no space", ""}.Line()), "writing x: no space");
}

Result<int> Half(int value) {
  if (value % 2 != 0) return Error{ErrorCode::kBadInput, "odd", ""};
  return value / 2;
}

Result<int> Quarter(int value) { return Half(TRY(Half(value))); }

TEST(Result, TryPassesTheErrorOn) {
  EXPECT_EQ(Quarter(8).value(), 2);
  EXPECT_EQ(Quarter(6).error().message, "odd");
}

}  // namespace
}  // namespace warpsmith
