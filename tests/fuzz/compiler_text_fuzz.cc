// What the compilers and the disassembler print, and the flags that a candidate asks for.
#include "base/utf8.h"
#include "compile/compilation.h"
#include "compile/cubin.h"
#include "compile/flag_rules.h"
#include "compile/nvcc.h"
#include "compile/opcodes.h"
#include "fuzz.h"
#include "judge/audit/image_rules.h"

using namespace warpsmith;

namespace {

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto [line, rest] = fuzz::CutLine(text);
    lines.emplace_back(line);
    text = rest;
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::TextOf(data, size);
  for (const KernelResources& kernel : compile::ParseResourceReport(text).kernels) {
    CHECK(kernel.registers_per_thread >= 0 && kernel.spill_store_bytes >= 0);
  }
  for (const int64_t limit_bytes : {0, 16, 1 << 16}) {
    CHECK(IsUtf8(compile::TidyLog(text, limit_bytes)));
  }
  const compile::OpcodeCounts counts = compile::ParseDisassembly(text);
  for (const auto& [opcode, count] : counts) CHECK(!opcode.empty() && count > 0);
  for (const std::string_view precision : {"", "f32", "tf32", "f16", "f8", "other"}) {
    audit::AuditOpcodes(counts, precision);
  }
  const auto refused = compile::RefusedFlag(Lines(text), {"cublas"});
  if (refused) CHECK(!refused->empty());
  compile::ProgramUnits({"k.cu", {{"k.cu", std::string(text)}, {"more.cu", ""}}, {}});
  return 0;
}
