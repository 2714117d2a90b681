// Edits as models write them: SEARCH/REPLACE blocks and unified diffs.
#ifndef WARPSMITH_AGENT_PROMPTS_EDIT_READER_H_
#define WARPSMITH_AGENT_PROMPTS_EDIT_READER_H_

#include <string>
#include <string_view>
#include <vector>

#include "agent/prompts/edit.h"
#include "base/result.h"

namespace warpsmith::prompts {

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

#endif  // WARPSMITH_AGENT_PROMPTS_EDIT_READER_H_
