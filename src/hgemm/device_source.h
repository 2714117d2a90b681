// The device headers of this folder, as sources of a candidate.
#ifndef WARPSMITH_HGEMM_DEVICE_SOURCE_H_
#define WARPSMITH_HGEMM_DEVICE_SOURCE_H_

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

namespace warpsmith::hgemm {

// Files of device/ by their names, which are the names their #includes use: {"ptx.cuh", ...}.
// A name that is not there is a bug.
std::map<std::string, std::string> DeviceSources(std::initializer_list<std::string_view> names);

}  // namespace warpsmith::hgemm

#endif  // WARPSMITH_HGEMM_DEVICE_SOURCE_H_
