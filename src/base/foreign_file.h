// Files that somebody else made, or a process that is not trusted: in a folder that was copied from
// elsewhere, or where a program could write. Nothing but regular files is read, none is waited for,
// and none is read without a limit.
#ifndef WARPSMITH_BASE_FOREIGN_FILE_H_
#define WARPSMITH_BASE_FOREIGN_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace warpsmith {

// A name that is neither empty nor absolute and has no "..": what it names lies in the folder that it
// is read in, or behind a link there.
bool StaysInside(const std::filesystem::path& name);

// The first `most_bytes` of a regular file. kNoInput where there is none. kBadInput where a link, a
// pipe, a folder or a device stands in its place: none of these is followed, and none waited for.
// Folders on the way are followed as ever, so they must be ours.
Result<std::string> ReadForeignFile(const std::filesystem::path& path, size_t most_bytes);

// The whole of a regular file that the user named, or that lies in a folder he named; links are
// followed. kNoInput where there is none; kBadInput for what is no regular file and for one of more
// than `most_bytes`.
Result<std::string> ReadRegularFile(const std::filesystem::path& path, size_t most_bytes);

// The same of a file whose name stands in a foreign file ("images/1f.cubin"): kBadInput also where
// the name is absolute, has a "..", or leads over a link, so that nothing outside `folder` is read.
Result<std::string> ReadFileInside(const std::filesystem::path& folder,
                                   const std::filesystem::path& name, size_t most_bytes);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_FOREIGN_FILE_H_
