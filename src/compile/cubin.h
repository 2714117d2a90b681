// What a cubin says about its kernels' memory, and their resources. Private to this folder.
#ifndef WARPSMITH_COMPILE_CUBIN_H_
#define WARPSMITH_COMPILE_CUBIN_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/artifact.h"

namespace warpsmith::compile {

// Bytes of memory that the kernels may write and that outlives a launch: .nv.global,
// .nv.global.init and the bank of __constant__ variables, each whole, unless `ptx` shows that its
// variables are only read (OnlyReads), as tables and the texts of assertions are. Without `ptx`
// ("") each variable in global memory counts, and none in constant memory.
Result<int64_t> WritableGlobalBytes(std::string_view image, std::string_view ptx);

// Does it have such memory at all, so that its PTX has to be asked for?
Result<bool> HasVariables(std::string_view image);

// Whether PTX only reads a variable. Private to this folder.
using VariableNames = std::set<std::string, std::less<>>;

// PTX without its comments. Empty when it holds what could hide a name or an instruction from the
// functions here: preprocessor lines, block comments, quoted text other than pragmas' "nounroll".
std::string CodeOf(std::string_view ptx);

// No store, no atomic, no comparison and no call but vprintf's and an assertion's is given an
// address of these variables, or a register that was made from one, in any order of the
// instructions; nor is one kept in memory or in another variable. `code` is from CodeOf, and not
// empty.
bool OnlyReads(std::string_view code, const VariableNames& variables);

// --- What ptxas says with -v, in NVRTC's log or nvcc's output. Private to this folder.

struct ResourceReport {
  std::vector<KernelResources> kernels;  // entry functions, in the log's order
  // The compilers' warnings, and ptxas' advice by number ("(C7510) Potential Performance Loss:
  // wgmma.mma_async instructions are serialized"), each once.
  std::vector<std::string> warnings;
};

// Lines that are not understood are passed over: the log is for people first.
ResourceReport ParseResourceReport(std::string_view log);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_CUBIN_H_
