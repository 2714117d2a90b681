#include "hgemm/measurement_text.h"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "hgemm/tests/catalogue.h"
#include "hgemm/tests/comparison.h"

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;

std::string MeasurementErrorOf(const std::string& text) {
  const auto read = ParseMeasurements("c.csv", text);
  return read.ok() ? "" : read.error().message;
}

std::string GoodComparison() { return ToText(SampleTable()); }
// As it may be edited.
std::string OldComparison() { return OldText(GoodComparison()); }

TEST(MeasurementTextTest, ReadsWhatItWrites) {
  const auto read = ParseMeasurements("c.csv", GoodComparison()).value();
  EXPECT_EQ(ToText(read.table), GoodComparison());
  EXPECT_EQ(read.whole_bytes, GoodComparison().size());
  EXPECT_EQ(read.table.terms, SampleTerms());
  ASSERT_EQ(read.table.shapes.size(), 2U);
  EXPECT_EQ(read.table.shapes[1].choice, "cublaslt");
  EXPECT_EQ(read.table.shapes[1].modes[3].mode, Mode::kServer);
  EXPECT_DOUBLE_EQ(read.table.shapes[1].modes[3].kernel.value, 0.9);
  EXPECT_EQ(read.table.sessions[0], SampleSession());
}

TEST(MeasurementTextTest, HasTheColumnsOfTheEvidenceFile) {
  EXPECT_THAT(GoodComparison(),
              HasSubstr("\nm,n,k,layout,dtype,mode,choice,kernel_us,ours_us,lt_auto_us,"
                        "ratio_kernel,lo_kernel,hi_kernel,ratio,lo,hi,floor_us,"
                        "plain_us,ratio_plain,lo_plain,hi_plain\n"));
  EXPECT_THAT(GoodComparison(),
              HasSubstr("\n64,64,64,TN,f16,device,tiny warp_m=16 warp_n=8,2,2.5,3,1.5,"
                        "1.494,1.506,1.5,1.494,1.506,0.25,,,,\n"));
}

TEST(MeasurementTextTest, NamesLineAndFieldOfWhatIsWrong) {
  EXPECT_THAT(MeasurementErrorOf(""), HasSubstr("c.csv:1: the head is cut off"));
  EXPECT_THAT(MeasurementErrorOf("m,n,k,mode\n"), HasSubstr("c.csv:1: not a comparison"));
  for (const auto& [from, to, words] :
       std::vector<std::array<std::string, 3>>{{"# pack: none\n", "", "c.csv:6: expected '# pack"},
                                               {"ours_us", "theirs_us", "expected the columns"},
                                               {"layout: TN", "layout: TT", "expected layout"},
                                               {"# session: date", "# session: day", "session"},
                                               {"# session", "# note", "before the first"},
                                               {"\n64,64,64", "\n0,64,64", "c.csv:11: m: expected"},
                                               {",TN,f16", ",NN,f16", "the head says TN"},
                                               {",device,", ",dev,", "no mode 'dev'"},
                                               {",2.5,", ",nan,", "ours_us: expected"},
                                               {",2.5,", ",inf,", "ours_us: expected"},
                                               {",2.5,", ",-1,", "ours_us: expected"},
                                               {",2.5,", ",2.5,7,", "expected 21 cells"},
                                               {"1.494,1.506", "1.506,1.494", "its interval"},
                                               {",0.25,", ",0.5,", "floor_us must be the same"}}) {
    EXPECT_THAT(MeasurementErrorOf(With(OldComparison(), from, to)), HasSubstr(words));
  }
}

TEST(MeasurementTextTest, AShapeStandsOnceWithEveryModeInOrder) {
  const std::string rows = RowsText(SampleTerms(), SampleShape({64, 64, 64}, 1.5));
  EXPECT_THAT(MeasurementErrorOf(OldComparison() + rows),
              HasSubstr("c.csv:19: 64x64x64 stands twice"));
  const std::string first = rows.substr(0, rows.find('\n') + 1);
  EXPECT_THAT(MeasurementErrorOf(With(OldComparison(), first, "")),
              HasSubstr("64x64x64: expected its row of mode"));
  EXPECT_THAT(MeasurementErrorOf(With(OldComparison(), first, first + first)),
              HasSubstr("'device-cold'"));
}

TEST(MeasurementTextTest, RefusesAnotherVersionWithItsOwnCode) {
  const auto read = ParseMeasurements("c.csv", With(GoodComparison(), "version 2", "version 3"));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, ErrorCode::kVersion);
}

// A cut between two shapes is the end of an unfinished table; every other damage is noticed.
TEST(MeasurementTextTest, EveryPartTellsOfTheLinesAboveIt) {
  const std::string text = GoodComparison();
  EXPECT_THAT(text, HasSubstr("\n# 9 lines above, sha256 "));
  EXPECT_THAT(text, HasSubstr("\n# 14 lines above, sha256 "));
  EXPECT_THAT(text, HasSubstr("\n# 18 lines above, sha256 "));
  EXPECT_THAT(MeasurementErrorOf(With(text, "device,", "device,1")), HasSubstr("c.csv:16: "));
  const std::string garbled = With(text, "# 14 lines", "# 14 lanes");
  EXPECT_THAT(MeasurementErrorOf(garbled), HasSubstr("the lines above are not those"));
  for (const char* version : {"version 1\n", "version 0\n", "version 22\n"}) {
    EXPECT_NE(MeasurementErrorOf(With(text, "version 2\n", version)), "") << version;
  }
  // No line of a finished table can be lost or change its place.
  const std::vector<std::string_view> lines = Split(text, '\n');
  for (size_t lost = 0; lost + 2 < lines.size(); ++lost) {
    std::string without, swapped;
    for (size_t i = 0; i + 1 < lines.size(); ++i) {
      const size_t other = i == lost ? i + 1 : i == lost + 1 ? i - 1 : i;
      swapped += std::string(lines[other]) + "\n";
      if (i != lost) without += std::string(lines[i]) + "\n";
    }
    EXPECT_NE(MeasurementErrorOf(without), "") << lines[lost];
    const auto read = ParseMeasurements("c.csv", swapped);
    EXPECT_TRUE(!read.ok() || read->whole_bytes < swapped.size()) << lines[lost];
  }
}

TEST(MeasurementTextTest, KeepsWhatWasFoundBesideTheBar) {
  MeasurementTable table = SampleTable();
  table.shapes[0].primary_check = PrimaryCheck{6, 1, {}};
  table.shapes[1].primary_check = PrimaryCheck{
      6, 2, {{Mode::kServer, "cublas-tn", Ratio(1.05)}, {Mode::kOffline, "x", Ratio(2)}}};
  const std::string text = ToText(table);
  EXPECT_THAT(text, HasSubstr("\n# bar checked: 64,64,64,6,1\n64,64,64,"));
  EXPECT_THAT(text, HasSubstr("\n# faster than the bar: 64,128,64,server,cublas-tn,1.05,"));
  const auto read = ParseMeasurements("c.csv", text).value();
  EXPECT_EQ(ToText(read.table), text);
  const PrimaryStanding standing = StandingOf(read.table);
  EXPECT_EQ(standing.checked, 2U);
  EXPECT_EQ(standing.chosen_again, 1U);
  EXPECT_EQ(standing.violations, 2U);
  EXPECT_EQ(StandingOf(SampleTable()).checked, 0U);
  EXPECT_THAT(MeasurementErrorOf(With(OldText(text), "checked: 64,64,64", "checked: 64,64,65")),
              HasSubstr("of another shape than the rows"));
  EXPECT_THAT(MeasurementErrorOf(With(OldText(text), "bar: 64,128,64", "bar: 64,128,65")),
              HasSubstr("another shape"));
  EXPECT_THAT(MeasurementErrorOf(With(OldText(text), "# bar checked: 64,128,64,6,2\n", "")),
              HasSubstr("follows no line of a checked bar"));
}

TEST(MeasurementTextTest, ASessionMayLackWhatCameLater) {
  const std::string old = With(
      OldComparison(),
      "; gpu=GPU-1a2b3c4d; commit=0123abc; command=warpsmith hgemm bench --against lib.so; x", "");
  const auto read = ParseMeasurements("c.csv", old).value();
  EXPECT_EQ(read.table.sessions[0].program, "0.1.0");
  EXPECT_EQ(read.table.sessions[0].command, "");
  EXPECT_EQ(OldText(ToText(read.table)), old);
}

TEST(MeasurementTextTest, KeepsTheKernelWithoutLaunchOverlap) {
  MeasurementTable table = SampleTable();
  table.shapes[0].modes[1].plain_us = 2.25;
  table.shapes[0].modes[1].plain = Ratio(1.25);
  const std::string text = ToText(table);
  EXPECT_THAT(text, HasSubstr(",0.25,2.25,1.25,1.245,1.255\n"));
  const auto read = ParseMeasurements("c.csv", text).value();
  EXPECT_EQ(ToText(read.table), text);
}

// Tables that were written before the kernel was measured without overlap, too.
TEST(MeasurementTextTest, ReadsATableWithoutThoseColumns) {
  std::string old = With(OldComparison(), ",plain_us,ratio_plain,lo_plain,hi_plain", "");
  for (size_t at = old.find(",,,,\n"); at != std::string::npos; at = old.find(",,,,\n")) {
    old.erase(at, 4);
  }
  const auto read = ParseMeasurements("c.csv", old).value();
  EXPECT_EQ(read.table.shapes.size(), 2U);
  EXPECT_EQ(read.whole_bytes, old.size());
  EXPECT_EQ(ToText(read.table), GoodComparison());
}

// Wherever a writer was killed, all shapes before it are there, and going on from the whole part
// gives what an undisturbed writer would have written.
TEST(MeasurementTextTest, AFileThatWasCutOffKeepsItsWholeShapes) {
  const std::string text = GoodComparison();
  const std::string head = ToText({SampleTerms(), {}, {}});
  const size_t one_shape = text.find("\n64,128,64") + 1;
  EXPECT_TRUE(rc::check([&] {
    const auto bytes = *rc::gen::inRange(head.size(), text.size() + 1);
    const auto read = ParseMeasurements("c.csv", std::string_view(text).substr(0, bytes));
    RC_ASSERT(read.ok());
    const size_t shapes = read->table.shapes.size();
    RC_ASSERT(shapes == (bytes == text.size() ? 2U : bytes >= one_shape ? 1U : 0U));
    RC_ASSERT(read->whole_bytes == (shapes == 2   ? text.size()
                                    : shapes == 1 ? one_shape
                                                  : head.size()));
    RC_ASSERT(read->table.sessions.size() == (shapes == 0 ? 0U : 1U));
  }));
}

TEST(MeasurementTextTest, AnyTableIsReadAsItWasWritten) {
  EXPECT_TRUE(rc::check([] {
    MeasurementTable table{SampleTerms(), {SampleSession("a"), SampleSession("b")}, {}};
    const auto count = *rc::gen::inRange<int64_t>(0, 5);
    for (int64_t i = 0; i < count; ++i) {
      const double ratio = *rc::gen::inRange(1, 100'000) / 10'000.0;
      table.shapes.push_back(
          SampleShape({1 + *rc::gen::inRange<int64_t>(0, 1 << 24), 7, 1 + i}, ratio));
      table.shapes.back().session = i < 2 ? 0 : 1;
      table.shapes.back().modes[2].kernel = Ratio(*rc::gen::inRange(1, 100'000) / 777.0, 0.3);
    }
    const std::string text = ToText(table);
    const auto read = ParseMeasurements("c.csv", text);
    RC_ASSERT(read.ok());
    RC_ASSERT(read->table.shapes.size() == table.shapes.size());
    RC_ASSERT(ToText(read->table) == text);
  }));
}

MeasurementTable SampleLibraries() {
  MeasurementTerms terms = SampleTerms();
  terms.layout = kBothLayouts;
  MeasurementTable table{terms, {SampleSession()}, {}};
  for (const Problem& problem : {Problem{64, 64, 128}, Problem{512, 64, 64}}) {
    table.shapes.emplace_back().problem = problem;
  }
  table.shapes[0].times = {{std::string(kOurKernel), "tn", Mode::kOffline, 2, std::nullopt},
                           {"cublas", "max", Mode::kOffline, 3, PairedRatio{1.5, {1.25, 1.75}}}};
  table.shapes[1].times = {{"torch", "nn", Mode::kServer, 12.5, std::nullopt}};
  return table;
}

std::string GoodLibraries() { return ToText(SampleLibraries()); }

TEST(LibraryTextTest, ReadsWhatItWrites) {
  EXPECT_THAT(GoodLibraries(), HasSubstr("# warpsmith hgemm library table, version 3\n"));
  EXPECT_THAT(OldText(GoodLibraries()),
              HasSubstr("\n64,64,128,cublas,max,f16,offline,3,1.5,1.25,1.75\n"
                        "# rows: 1\n512,64,64,torch,nn,f16,server,12.5,,,\n"));
  const auto read = ParseMeasurements("t.csv", GoodLibraries()).value();
  EXPECT_EQ(ToText(read.table), GoodLibraries());
  EXPECT_EQ(read.whole_bytes, GoodLibraries().size());
  const ShapeMeasurement* shape = Find(read.table, {64, 64, 128});
  ASSERT_NE(shape, nullptr);
  EXPECT_TRUE(Has(*shape, kOurKernel));
  EXPECT_FALSE(Has(*shape, "torch"));
}

TEST(LibraryTextTest, ReadsTheFirstVersion) {
  const std::string old =
      "# warpsmith hgemm library table, version 1\n"
      "# terms: NVIDIA H200; driver 580.1; f16; j1/certified/r5; bar j1/contest2; catalogue abc\n"
      "# session: date=d1; library=cuBLASLt 13.1.0; program=0.1.0\n"
      "# session: date=d2; library=cuBLASLt 13.1.0; program=0.1.0; gpu=GPU-1; driver=580.1; "
      "commit=c; command=warpsmith hgemm bench; x\n"
      "# faster than the bar: 64,64,128,offline,cublas-nn,1.05,1.02,1.08\n"
      "m,n,k,name,layout,dtype,mode,us,ratio,lo,hi\n"
      "64,64,128,kernel,tn,f16,offline,2,,,\n"
      "64,64,128,cublaslt-auto,max,f16,offline,3,1.5,1.25,1.75\n"
      "512,64,64,torch,nn,f16,server,12.5,,,\n";
  const auto read = ParseMeasurements("t.csv", old).value();
  EXPECT_TRUE(read.is_old);
  const MeasurementTable& table = read.table;
  EXPECT_EQ(table.terms, (MeasurementTerms{"NVIDIA H200", "both", "f16", "driver 580.1", "none",
                                           "abc", "j1/certified/r5; bar j1/contest2"}));
  ASSERT_EQ(table.sessions.size(), 2U);
  EXPECT_EQ(table.sessions[0].baseline, "cuBLASLt 13.1.0");
  EXPECT_EQ(table.sessions[1].command, "warpsmith hgemm bench; x");
  ASSERT_EQ(table.shapes.size(), 2U);
  EXPECT_EQ(table.shapes[0].times.size(), 2U);
  EXPECT_EQ(StandingOf(table).checked, 1U);
  EXPECT_EQ(StandingOf(table).violations, 1U);
  const auto again = ParseMeasurements("t.csv", ToText(table)).value();
  EXPECT_EQ(ToText(again.table), ToText(table));
  EXPECT_THAT(MeasurementErrorOf(old + "64,64"), HasSubstr("is cut off"));
}

TEST(LibraryTextTest, MoreRowsOfAShapeMayComeLater) {
  ShapeMeasurement more;
  more.problem = {64, 64, 128};
  more.times = {{"torch", "nn", Mode::kServer, 9, std::nullopt}};
  const std::string rows = RowsText(SampleLibraries().terms, more);
  const auto read = ParseMeasurements("t.csv", OldText(GoodLibraries()) + rows).value();
  ASSERT_EQ(read.table.shapes.size(), 2U);
  EXPECT_EQ(read.table.shapes[0].times.size(), 3U);
}

TEST(LibraryTextTest, KeepsAndCountsWhatIsFasterThanTheBar) {
  MeasurementTable table = SampleLibraries();
  EXPECT_EQ(StandingOf(table).checked, 0U) << "its rounds held no bar";
  for (ShapeMeasurement& shape : table.shapes) {
    shape.primary_check = PrimaryCheck{6, 1, {}};
    shape.times.push_back({std::string(kPrimary), "max", Mode::kServer, 13, std::nullopt});
  }
  EXPECT_EQ(StandingOf(table).violations, 0U) << "torch's 12.5 us are within its band";
  table.shapes[1].times.back().us = 14;
  table.shapes[0].primary_check->violations = {{Mode::kOffline, "cublas-nn", {1.05, {1.02, 1.08}}}};
  const auto read = ParseMeasurements("t.csv", ToText(table)).value();
  EXPECT_EQ(ToText(read.table), ToText(table));
  EXPECT_EQ(StandingOf(read.table).checked, 2U);
  EXPECT_EQ(StandingOf(read.table).violations, 2U);
}

TEST(LibraryTextTest, NamesLineAndFieldOfWhatIsWrong) {
  const auto error = [](const std::string& from, const std::string& to) {
    return MeasurementErrorOf(With(OldText(GoodLibraries()), from, to));
  };
  EXPECT_THAT(error("version 2", "version 9"), HasSubstr("of version '9'"));
  EXPECT_THAT(error("layout: both", "layout: TN"), HasSubstr("expected layout both"));
  EXPECT_THAT(error(",us,", ",ms,"), HasSubstr("c.csv:9: expected the columns"));
  EXPECT_THAT(error("\n64,", "\n0,"), HasSubstr("c.csv:12: m: expected"));
  EXPECT_THAT(error("cublas,max", ",max"), HasSubstr("c.csv:13: name is empty"));
  EXPECT_THAT(error("server", "serves"), HasSubstr("no mode 'serves'"));
  EXPECT_THAT(error("12.5", "0"), HasSubstr("us: expected a number above 0"));
  EXPECT_THAT(error("1.5,1.25", "1.5,1.75"), HasSubstr("outside its interval"));
  EXPECT_THAT(error("1.5,1.25,", "1.5,,"), HasSubstr("lo: expected"));
  EXPECT_THAT(error("nn,f16", "nn,bf16"), HasSubstr("the head says"));
  EXPECT_THAT(error(",server", ""), HasSubstr("expected 11 cells, found 10"));
  EXPECT_THAT(error("# rows: 2", "# rows: 0"), HasSubstr("rows: expected"));
  EXPECT_THAT(error("# rows: 2", "# rows: 3"), HasSubstr("64x64x128: expected 3 rows"));
  EXPECT_THAT(error("# rows: 2\n", ""), HasSubstr("before the first '# rows"));
}

// Whatever a byte of the file becomes, reading it ends in words, or in what was written up to there.
TEST(MeasurementTextTest, ADamagedByteIsNoMatter) {
  EXPECT_TRUE(rc::check([] {
    const std::string whole = *rc::gen::arbitrary<bool>() ? GoodComparison() : GoodLibraries();
    std::string text = whole;
    text[*rc::gen::inRange<size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
    const auto read = ParseMeasurements("c.csv", text);
    if (!read.ok()) {
      RC_ASSERT(!read.error().message.empty());
      return;
    }
    const std::string again = ToText(read->table);
    RC_ASSERT(ParseMeasurements("c.csv", again).ok());
    RC_ASSERT(whole.starts_with(again));
  }));
}

TEST(MeasurementTextTest, RefusesToWriteWhatItCouldNotRead) {
  MeasurementTerms terms = SampleTerms();
  EXPECT_TRUE(CheckWritable(terms, SampleSession()).ok());
  terms.device = "a\nb";
  EXPECT_FALSE(CheckWritable(terms, SampleSession()).ok());
  MeasurementSession session = SampleSession();
  session.driver = "1; toolkit=2";
  EXPECT_FALSE(CheckWritable(SampleTerms(), session).ok());
  session.driver = "";
  EXPECT_FALSE(CheckWritable(SampleTerms(), session).ok());
}

TEST(MeasurementTextTest, WhatIsSpoiledIsReadAsItStandsOrRefusedByName) {
  for (const std::string& good : {OldComparison(), OldText(GoodLibraries())}) {
    size_t refused = 0;
    for (const std::string& spoiled : Spoiled(good)) {
      const auto read = ParseMeasurements("c.csv", spoiled);
      if (read.ok()) {
        const std::string again = ToText(read->table);
        EXPECT_EQ(ToText(ParseMeasurements("c.csv", again).value().table), again) << spoiled;
      } else {
        ++refused;
        EXPECT_THAT(read.error().message, HasSubstr("c.csv:")) << spoiled;
      }
    }
    EXPECT_GT(refused, Spoiled(good).size() / 2);
  }
}

}  // namespace
}  // namespace warpsmith::hgemm
