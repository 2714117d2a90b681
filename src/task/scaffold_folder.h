// A scaffold's way from and to the disk.
#ifndef WARPSMITH_TASK_SCAFFOLD_FOLDER_H_
#define WARPSMITH_TASK_SCAFFOLD_FOLDER_H_

#include <filesystem>
#include <string>

#include "base/result.h"
#include "task/scaffold.h"

namespace warpsmith::task {

// The .cu file and, as far as they lie in its folder, the files that it includes with quotes, and
// those that they include. The task is named after the file.
Result<ScaffoldInput> ReadScaffoldInput(const std::filesystem::path& source,
                                        const std::string& function);

// kBadInput where `folder` is there and not empty: nothing of the user's is overwritten.
Status WriteScaffold(const Scaffold& scaffold, const std::filesystem::path& folder);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_SCAFFOLD_FOLDER_H_
