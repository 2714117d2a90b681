// A change to one file, given as the lines that are there and those that take their place.
#ifndef WARPSMITH_AGENT_PROMPTS_EDIT_H_
#define WARPSMITH_AGENT_PROMPTS_EDIT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

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

}  // namespace warpsmith::prompts

#endif  // WARPSMITH_AGENT_PROMPTS_EDIT_H_
