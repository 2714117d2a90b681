// What the build knew about itself. All views live as long as the program.
#ifndef WARPSMITH_BASE_BUILD_INFO_H_
#define WARPSMITH_BASE_BUILD_INFO_H_

#include <string>
#include <string_view>

namespace warpsmith::build_info {

std::string_view Version();  // "0.1.0"

// The commit it was built from, "+" appended when the tree had changes; empty outside a checkout.
// Taken when CMake configures: it names the sources closely, a candidate's hash names them exactly.
std::string_view Commit();

std::string VersionText();  // "0.1.0 (094918b4d2cb)", or without what is not known

// The CUDA root whose headers were used: the last place to look for NVRTC, nvcc, cuBLAS and CUPTI,
// after WARPSMITH_CUDA_HOME, CUDA_HOME and the system's own. It may not exist where we run.
std::string_view CudaRoot();

// The checkout, for shipped files when running from the build tree. May not exist where we run.
std::string_view SourceRoot();

}  // namespace warpsmith::build_info

#endif  // WARPSMITH_BASE_BUILD_INFO_H_
