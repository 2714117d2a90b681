#include "hgemm/library_times.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;

LibraryTable Sample() {
  LibraryTable table{"NVIDIA H200; driver 580.1; f16", {"2026-11-22; warpsmith 0.1.0"}, "f16", {}};
  table.shapes.push_back({{64, 64, 128},
                          {{std::string(kOurKernel), "tn", Mode::kOffline, 2, std::nullopt},
                           {"cublas", "max", Mode::kOffline, 3, PairedRatio{1.5, {1.25, 1.75}}}}});
  table.shapes.push_back({{512, 64, 64}, {{"torch", "nn", Mode::kServer, 12.5, std::nullopt}}});
  return table;
}

std::string GoodLibraryTimes() { return ToText(Sample()); }

std::string LibraryErrorOf(const std::string& text) {
  const auto read = ParseLibraryTable("t.csv", text);
  return read.ok() ? "" : read.error().message;
}

std::string LibraryTimesWith(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(LibraryTimesTest, ReadsWhatItWrites) {
  EXPECT_THAT(GoodLibraryTimes(), HasSubstr("\n64,64,128,cublas,max,f16,offline,3,1.5,1.25,1.75\n"
                                            "512,64,64,torch,nn,f16,server,12.5,,,\n"));
  const auto read = ParseLibraryTable("t.csv", GoodLibraryTimes());
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(ToText(*read), GoodLibraryTimes());
  EXPECT_EQ(read->terms, Sample().terms);
  EXPECT_EQ(read->sessions, Sample().sessions);
  ASSERT_NE(Find(*read, {64, 64, 128}), nullptr);
  EXPECT_TRUE(Has(*Find(*read, {64, 64, 128}), kOurKernel));
  EXPECT_FALSE(Has(*Find(*read, {64, 64, 128}), "torch"));
  EXPECT_EQ(Find(*read, {64, 64, 64}), nullptr);
}

TEST(LibraryTimesTest, KeepsAndCountsWhatIsFasterThanTheBar) {
  LibraryTable table = Sample();
  EXPECT_EQ(StandingOf(table).checked, 0U) << "its rounds held no bar";
  for (LibraryTimes& shape : table.shapes) {
    shape.times.push_back({std::string(kBar), "max", Mode::kServer, 13, std::nullopt});
  }
  EXPECT_EQ(StandingOf(table).violations, 0U) << "torch's 12.5 us are within its band";
  table.shapes[1].times.back().us = 14;
  table.faster = {{{64, 64, 128}, {Mode::kOffline, "cublas-nn", {1.05, {1.02, 1.08}}}}};
  const auto read = ParseLibraryTable("t.csv", ToText(table));
  ASSERT_TRUE(read.ok()) << read.error().Line();
  EXPECT_EQ(ToText(*read), ToText(table));
  EXPECT_EQ(StandingOf(*read).checked, 2U);
  EXPECT_EQ(StandingOf(*read).violations, 2U);
}

TEST(LibraryTimesTest, NamesLineAndFieldOfWhatIsWrong) {
  EXPECT_THAT(LibraryErrorOf(""), HasSubstr("t.csv:1: the head is cut off"));
  EXPECT_THAT(LibraryErrorOf("m,n,k\n"), HasSubstr("t.csv:1: not a library table"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), "version 1", "version 2")),
              HasSubstr("of version '2'"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), "# terms: ", "# term: ")),
              HasSubstr("t.csv:2: expected"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), ",us,", ",ms,")),
              HasSubstr("t.csv:4: expected the columns"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), "\n64,", "\n0,")),
              HasSubstr("t.csv:5: m, n, k"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), "cublas,max", ",max")),
              HasSubstr("t.csv:6: name"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), "server", "serves")),
              HasSubstr("no mode 'serves'"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), "12.5", "0")),
              HasSubstr("us: expected a number above 0"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), "1.5,1.25", "1.5,1.75")),
              HasSubstr("outside its interval"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), "1.5,1.25,", "1.5,,")),
              HasSubstr("lo: expected"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), "nn,f16", "nn,bf16")),
              HasSubstr("more than one dtype"));
  EXPECT_THAT(LibraryErrorOf(GoodLibraryTimes() + "64,64,128,torch,nn,f16,server,1,,,\n"),
              HasSubstr("stand apart"));
  EXPECT_THAT(LibraryErrorOf(LibraryTimesWith(GoodLibraryTimes(), ",server", "")),
              HasSubstr("expected 11 cells, found 10"));
  EXPECT_THAT(LibraryErrorOf(GoodLibraryTimes() + "64,64"),
              HasSubstr("t.csv:8: the last line is cut off"));
}

TEST(LibraryTimesTest, NeverDiesOfWhatItReads) {
  EXPECT_TRUE(rc::check("damaged tables are read or refused", [] {
    std::string text = GoodLibraryTimes();
    const auto edits = *rc::gen::container<std::vector<std::pair<size_t, char>>>(
        rc::gen::pair(rc::gen::arbitrary<size_t>(), rc::gen::arbitrary<char>()));
    for (const auto& [at, letter] : edits) text[at % text.size()] = letter;
    const auto read = ParseLibraryTable("t.csv", text);
    if (!read.ok()) return;
    const auto again = ParseLibraryTable("t.csv", ToText(*read));
    RC_ASSERT(again.ok());
    RC_ASSERT(ToText(*again) == ToText(*read));
  }));
}

}  // namespace
}  // namespace warpsmith::hgemm
