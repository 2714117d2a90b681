// Folders of tasks with their candidates.
#ifndef WARPSMITH_SEARCH_EVALUATION_SUITE_H_
#define WARPSMITH_SEARCH_EVALUATION_SUITE_H_

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "core/compiler.h"

namespace warpsmith::search {

struct SuiteEntry {
  std::filesystem::path task, candidate;
};

// Below `root`, every folder with a task.toml is a task, and every candidate.toml below it a
// candidate of it (a folder named "current" or "reference" is none); in the order of their paths.
Result<std::vector<SuiteEntry>> FindEntries(const std::filesystem::path& root);

// Compiles what comes next while the device is at work, so that the judge finds it in the cache.
class SuiteCompiler {
 public:
  SuiteCompiler(Compiler& compiler, std::string architecture, std::vector<SuiteEntry> entries);
  SuiteCompiler(const SuiteCompiler&) = delete;
  SuiteCompiler& operator=(const SuiteCompiler&) = delete;
  ~SuiteCompiler();

 private:
  Status Work(Compiler& compiler, const std::string& architecture,
              const std::vector<SuiteEntry>& entries) const;

  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_EVALUATION_SUITE_H_
