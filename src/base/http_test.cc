#include "base/http.h"

#include <gtest/gtest.h>

namespace warpsmith {
namespace {

using std::chrono::milliseconds;

HttpReply With(const std::string& name, const std::string& value) {
  return {429, {{name, value}}, ""};
}

TEST(Retry, HelpsWhereTheServerIsToBlame) {
  for (int status : {408, 409, 429, 500, 502, 503, 529}) {
    EXPECT_TRUE(IsRetryable({status, {}, ""})) << status;
  }
  for (int status : {200, 301, 400, 401, 403, 404, 422}) {
    EXPECT_FALSE(IsRetryable({status, {}, ""})) << status;
  }
  EXPECT_FALSE(IsRetryable({500, {{"x-should-retry", "false"}}, ""}));
  EXPECT_TRUE(IsRetryable({400, {{"x-should-retry", "true"}}, ""}));
}

TEST(Retry, WaitsAsLongAsAsked) {
  EXPECT_EQ(RetryAfter(With("retry-after-ms", "250"), 0), milliseconds(250));
  EXPECT_EQ(RetryAfter(With("retry-after", "1.5"), 0), milliseconds(1500));
  const std::string date = "Fri, 01 Jan 2027 00:00:10 GMT";
  EXPECT_EQ(RetryAfter(With("retry-after", date), 1798761600), milliseconds(10'000));
  EXPECT_EQ(RetryAfter(With("retry-after", date), 1798761700), milliseconds(0));
}

TEST(Retry, WhatCannotBeReadIsNotAsked) {
  for (const char* text : {"", "soon", "-1", "nan", "1x", "Fri, 01"}) {
    EXPECT_EQ(RetryAfter(With("retry-after", text), 0), std::nullopt) << text;
  }
  EXPECT_EQ(RetryAfter(With("retry-after", "1e300"), 0), milliseconds(1'000'000'000));
}

TEST(Retry, BacksOffUpToTheLongestWait) {
  const RetryPolicy policy;
  EXPECT_EQ(Backoff(policy, 0, 0), milliseconds(500));
  EXPECT_EQ(Backoff(policy, 1, 0), milliseconds(1000));
  EXPECT_EQ(Backoff(policy, 9, 0), milliseconds(8000));
  EXPECT_EQ(Backoff(policy, 1000, 0), milliseconds(8000));
  EXPECT_EQ(Backoff(policy, 0, 0.8), milliseconds(400));
}

}  // namespace
}  // namespace warpsmith
