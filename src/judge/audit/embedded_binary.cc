#include "judge/audit/embedded_binary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "judge/audit/contains.h"
#include "judge/audit/literals.h"

namespace warpsmith::audit {
namespace {

using std::string_view_literals::operator""sv;

constexpr size_t kSmallestDense = 256;  // shorter ones say nothing about their density
constexpr double kDense = 0.85;

struct Magic {
  std::string_view bytes, what;
  bool at_start = false;  // too short to look for anywhere
};
constexpr std::array<Magic, 8> kMagics = {{{"\x7f"
                                            "ELF"sv,
                                            "an ELF file"},
                                           {"\xb1\x43\x62\x46"sv, "a fat binary's wrapper"},
                                           {"\x50\xed\x55\xba"sv, "a fat binary"},
                                           {"PK\x03\x04"sv, "a ZIP archive", true},
                                           {"\x1f\x8b\x08"sv, "gzip data", true},
                                           {"\x28\xb5\x2f\xfd"sv, "zstd data", true},
                                           {"\xfd"
                                            "7zXZ"sv,
                                            "xz data", true},
                                           {"BZh9"sv, "bzip2 data", true}}};

bool IsBase64(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
         c == '/' || c == '=' || c == '-' || c == '_';
}

// The longest run of base64 (or hexadecimal) digits; line ends do not break it.
size_t LongestEncodedRun(std::string_view bytes) {
  size_t longest = 0, run = 0;
  for (const char c : bytes) {
    if (c == '\n' || c == '\r') continue;
    run = IsBase64(c) ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return longest;
}

size_t DistinctBytes(std::string_view bytes) {
  std::array<bool, 256> seen{};
  for (const char c : bytes) seen.at(static_cast<unsigned char>(c)) = true;
  return static_cast<size_t>(std::count(seen.begin(), seen.end(), true));
}

bool IsText(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte >= 0x20 && byte < 0x7f) || c == '\n' || c == '\t' || c == '\r';
  });
}

bool IsDense(const Literal& literal) {
  if (literal.bytes.size() < kSmallestDense) return false;
  if (literal.kind == LiteralKind::kString && IsText(literal.bytes)) return false;
  return Density(literal.bytes) > kDense;
}

std::optional<std::string> FoundIn(const Literal& literal) {
  const std::string_view bytes = literal.bytes;
  for (const Magic& magic : kMagics) {
    if (magic.at_start ? bytes.starts_with(magic.bytes) : Contains(bytes, magic.bytes)) {
      return std::string(magic.what);
    }
  }
  if (Contains(bytes, ".target sm_") && Contains(bytes, ".entry")) return "PTX text";
  // A run of one letter is a ruler, not a message.
  if (LongestEncodedRun(bytes) > kMaxEncodedBytes && DistinctBytes(bytes) > 12) {
    return "over " + std::to_string(kMaxEncodedBytes) + " bytes of base64 or hexadecimal digits";
  }
  if (bytes.size() > kMaxDenseBytes && IsDense(literal)) {
    return std::to_string(bytes.size()) + " bytes as dense as compressed data";
  }
  return std::nullopt;
}

std::string Place(const std::string& path, int line) { return path + ":" + std::to_string(line); }

}  // namespace

double Density(std::string_view bytes) {
  std::array<size_t, 256> counts{};
  for (const char c : bytes) ++counts.at(static_cast<unsigned char>(c));
  double bits = 0;
  for (const size_t count : counts) {
    if (count == 0) continue;
    const double share = static_cast<double>(count) / static_cast<double>(bytes.size());
    bits -= share * std::log2(share);
  }
  const double most = std::log2(static_cast<double>(std::min<size_t>(256, bytes.size())));
  return bytes.size() < 2 ? 0 : bits / most;
}

AuditFinding AuditSources(const std::map<std::string, std::string>& sources) {
  size_t literals = 0, dense_bytes = 0;
  for (const auto& [path, text] : sources) {
    for (const std::string_view taker : {".incbin"sv, "#embed"sv}) {
      if (Contains(text, taker)) {
        return Convicted(kEmbeddedBinary, path + ": " + std::string(taker) + " takes a file in");
      }
    }
    for (const Literal& literal : ReadLiterals(text)) {
      ++literals;
      if (const auto found = FoundIn(literal)) {
        return Convicted(kEmbeddedBinary,
                         Place(path, literal.line) + ": a literal holds " + *found);
      }
      if (!IsDense(literal)) continue;
      dense_bytes += literal.bytes.size();
      if (dense_bytes <= kMaxDenseBytesTotal) continue;
      return Convicted(kEmbeddedBinary, Place(path, literal.line) + ": literals of " +
                                            std::to_string(dense_bytes) +
                                            " bytes together are as dense as compressed data");
    }
  }
  return Clean(kEmbeddedBinary, std::to_string(literals) + " literals read");
}

}  // namespace warpsmith::audit
