// compute-sanitizer's place taken by a shell script, for this folder's tests.
#ifndef WARPSMITH_JUDGE_AUDIT_TESTS_FAKE_TOOL_H_
#define WARPSMITH_JUDGE_AUDIT_TESTS_FAKE_TOOL_H_

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"

namespace warpsmith::audit::fake {

// Answers --version, finds $log, writes the banner there, then runs `body`, for which `say` writes
// a line of the tool's, $tool is the check, $arguments everything given, and "$@" the watched
// command.
inline std::filesystem::path WriteFakeSanitizer(const std::filesystem::path& folder,
                                                const std::string& body) {
  const std::filesystem::path path = folder / "compute-sanitizer";
  const std::string script =
      "#!/bin/sh\n"
      "if [ \"$1\" = --version ]; then echo 'Version 2025.3.1.0 (build 1)'; exit 0; fi\n"
      "arguments=\"$*\"\n"
      "while [ \"${1#--}\" != \"$1\" ]; do\n"
      "  case $1 in --log-file) log=$2;; --tool) tool=$2;; esac\n"
      "  [ \"$1\" = --kill ] && shift && continue\n"
      "  shift 2\n"
      "done\n"
      "say() { echo \"========= $1\" >>\"$log\"; }\n"
      "say COMPUTE-SANITIZER\n" +
      body + "\n";
  EXPECT_TRUE(WriteFileAtomic(path, script).ok());
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path;
}

}  // namespace warpsmith::audit::fake

#endif  // WARPSMITH_JUDGE_AUDIT_TESTS_FAKE_TOOL_H_
