// Which tensor-core instructions a declared precision admits. What the numbers say is the judge's
// matter; this audit finds what was computed with, whether or not it showed.
#ifndef WARPSMITH_JUDGE_AUDIT_OPCODE_POLICY_H_
#define WARPSMITH_JUDGE_AUDIT_OPCODE_POLICY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "judge/audit/finding.h"

namespace warpsmith::audit {

// What a tensor-core instruction multiplies.
enum class ProductInput : uint8_t { kF64, kTF32, kF16, kBF16, kF8, kF4, kInteger, kBit };

struct TensorProduct {
  ProductInput input = ProductInput::kF16;
  bool sums_in_f16 = false;
};

// "HMMA.16816.F32.BF16", "HGMMA.64x128x16.F16", "QGMMA.64x64x32.F32.E4M3.E4M3", "UTCQMMA", ... as
// SASS of 7.0 and later writes them; nullopt for what multiplies no matrices.
std::optional<TensorProduct> TensorProductOf(std::string_view opcode);

// `precision` as in the task: "f64", "f32", "tf32", "f16", "bf16", "f8"; "": no policy. Each admits
// its own inputs and wider ones; "f16" and "bf16" want sums in f32; below "f8" is Rejected too.
// Absent when there was no disassembler, or for a word that is none of these.
AuditFinding AuditOpcodes(const std::map<std::string, int64_t>& opcodes,
                          std::string_view precision);

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_OPCODE_POLICY_H_
