#include "base/remove_tree.h"

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace warpsmith {
namespace {

namespace fs = std::filesystem;

bool IsFolder(const fs::path& path) {
  std::error_code failed;
  return fs::is_directory(fs::symlink_status(path, failed));
}

// What is in a folder, made readable first: its maker may have taken that away.
std::vector<fs::path> EntriesOf(const fs::path& folder) {
  chmod(folder.c_str(), 0700);
  std::vector<fs::path> entries;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    entries.push_back(at->path());
  }
  return entries;
}

// A name in `root` that is not taken.
fs::path FreeName(const fs::path& root, int64_t* number) {
  fs::path name;
  std::error_code failed;
  do {
    name = root / (".moved-" + std::to_string((*number)++));
  } while (fs::exists(fs::symlink_status(name, failed)));
  return name;
}

// Removes the folder and its files, and moves the folders in it up into `root`: however deep a tree
// is, no path becomes longer than two names below that. True if a folder could be moved.
bool Flatten(const fs::path& folder, const fs::path& root, int64_t* number) {
  bool moved = false;
  std::error_code failed;
  for (const fs::path& entry : EntriesOf(folder)) {
    if (!IsFolder(entry)) {
      fs::remove(entry, failed);
      continue;
    }
    chmod(entry.c_str(), 0700);  // a folder that moves is written to
    fs::rename(entry, FreeName(root, number), failed);
    moved |= !failed;
  }
  fs::remove(folder, failed);
  return moved;
}

}  // namespace

void RemoveTree(const fs::path& root) {
  std::error_code failed;
  fs::remove_all(root, failed);
  if (!failed || !IsFolder(root)) return;
  int64_t number = 0;
  for (bool moved = true; moved;) {
    moved = false;  // in the end all is gone, or what is left cannot be moved
    for (const fs::path& entry : EntriesOf(root)) {
      if (IsFolder(entry)) {
        moved |= Flatten(entry, root, &number);
      } else {
        fs::remove(entry, failed);
      }
    }
  }
  fs::remove(root, failed);
}

}  // namespace warpsmith
