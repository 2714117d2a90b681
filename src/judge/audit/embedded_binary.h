// The source rule: a candidate is built from what a person can read. Device code made elsewhere, or
// another's binary, carried as a literal is Rejected.
//
// A heuristic over literals (audit/literals.h): what macros or constexpr functions put together
// goes unseen here, and then needs a loader call, which the imports audit looks for.
#ifndef WARPSMITH_JUDGE_AUDIT_EMBEDDED_BINARY_H_
#define WARPSMITH_JUDGE_AUDIT_EMBEDDED_BINARY_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "judge/audit/finding.h"

namespace warpsmith::audit {

inline constexpr size_t kMaxDenseBytes = 4096;        // of one literal that looks compressed
inline constexpr size_t kMaxEncodedBytes = 2048;      // of one run of base64 or hexadecimal digits
inline constexpr size_t kMaxDenseBytesTotal = 16384;  // of all dense literals of a candidate

// Rejected, naming file and line: ELF, fat binary, PTX or archive contents in a literal; large
// literals as dense as compressed data; long runs of base64 or hexadecimal digits; .incbin and
// #embed, which take a file in from elsewhere.
AuditFinding AuditSources(const std::map<std::string, std::string>& sources);

// Bits a byte, over how many its length and alphabet allow: 1 is as dense as noise.
double Density(std::string_view bytes);

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_EMBEDDED_BINARY_H_
