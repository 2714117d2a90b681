#include "judge/audit/embedded_binary.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace warpsmith::audit {
namespace {

using testing::HasSubstr;

std::string Verdict(const std::string& source) {
  const AuditFinding finding = AuditSources({{"a.cu", source}});
  const auto* rejected = std::get_if<Rejected>(&finding);
  return rejected != nullptr ? rejected->detail : "";
}

std::string Numbers(size_t count, uint64_t below, uint64_t seed = 1) {
  Random random(seed, "numbers");
  std::string text = "{";
  for (size_t i = 0; i < count; ++i) text += std::to_string(random.Below(below)) + ", ";
  return "unsigned char data[] = " + text + "};\n";
}

TEST(AuditSources, BinariesInLiteralsAreRejected) {
  EXPECT_THAT(Verdict("int a;\nconst char* cubin = \"\\177ELF\\x02\\x01\";"),
              HasSubstr("a.cu:2: a literal holds an ELF file"));
  EXPECT_THAT(Verdict("unsigned char c[] = {0x7f, 0x45, 0x4c, 0x46, 2, 1, 1};"), HasSubstr("ELF"));
  EXPECT_THAT(Verdict("uint32_t c[] = {0x464c457f, 0x00010102};"), HasSubstr("ELF"));
  EXPECT_THAT(Verdict("struct { int magic; } w = {0x466243b1};"), HasSubstr("fat binary"));
  EXPECT_THAT(Verdict("unsigned long long f[] = {0x00100001ba55ed50ull, 1};"),
              HasSubstr("fat binary"));
  EXPECT_THAT(Verdict("char z[] = {0x28, 0xb5, 0x2f, 0xfd, 1};"), HasSubstr("zstd"));
  EXPECT_THAT(Verdict("auto p = R\"(.version 8.0\n.target sm_90\n.visible .entry k() {})\";"),
              HasSubstr("PTX"));
}

TEST(AuditSources, DenseDataIsRejected) {
  EXPECT_THAT(Verdict(Numbers(5000, 256)), HasSubstr("5000 bytes as dense as compressed data"));
  std::string pieces;
  for (uint64_t i = 0; i < 20; ++i) pieces += Numbers(1000, 256, i) + "int x;\n";
  EXPECT_THAT(Verdict(pieces), HasSubstr("together"));
}

TEST(AuditSources, EncodedDataIsRejected) {
  Random random(1, "base64");
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text = "const char* s =\n";
  for (int line = 0; line < 40; ++line) {
    text += "\"";
    for (int i = 0; i < 64; ++i) text += alphabet[random.Below(64)];
    text += "\\n\"\n";
  }
  EXPECT_THAT(Verdict(text + ";"), HasSubstr("base64"));
}

TEST(AuditSources, FilesFromElsewhereAreRejected) {
  EXPECT_THAT(Verdict("asm(\".incbin \\\"/tmp/k.cubin\\\"\");"), HasSubstr(".incbin"));
  EXPECT_THAT(Verdict("char c[] = {\n#embed \"k.cubin\"\n};"), HasSubstr("#embed"));
}

TEST(AuditSources, WhatPeopleWritePasses) {
  EXPECT_EQ(Verdict("__global__ void k(float* y) { y[threadIdx.x] = 1.0f / 3; }"), "");
  EXPECT_EQ(Verdict(Numbers(16'000, 8)), "");  // a table of small indices
  EXPECT_EQ(Verdict(Numbers(1000, 256)), "");  // a small one of bytes
  EXPECT_EQ(Verdict("const char* ruler = \"" + std::string(5000, '-') + "\";"), "");
  std::string usage = "const char* usage = \n";
  for (int i = 0; i < 300; ++i) usage += "\"  --option  what it does, and why one would\\n\"\n";
  EXPECT_EQ(Verdict(usage + ";"), "");
  std::string assembly = "asm volatile(\"wgmma.mma_async.sync.aligned.m64n256k16 {\"\n";
  for (int i = 0; i < 128; ++i) assembly += "\"%" + std::to_string(i) + ", \"\n";
  EXPECT_EQ(Verdict(assembly + "\"}, %1;\\n\" :: \"l\"(1));"), "");
}

TEST(Density, IsOneForNoiseAndZeroForOneLetter) {
  Random random(1, "density");
  std::string noise;
  for (int i = 0; i < 100'000; ++i) noise += static_cast<char>(random.Bits());
  EXPECT_GT(Density(noise), 0.99);
  EXPECT_EQ(Density(std::string(1000, 'x')), 0);
  EXPECT_EQ(Density(""), 0);
}

RC_GTEST_PROP(AuditSources, AnySourceIsJudged, (const std::string& text)) { Verdict(text); }

std::vector<std::string> BytesOf(std::string_view source) {
  std::vector<std::string> bytes;
  for (const Literal& literal : ReadLiterals(source)) bytes.push_back(literal.bytes);
  return bytes;
}
using testing::ElementsAre;

TEST(Literals, StringsAreDecodedAndJoined) {
  EXPECT_THAT(BytesOf(R"(f("a\n\x41\101\"b" /* c "no" */ "d"); g("e"); // "not")"),
              ElementsAre("a\nAA\"bd", "e"));
  EXPECT_THAT(BytesOf(R"src(u8"x" R"(raw \n ")" L'y')src"), ElementsAre("xraw \\n \"", "y"));
  EXPECT_THAT(BytesOf("R\"tag(a)b\" )tag\""), ElementsAre("a)b\" "));
}

TEST(Literals, NumberListsAreBytesAsWideAsTheWidest) {
  using std::string_literals::operator""s;
  EXPECT_THAT(BytesOf("{0x7f, 'E', 76, 0106}"), ElementsAre("\x7f"
                                                            "ELF"));
  EXPECT_THAT(BytesOf("{ {0x464c457f, 1u}, {0b10} }"), ElementsAre("\x7f"
                                                                   "ELF\x01\0\0\0\x02\0\0\0"s));
  EXPECT_THAT(BytesOf("a(1) + b(1'000)"), ElementsAre("\x01", "\xe8\x03"));
  EXPECT_THAT(BytesOf("1.5e-3f"), testing::SizeIs(1));
}

TEST(Literals, TellTheirLine) {
  const auto literals = ReadLiterals("\n/*\n*/ \"a\"\nint b = 7;\n");
  ASSERT_EQ(literals.size(), 2U);
  EXPECT_EQ(literals[0].line, 3);
  EXPECT_EQ(literals[1].line, 4);
}

TEST(Literals, UnfinishedOnesEndWithTheText) {
  for (const char* source :
       {"\"a", "'", "/* a", "R\"(a", "R\"abc", "\"\\", "\"\\x", "0x", "1e+", "u8", "'a"}) {
    ReadLiterals(source);
  }
}

RC_GTEST_PROP(Literals, AnyTextIsRead, (const std::string& text)) {
  ReadLiterals(text);
  ReadLiterals("\"" + text);
  ReadLiterals("R\"(" + text);
  ReadLiterals("0" + text);
}

}  // namespace

}  // namespace warpsmith::audit
