#include "serve/http/access.h"

#include <gtest/gtest.h>

#include "serve/http/fair_line.h"

namespace warpsmith::serve {
namespace {

TEST(Target, IsCutIntoPathTokenAndQuery) {
  const Target target = ReadTarget("/t/s%65cret/v1/jobs?keys=a,b&wait=3%30&x").value();
  EXPECT_EQ(target.path, "/v1/jobs");
  EXPECT_EQ(target.token, "secret");
  EXPECT_EQ(target.query.at("keys"), "a,b");
  EXPECT_EQ(target.query.at("wait"), "30");
  EXPECT_EQ(target.query.at("x"), "");
  EXPECT_EQ(ReadTarget("/../../etc/passwd")->path, "/../../etc/passwd");  // a name like any other
}

TEST(Target, RefusesTricks) {
  for (const char* bad : {"", "v1/jobs", "http://host/v1/jobs", "/a%", "/a%2", "/a%zz", "/a%00b",
                          "/a%0d%0aSet-Cookie:x", "/t/token", "/v1/jobs?a=1&a=2", "*"}) {
    EXPECT_FALSE(ReadTarget(bad).ok()) << bad;
  }
}

TEST(Secret, IsTheWholeTextOrNone) {
  EXPECT_TRUE(IsSameSecret("0123456789abcdef", "0123456789abcdef"));
  for (const char* wrong : {"", "0", "0123456789abcdeX", "0123456789abcdef0"}) {
    EXPECT_FALSE(IsSameSecret(wrong, "0123456789abcdef")) << wrong;
  }
  EXPECT_EQ(BearerToken("Bearer abc"), "abc");
  EXPECT_EQ(BearerToken("bearer  abc"), "abc");
  EXPECT_EQ(BearerToken("Basic abc"), "");
  EXPECT_EQ(BearerToken("Bearer"), "");
}

TEST(Host, IsThisMachineOrOneThatWasNamed) {
  for (const char* own : {"localhost", "LOCALHOST:80", "127.0.0.1:8321", "[::1]:1", "judge:1"}) {
    EXPECT_TRUE(IsOwnHost(own, {"judge"})) << own;
  }
  for (const char* foreign : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil", "::1",
                              "judge.evil", "127.0.0.2", "[::1].evil"}) {
    EXPECT_FALSE(IsOwnHost(foreign, {"judge", ""})) << foreign;
  }
}

TEST(ListenAddress, IsReadWithAndWithoutHost) {
  EXPECT_EQ(ReadListenAddress("9000")->host, "127.0.0.1");
  EXPECT_EQ(ReadListenAddress("0.0.0.0:0")->port, 0);
  EXPECT_FALSE(ReadListenAddress("0.0.0.0:0")->is_loopback());
  EXPECT_EQ(ReadListenAddress("[::1]:80")->host, "::1");
  EXPECT_TRUE(ReadListenAddress("[::1]:80")->is_loopback());
  for (const char* bad : {"", "host:", ":80", "host:70000", "host:-1", "host:8x"}) {
    EXPECT_FALSE(ReadListenAddress(bad).ok()) << bad;
  }
}

TEST(FairLine, RunsTakeTurnsAndTheLineIsBounded) {
  FairLine line(5);
  for (const char* key : {"a1", "a2", "a3"}) line.Add("a", key);
  line.Add("b", "b1");
  EXPECT_TRUE(line.HasRoomFor(1));
  EXPECT_FALSE(line.HasRoomFor(2));
  EXPECT_EQ(line.Take(), "a1");
  EXPECT_EQ(line.Take(), "b1");
  line.Add("b", "b2");
  EXPECT_EQ(line.Take(), "a2");
  EXPECT_EQ(line.Take(), "b2");
  EXPECT_EQ(line.Take(), "a3");
  EXPECT_EQ(line.Take(), std::nullopt);
  EXPECT_EQ(line.size(), 0U);
}

}  // namespace
}  // namespace warpsmith::serve
