// How often each SASS instruction occurs, where a disassembler is at hand.
#ifndef WARPSMITH_COMPILE_OPCODES_H_
#define WARPSMITH_COMPILE_OPCODES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace warpsmith::compile {

// Mnemonic with its modifiers' first part kept ("BAR.SYNC", "LDGSTS.E"): up to the second dot.
// Those of tensor-core products are kept whole, since they say what is multiplied and how it is
// summed
// ("HMMA.16816.F32.BF16", "HGMMA.64x128x16.F16").
using OpcodeCounts = std::map<std::string, int64_t>;

// Runs nvdisasm, or cuobjdump, on the cubin. kUnavailable when neither is here.
Result<OpcodeCounts> CountOpcodes(std::string_view cubin);

// From a listing as either of them prints it.
OpcodeCounts ParseDisassembly(std::string_view listing);

}  // namespace warpsmith::compile

#endif  // WARPSMITH_COMPILE_OPCODES_H_
