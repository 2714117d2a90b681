// Removing what a process that is not trusted may have built.
#ifndef WARPSMITH_BASE_REMOVE_TREE_H_
#define WARPSMITH_BASE_REMOVE_TREE_H_

#include <filesystem>

namespace warpsmith {

// Removes `root` and all below it, however deep folders are nested (std::filesystem::remove_all
// needs a descriptor a level) and whatever their modes. Links are removed, not followed. Nobody may
// be writing there any more. What cannot be removed (another user's) stays.
void RemoveTree(const std::filesystem::path& root);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_REMOVE_TREE_H_
