// A change to one file, given as the lines that are there and those that take their place.
#ifndef WARPSMITH_AGENT_PROMPTS_EDIT_H_
#define WARPSMITH_AGENT_PROMPTS_EDIT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::prompts {

struct Edit {
  std::string name;  // for errors: "edit 2 of 'kernel.cu'"
  std::string search, replace;
  std::optional<size_t> line;  // from 1, where a diff says; decides between equal places
};

// The file with the one place replaced where `search` stands: whole lines exactly; else text within
// a line exactly; else whole lines that differ in white space only. kBadInput that names the edit
// when there is no such place, or more than one of the first kind that has any. An empty `search`
// fits an empty file alone. Takes time in proportion to the texts' lengths.
Result<std::string> ApplyEdit(std::string_view file, const Edit& edit);

// --- Edits as models write them: SEARCH/REPLACE blocks and unified diffs.

inline constexpr size_t kMaxEdits = 256;  // of one reply

struct FileEdit {
  std::string file;      // as the reply calls it, unchecked; empty where it does not say
  bool creates = false;  // the file is new: `edit.replace` is all of it
  Edit edit;             // its name is not set
};

bool HasSearchBlocks(std::string_view text);
bool IsUnifiedDiff(std::string_view text);

//   kernel.cu
//   <<<<<<< SEARCH
//   =======
//   >>>>>>> REPLACE
// The name may be missing, on the line above, or behind SEARCH; without one the block before it
// counts. kBadInput for a block without its middle or its end.
Result<std::vector<FileEdit>> ReadSearchBlocks(std::string_view text);

// Hunks are found by their lines; their numbers decide only between equal places, because models
// miscount. kBadInput for a diff that deletes or renames a file, or has no hunk.
Result<std::vector<FileEdit>> ReadUnifiedDiff(std::string_view text);

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_EDIT_H_
