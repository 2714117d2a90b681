// A first task for a user's own .cu file: the folder that `warpsmith task init` writes.
#ifndef WARPSMITH_TASK_SCAFFOLD_H_
#define WARPSMITH_TASK_SCAFFOLD_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpsmith::task {

struct ScaffoldInput {
  std::string name;                            // of the task
  std::map<std::string, std::string> sources;  // path -> text: the .cu and what it includes
  std::string entry;
  std::string function;                    // what to call; empty: the best guess
  std::vector<std::string> left_out = {};  // includes outside the file's folder
};

struct Scaffold {
  std::map<std::string, std::string> files;  // path in the task's folder -> text
  std::vector<std::string> notes;            // what was guessed and may be wrong, one line each
};

// The user's kernel becomes the rival "current", which is the bar; the reference is left to be
// written. kBadInput, and what to do, where no function of the file can be called.
Result<Scaffold> MakeScaffold(const ScaffoldInput& input);

// --- A scaffold's way from and to the disk.

// The .cu file and, as far as they lie in its folder, the files that it includes with quotes, and
// those that they include. The task is named after the file.
Result<ScaffoldInput> ReadScaffoldInput(const std::filesystem::path& source,
                                        const std::string& function);

// kBadInput where `folder` is there and not empty: nothing of the user's is overwritten.
Status WriteScaffold(const Scaffold& scaffold, const std::filesystem::path& folder);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_SCAFFOLD_H_
