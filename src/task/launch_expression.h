// Sizes of a launch as they stand in host code, as expressions of a launch plan. Private to this
// folder.
#ifndef WARPSMITH_TASK_LAUNCH_EXPRESSION_H_
#define WARPSMITH_TASK_LAUNCH_EXPRESSION_H_

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace warpsmith::task {

// What a name of the host code stands for: another text, or nothing.
using Meaning = std::function<std::optional<std::string>(std::string_view name)>;

// "(n + 255) / 256" with what names mean put in their place. Nothing, where it is more than whole
// arithmetic. `is_size` names the sizes, which stay.
std::optional<std::string> AsExpression(std::string_view text, const Meaning& meaning,
                                        const std::function<bool(std::string_view)>& is_size);

// "dim3(16, 16)", a name that means one, or a number: always three.
std::optional<std::array<std::string, 3>> AsExtents(
    std::string_view text, const Meaning& meaning,
    const std::function<bool(std::string_view)>& is_size);

}  // namespace warpsmith::task

#endif  // WARPSMITH_TASK_LAUNCH_EXPRESSION_H_
