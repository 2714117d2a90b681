// The databases that tests of the store and of the knowledge base run over: a file, and one on a
// PostgreSQL server that the test starts (tests/postgres_server).
#ifndef WARPSMITH_STORE_TESTS_DATABASE_H_
#define WARPSMITH_STORE_TESTS_DATABASE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string>

#include "base/file.h"
#include "store/connection.h"

namespace warpsmith::store {

// What the script prints, its folder; empty where no server is installed.
inline std::string AskTestServer(const std::string& what) {
  const std::string script = FindShippedFile("tests/postgres_server").value().string();
  std::string said;
  FILE* pipe = popen((script + " " + what).c_str(), "r");
  std::array<char, 256> line{};
  while (fgets(line.data(), line.size(), pipe) != nullptr) said += line.data();
  pclose(pipe);
  if (!said.empty()) said.pop_back();
  return said;
}

// One server a process; it ends with it.
inline const std::string& TestServerFolder() {
  static const std::string folder = AskTestServer("start " + std::to_string(getpid()));
  return folder;
}

inline std::string TestServerAddress(const std::string& database, const std::string& user) {
  return "postgresql://" + user + "@/" + database + "?host=" + TestServerFolder();
}

class TestDatabase {
 public:
  explicit TestDatabase(bool on_server) : where_((folder_.path() / "store.sqlite").string()) {
    if (!on_server) return;
    if (TestServerFolder().empty()) {
      where_.clear();
      return;
    }
    static int databases = 0;
    const std::string name = "test" + std::to_string(++databases);
    auto server = OpenPostgres(TestServerAddress("postgres", "warpsmith"), {"public", 1, true});
    EXPECT_TRUE(server.ok() && (*server)->Execute("CREATE DATABASE " + name).ok());
    where_ = TestServerAddress(name, "warpsmith");
  }
  // Empty: no server is installed, and the test is to be skipped.
  const std::string& where() const { return where_; }

 private:
  TemporaryDirectory folder_ = TemporaryDirectory::Create("database").value();
  std::string where_;
};

// A test's parameter: is it about a server?
class OnEveryDatabase : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (Where().empty()) GTEST_SKIP() << "no PostgreSQL server (apt-get install postgresql)";
  }
  const std::string& Where() const { return database_.where(); }

 private:
  TestDatabase database_{GetParam()};
};

inline std::string DatabaseName(const testing::TestParamInfo<bool>& info) {
  return info.param ? "Server" : "File";
}

}  // namespace warpsmith::store

#endif  // WARPSMITH_STORE_TESTS_DATABASE_H_
