#include "judge/audit/opcode_policy.h"

#include <algorithm>
#include <array>
#include <vector>

namespace warpsmith::audit {
namespace {

struct Precision {
  std::string_view name;
  std::vector<ProductInput> admitted;
  bool sums_in_f32 = true;
};

const std::vector<Precision>& Precisions() {
  using enum ProductInput;
  static const std::vector<Precision> precisions = {
      {"f64", {kF64}},
      {"f32", {kF64}},
      {"tf32", {kF64, kTF32}},
      {"f16", {kF64, kTF32, kF16, kBF16}},
      {"bf16", {kF64, kTF32, kF16, kBF16}},
      {"f8", {kF64, kTF32, kF16, kBF16, kF8}, false},
  };
  return precisions;
}

std::vector<std::string_view> PartsOf(std::string_view opcode) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t dot = opcode.find('.');
    parts.push_back(opcode.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    opcode.remove_prefix(dot + 1);
  }
}

bool Has(const std::vector<std::string_view>& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

// HMMA and its kind: the first type is the sum's, a second one the inputs', f16 where there is
// none.
TensorProduct HalfProduct(const std::vector<std::string_view>& parts) {
  TensorProduct product;
  if (Has(parts, "TF32")) {
    product.input = ProductInput::kTF32;
  } else if (Has(parts, "BF16") || Has(parts, "BF16_V2")) {
    product.input = ProductInput::kBF16;
  }
  product.sums_in_f16 =
      product.input == ProductInput::kF16 && Has(parts, "F16") && !Has(parts, "F32");
  return product;
}

TensorProduct ByteProduct(const std::vector<std::string_view>& parts) {
  const bool four = Has(parts, "E2M1");
  const bool sums_in_f16 = Has(parts, "F16") && !Has(parts, "F32");
  return {four ? ProductInput::kF4 : ProductInput::kF8, sums_in_f16};
}

std::string_view NameOf(ProductInput input) {
  constexpr std::array<std::string_view, 8> kNames = {"f64", "tf32", "f16",     "bf16",
                                                      "f8",  "f4",   "integer", "one-bit"};
  return kNames.at(static_cast<size_t>(input));
}

std::optional<std::string> Violation(const std::string& opcode, int64_t count,
                                     const Precision& precision) {
  const auto product = TensorProductOf(opcode);
  if (!product) return std::nullopt;
  const std::string seen = opcode + " (" + std::to_string(count) + " times)";
  const auto& admitted = precision.admitted;
  if (std::find(admitted.begin(), admitted.end(), product->input) == admitted.end()) {
    return seen + " multiplies " + std::string(NameOf(product->input)) + " values in a task of " +
           std::string(precision.name);
  }
  if (product->sums_in_f16 && precision.sums_in_f32) {
    return seen + " sums in f16 in a task of " + std::string(precision.name);
  }
  return std::nullopt;
}

}  // namespace

std::optional<TensorProduct> TensorProductOf(std::string_view opcode) {
  const std::vector<std::string_view> parts = PartsOf(opcode);
  std::string_view name = parts.front();
  if (!name.ends_with("MMA")) return std::nullopt;
  // The fifth generation's types are in a descriptor: the widest that it may be.
  if (name == "UTCHMMA") return TensorProduct{ProductInput::kTF32, false};
  if (name.starts_with("UTC")) name.remove_prefix(3);  // UTCQMMA, UTCOMMA, UTCIMMA
  if (name == "HMMA" || name == "HGMMA") return HalfProduct(parts);
  if (name == "QMMA" || name == "QGMMA") return ByteProduct(parts);
  if (name == "OMMA") return TensorProduct{ProductInput::kF4, false};
  if (name == "DMMA") return TensorProduct{ProductInput::kF64, false};
  if (name == "IMMA" || name == "IGMMA") return TensorProduct{ProductInput::kInteger, false};
  if (name == "BMMA" || name == "BGMMA") return TensorProduct{ProductInput::kBit, false};
  return TensorProduct{ProductInput::kF4, false};  // newer than this table: the narrowest there is
}

AuditFinding AuditOpcodes(const std::map<std::string, int64_t>& opcodes,
                          std::string_view precision) {
  if (precision.empty()) return Clean(kOpcodes, "the task declares no precision");
  const auto& known = Precisions();
  const auto wanted = std::find_if(known.begin(), known.end(),
                                   [&](const Precision& p) { return p.name == precision; });
  if (wanted == known.end()) {
    return Absent(kOpcodes, "precision '" + std::string(precision) +
                                "' is none of f64, f32, tf32, f16, bf16, f8");
  }
  if (opcodes.empty()) {
    return Absent(
        kOpcodes,
        "no instructions were counted: no disassembler for this image (nvdisasm, cuobjdump)");
  }
  int64_t instructions = 0;
  for (const auto& [opcode, count] : opcodes) {
    if (const auto violation = Violation(opcode, count, *wanted)) {
      return Violated(kOpcodes, *violation);
    }
    instructions += count;
  }
  return Clean(kOpcodes, std::to_string(instructions) + " instructions, none below " +
                             std::string(precision));
}

}  // namespace warpsmith::audit
