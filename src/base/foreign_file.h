// Files in a folder where a process that is not trusted could put what it likes.
#ifndef WARPSMITH_BASE_FOREIGN_FILE_H_
#define WARPSMITH_BASE_FOREIGN_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace warpsmith {

// The first `most_bytes` of a regular file. kNoInput where there is none. kBadInput where a link, a
// pipe, a folder or a device stands in its place: none of these is followed, and none waited for.
// Folders on the way are followed as ever, so they must be ours.
Result<std::string> ReadForeignFile(const std::filesystem::path& path, size_t most_bytes);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_FOREIGN_FILE_H_
