#include "task/scaffold_folder.h"

#include <algorithm>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "task/cuda_scan.h"
#include "task/source_files.h"

namespace warpsmith::task {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostFiles = 64;

// Letters, digits, '-' and '_': it becomes the name of a folder.
std::string NameFrom(const fs::path& source) {
  std::string name = source.stem().string();
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !(c == '-' || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                 (c >= 'A' && c <= 'Z'));
      },
      '-');
  return name.empty() ? "task" : name;
}

// A file that an #include names, relative to the root; empty where it is none of the user's own
// folder: then the compiler has to find it.
fs::path Included(const fs::path& root, const fs::path& includer, const std::string& name) {
  std::error_code failed;
  for (const fs::path& base : {includer.parent_path(), fs::path()}) {
    const fs::path relative = (base / name).lexically_normal();
    const bool leaves = relative.is_absolute() || relative.empty() || *relative.begin() == "..";
    if (!leaves && fs::is_regular_file(root / relative, failed)) return relative;
  }
  return {};
}

}  // namespace

Result<ScaffoldInput> ReadScaffoldInput(const fs::path& source, const std::string& function) {
  const fs::path root = source.parent_path();
  ScaffoldInput input{NameFrom(source), {}, source.filename().string(), function};
  std::vector<fs::path> waiting = {source.filename()};
  while (!waiting.empty()) {
    const fs::path path = waiting.back();
    waiting.pop_back();
    if (input.sources.contains(path.string())) continue;
    if (input.sources.size() == kMostFiles) {
      return Error{ErrorCode::kBadInput,
                   source.string() + ": includes more than " + std::to_string(kMostFiles) +
                       " files of its folder",
                   "give a file that needs fewer"};
    }
    const std::string text = TRY(ReadSourceText(root / path));
    for (const std::string& name : ScanCuda(text).includes) {
      const fs::path found = Included(root, path, name);
      if (!found.empty()) waiting.push_back(found);
    }
    input.sources[path.string()] = text;
  }
  return input;
}

Status WriteScaffold(const Scaffold& scaffold, const fs::path& folder) {
  std::error_code failed;
  if (fs::exists(folder, failed) && !(fs::is_directory(folder) && fs::is_empty(folder, failed))) {
    return Error{ErrorCode::kBadInput, folder.string() + ": is there already",
                 "name another folder with --out"};
  }
  for (const auto& [path, text] : scaffold.files) {
    TRY(CreateDirectories((folder / path).parent_path()));
    TRY(WriteFileAtomic(folder / path, text));
  }
  return {};
}

}  // namespace warpsmith::task
