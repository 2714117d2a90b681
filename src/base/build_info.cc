#include "base/build_info.h"

// The WARPSMITH_BUILD_... macros are given to this file alone (src/base/CMakeLists.txt), so a new
// commit recompiles nothing else.
namespace warpsmith::build_info {

std::string_view Version() { return WARPSMITH_BUILD_VERSION; }
std::string_view Commit() { return WARPSMITH_BUILD_COMMIT; }
std::string VersionText() {
  const std::string version(Version());
  return Commit().empty() ? version : version + " (" + std::string(Commit()) + ")";
}
std::string_view CudaRoot() { return WARPSMITH_BUILD_CUDA_ROOT; }
std::string_view SourceRoot() { return WARPSMITH_BUILD_SOURCE_ROOT; }

}  // namespace warpsmith::build_info
