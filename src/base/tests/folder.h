// For tests of what reads files.
#ifndef WARPSMITH_BASE_TESTS_FOLDER_H_
#define WARPSMITH_BASE_TESTS_FOLDER_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/file.h"

namespace warpsmith {

class FolderTest : public testing::Test {
 protected:
  std::filesystem::path Write(const std::string& name, const std::string& text) const {
    const auto path = folder_.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  TemporaryDirectory folder_ = TemporaryDirectory::Create("test").value();
};

// The error's message; empty where there is none.
template <typename R>
std::string MessageOf(const R& result) {
  return result.ok() ? "" : result.error().message;
}

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_TESTS_FOLDER_H_
