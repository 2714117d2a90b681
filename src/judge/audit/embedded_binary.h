// The source rule: a candidate is built from what a person can read. Device code made elsewhere, or
// another's binary, carried as a literal is Rejected.
//
// A heuristic over literals: what macros or constexpr functions put together goes unseen here, and
// then needs a loader call, which the imports audit looks for.
#ifndef WARPSMITH_JUDGE_AUDIT_EMBEDDED_BINARY_H_
#define WARPSMITH_JUDGE_AUDIT_EMBEDDED_BINARY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "judge/audit/audit.h"

namespace warpsmith::audit {

// The data that C++ sources carry: string literals and lists of numbers, as bytes.
enum class LiteralKind : uint8_t { kString, kNumbers };

struct Literal {
  LiteralKind kind = LiteralKind::kString;
  int line = 1;  // where it begins
  std::string bytes;
};

// Comments are skipped, escapes and raw strings decoded, adjacent strings joined. Numbers (and
// characters) that follow each other with nothing but commas, signs and braces between them are one
// literal, each as wide as the widest of them needs, little endian; with a fraction they count by
// their bits as a double. No preprocessor runs: what macros put together is not seen. Any text is
// read to its end.
std::vector<Literal> ReadLiterals(std::string_view source);

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
