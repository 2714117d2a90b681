// Numbers and units as Nsight Compute prints them. Private to this folder.
#ifndef WARPSMITH_JUDGE_PROFILE_NCU_VALUES_H_
#define WARPSMITH_JUDGE_PROFILE_NCU_VALUES_H_

#include <optional>
#include <string_view>

namespace warpsmith::profile {

// "1,234.5" -> 1234.5. Nullopt for what is no finite decimal number, such as "", "n/a", "(!) nan",
// "no data", or separators at other places than thousands.
std::optional<double> NumberOf(std::string_view text);

// What a value in `unit` is multiplied by to be in nanoseconds or bytes; 1 for any other unit.
double ScaleOf(std::string_view unit);

}  // namespace warpsmith::profile

#endif  // WARPSMITH_JUDGE_PROFILE_NCU_VALUES_H_
