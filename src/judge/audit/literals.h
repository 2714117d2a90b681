// The data that C++ sources carry: string literals and lists of numbers, as bytes.
#ifndef WARPSMITH_JUDGE_AUDIT_LITERALS_H_
#define WARPSMITH_JUDGE_AUDIT_LITERALS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::audit {

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

}  // namespace warpsmith::audit

#endif  // WARPSMITH_JUDGE_AUDIT_LITERALS_H_
