// What ptxas says with -v, in NVRTC's log or nvcc's output. Private to this folder.
#ifndef WARPSMITH_COMPILE_RESOURCE_REPORT_H_
#define WARPSMITH_COMPILE_RESOURCE_REPORT_H_

#include <string>
#include <string_view>
#include <vector>

#include "core/artifact.h"

namespace warpsmith::compile {

struct ResourceReport {
  std::vector<KernelResources> kernels;  // entry functions, in the log's order
  // The compilers' warnings, and ptxas' advice by number ("(C7510) Potential Performance Loss:
  // wgmma.mma_async instructions are serialized"), each once.
  std::vector<std::string> warnings;
};

// Lines that are not understood are passed over: the log is for people first.
ResourceReport ParseResourceReport(std::string_view log);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_RESOURCE_REPORT_H_
