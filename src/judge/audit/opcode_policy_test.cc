#include "judge/audit/opcode_policy.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace warpsmith::audit {
namespace {

using testing::HasSubstr;

TEST(TensorProductOf, ReadsWhatIsMultipliedAndHowItIsSummed) {
  using enum ProductInput;
  const struct {
    const char* opcode;
    ProductInput input;
    bool sums_in_f16;
  } rows[] = {{"HMMA.16816.F32", kF16, false},
              {"HMMA.16816.F16", kF16, true},
              {"HMMA.16816.F32.BF16", kBF16, false},
              {"HMMA.1688.F32.TF32", kTF32, false},
              {"HGMMA.64x128x16.F32", kF16, false},
              {"HGMMA.64x128x16.F16", kF16, true},
              {"HGMMA.64x128x16.F32.BF16", kBF16, false},
              {"HGMMA.64x256x8.F32.TF32", kTF32, false},
              {"QGMMA.64x64x32.F32.E4M3.E4M3", kF8, false},
              {"QGMMA.64x64x32.F16.E5M2.E4M3", kF8, true},
              {"DMMA.884", kF64, false},
              {"IGMMA.64x8x32.S8.S8", kInteger, false},
              {"BMMA.168128.AND.POPC", kBit, false},
              {"UTCHMMA.2CTA", kTF32, false},
              {"UTCQMMA", kF8, false}};
  for (const auto& row : rows) {
    const auto product = TensorProductOf(row.opcode);
    ASSERT_TRUE(product.has_value()) << row.opcode;
    EXPECT_EQ(product->input, row.input) << row.opcode;
    EXPECT_EQ(product->sums_in_f16, row.sums_in_f16) << row.opcode;
  }
  for (const char* other : {"FFMA", "HFMA2.MMA", "HADD2.F32", "LDG.E", "", "."}) {
    EXPECT_FALSE(TensorProductOf(other).has_value()) << other;
  }
}

bool Admits(const char* precision, const char* opcode) {
  const AuditFinding finding = AuditOpcodes({{"FFMA", 100}, {opcode, 3}}, precision);
  return std::holds_alternative<AuditReport>(finding);
}

TEST(AuditOpcodes, AdmitsADeclaredPrecisionAndWider) {
  EXPECT_TRUE(Admits("f32", "DMMA.884"));
  EXPECT_TRUE(Admits("f32", "HFMA2.MMA"));  // how compilers load constants
  EXPECT_TRUE(Admits("tf32", "HMMA.1688.F32.TF32"));
  EXPECT_TRUE(Admits("f16", "HGMMA.64x128x16.F32"));
  EXPECT_TRUE(Admits("bf16", "HMMA.16816.F32.BF16"));
  EXPECT_TRUE(Admits("f8", "QGMMA.64x64x32.F32.E4M3.E4M3"));
  EXPECT_TRUE(Admits("", "QGMMA.64x64x32.F16.E4M3.E4M3"));
}

TEST(AuditOpcodes, RejectsWhatIsNarrower) {
  EXPECT_FALSE(Admits("f32", "HMMA.1688.F32.TF32"));
  EXPECT_FALSE(Admits("f32", "HGMMA.64x128x16.F32"));
  EXPECT_FALSE(Admits("f32", "IGMMA.64x8x32.S8.S8"));
  EXPECT_FALSE(Admits("tf32", "HMMA.16816.F32.BF16"));
  EXPECT_FALSE(Admits("f16", "HMMA.16816.F16"));
  EXPECT_FALSE(Admits("f16", "HGMMA.64x128x16.F16"));
  EXPECT_FALSE(Admits("f16", "QGMMA.64x64x32.F32.E4M3.E4M3"));
  EXPECT_FALSE(Admits("f8", "OMMA.16864.F32.E2M1.E2M1"));
}

TEST(AuditOpcodes, TheDetailNamesTheInstruction) {
  const AuditFinding finding = AuditOpcodes({{"HMMA.16816.F16", 64}}, "f16");
  ASSERT_TRUE(std::holds_alternative<Rejected>(finding));
  EXPECT_EQ(std::get<Rejected>(finding).rule, "opcodes");
  EXPECT_EQ(std::get<Rejected>(finding).detail,
            "HMMA.16816.F16 (64 times) sums in f16 in a task of f16");
}

TEST(AuditOpcodes, WithoutADisassemblerItIsAbsent) {
  for (const AuditFinding& finding :
       {AuditOpcodes({}, "f32"), AuditOpcodes({{"FFMA", 1}}, "f31")}) {
    ASSERT_TRUE(std::holds_alternative<AuditReport>(finding));
    EXPECT_EQ(std::get<AuditReport>(finding).status, AuditStatus::kAbsent);
  }
}

RC_GTEST_PROP(AuditOpcodes, AnyOpcodeIsJudged, (const std::string& opcode)) {
  AuditOpcodes({{opcode, 1}, {"HMMA." + opcode, 1}}, "f16");
}

}  // namespace
}  // namespace warpsmith::audit
