#include "compile/opcodes.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

namespace warpsmith::compile {
namespace {

using testing::Pair;
using testing::UnorderedElementsAre;

TEST(ParseDisassembly, CountsInstructionsOfBothTools) {
  const OpcodeCounts counts = ParseDisassembly(
      ".text.gemm:\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;        /* 0x00000a00ff017b82 */\n"
      "                                                               /* 0x000fe20000000800 */\n"
      "        /*0010*/              @!P0 BRA `(.L_x_0) ;\n"
      "\t/*0020*/         {      HGMMA.64x128x16.F32 R24, gdesc[UR4], R24 ;\n"
      "        /*0030*/                   LDC.64 R2, c[0x0][0x210] ;\n"
      "        /*0040*/                   HGMMA.64x128x16.F32 R24, gdesc[UR8], R24 ;\n"
      "// /*0050*/ NOT A LINE\n");
  EXPECT_THAT(counts, UnorderedElementsAre(Pair("LDC", 1), Pair("BRA", 1),
                                           Pair("HGMMA.64x128x16.F32", 2), Pair("LDC.64", 1)));
}

TEST(ParseDisassembly, KeepsWhatATensorProductMultipliesAndSums) {
  const OpcodeCounts counts = ParseDisassembly(
      "        /*0000*/                   HMMA.16816.F32.BF16 R4, R8, R12, R4 ;\n"
      "        /*0010*/                   HMMA.16816.F16 R4, R8, R12, R4 ;\n"
      "        /*0020*/                   HFMA2.MMA.BF16_V2 R5, -RZ, RZ, 0, 0 ;\n"
      "        /*0030*/                   LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;\n");
  EXPECT_THAT(counts,
              UnorderedElementsAre(Pair("HMMA.16816.F32.BF16", 1), Pair("HMMA.16816.F16", 1),
                                   Pair("HFMA2.MMA", 1), Pair("LDG.E", 1)));
}

RC_GTEST_PROP(ParseDisassembly, AnyTextIsRead, (const std::string& text)) {
  ParseDisassembly("/*0000*/ " + text);
}

}  // namespace
}  // namespace warpsmith::compile
