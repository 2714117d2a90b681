// A problem's init.cu as a candidate's source.
#ifndef WARPSMITH_TASK_KERNELBENCH_INIT_SOURCE_H_
#define WARPSMITH_TASK_KERNELBENCH_INIT_SOURCE_H_

#include <string>

namespace warpsmith::kernelbench {

// KernelBlaster's own build puts torch's headers in front of an init.cu, and some use what came
// with them. Those get the standard header that they lack as their first line; all others stay as
// they are.
std::string InitSource(const std::string& text);

}  // namespace warpsmith::kernelbench

#endif  // WARPSMITH_TASK_KERNELBENCH_INIT_SOURCE_H_
