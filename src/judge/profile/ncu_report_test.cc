#include "judge/profile/ncu_report.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "judge/profile/metrics.h"

namespace warpsmith::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr char kWide[] =
    R"csv(==PROF== Connected to process 4711 (/usr/bin/solo)
"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpc__cycles_elapsed.max","gpu__time_duration.sum","smsp__inst_executed.sum","lts__t_sector_hit_rate.pct","launch__waves_per_multiprocessor"
"","","","","","","","","","","","cycle","ns","inst","%",""
"0","4711","solo","127.0.0.1","void fill<float, 4>(float *, int)","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0","12,345","8192","1,048,576","n/a","0.97"
==WARNING== Note: Running with unmodified GPU clocks. If not controlled otherwise, profiling results may be inconsistent.
"1","4711","solo","127.0.0.1","axpy","1","7","(256, 1, 1)","(1024, 1, 1)","0","9.0","23,456","1,016,384","2,097,152","51.25","(!) nan"
==PROF== Disconnected from process 4711
)csv";

constexpr char kLong[] =
    R"csv("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","Section Name","Metric Name","Metric Unit","Metric Value"
"0","1","solo","h","first(int)","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","usecond","12.5"
"0","1","solo","h","first(int)","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","Command line profiler metrics","dram__bytes_read.sum","Mbyte","1,234.5"
"1","1","solo","h","second(int)","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","msecond","2"
"1","1","solo","h","second(int)","1","7","(1, 1, 1)","(1, 1, 1)","0","9.0","SpeedOfLight","","",""
)csv";

TEST(NcuReport, ReadsTheWideLayoutInExecutionOrder) {
  const auto report = ReadNcuReport("ncu", kWide);
  ASSERT_TRUE(report.ok()) << report.error().Line();
  ASSERT_THAT(report->kernels, SizeIs(2));
  EXPECT_EQ(report->kernels[0].kernel, "void fill<float, 4>(float *, int)");
  EXPECT_EQ(report->kernels[1].kernel, "axpy");
  EXPECT_EQ(Find(report->kernels[0], metric::kCycles), 12345);
  EXPECT_EQ(Find(report->kernels[1], metric::kTimeNs), 1016384);
  EXPECT_EQ(Find(report->kernels[1], metric::kL2HitPct), 51.25);
  EXPECT_THAT(report->warnings, ElementsAre(HasSubstr("unmodified GPU clocks")));
  EXPECT_EQ(report->unread_rows, 0);
}

TEST(NcuReport, WhatIsNoNumberIsAbsentAndNotZero) {
  const auto report = ReadNcuReport("ncu", kWide);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(Find(report->kernels[0], metric::kL2HitPct), std::nullopt);
  EXPECT_EQ(Find(report->kernels[1], metric::kWaves), std::nullopt);
  EXPECT_THAT(report->kernels[0].metrics, SizeIs(4));
  for (const char* text : {"nan", "NaN", "-nan", "inf", "", " ", "no data", "(!) n/a", "0x10",
                           "27.595.520", "1,23", ",123", "1,2345", "1234,567", "1.5,000", "--1"}) {
    const std::string csv =
        "\"ID\",\"Kernel Name\",\"a__b.sum\",\"c__d.sum\"\n\"\",\"\",\"\",\"\"\n\"0\",\"k\",\"" +
        std::string(text) + "\",\"7\"\n";
    const auto one = ReadNcuReport("ncu", csv);
    ASSERT_TRUE(one.ok()) << text;
    EXPECT_THAT(one->kernels[0].metrics, ElementsAre(std::pair("c__d.sum", 7.0))) << text;
  }
}

TEST(NcuReport, ReadsTheLongLayoutAndItsUnits) {
  const auto report = ReadNcuReport("saved.csv", kLong);
  ASSERT_TRUE(report.ok()) << report.error().Line();
  ASSERT_THAT(report->kernels, SizeIs(2));
  EXPECT_EQ(Find(report->kernels[0], metric::kTimeNs), 12'500);
  EXPECT_EQ(Find(report->kernels[0], metric::kDramReadBytes), 1'234'500'000);
  EXPECT_EQ(Find(report->kernels[1], metric::kTimeNs), 2'000'000);
}

TEST(NcuReport, NoMeasuredRowIsAnErrorThatSaysWhy) {
  const auto none = ReadNcuReport("ncu",
                                  "==PROF== Connected to process 1\n"
                                  "==PROF== Disconnected from process 1\n"
                                  "==WARNING== No kernels were profiled.\n");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNothingMeasured);
  EXPECT_THAT(none.error().message, HasSubstr("No kernels were profiled."));

  const auto failed = ReadNcuReport("ncu", "==ERROR== The application returned an error code (3).");
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().message, HasSubstr("error code (3)"));

  const auto all_nan = ReadNcuReport(
      "ncu", "\"ID\",\"Kernel Name\",\"a__b.sum\"\n\"\",\"\",\"\"\n\"0\",\"k\",\"nan\"\n");
  ASSERT_FALSE(all_nan.ok());
  EXPECT_EQ(all_nan.error().code, ErrorCode::kNothingMeasured);
  EXPECT_EQ(ReadNcuReport("ncu", "").error().code, ErrorCode::kNothingMeasured);
}

TEST(NcuReport, KnowsThatCountersAreDenied) {
  const auto denied = ReadNcuReport(
      "ncu",
      "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
      "Performance Counters on the target device 0.\n==WARNING== No kernels were profiled.\n");
  ASSERT_FALSE(denied.ok());
  EXPECT_EQ(denied.error().code, ErrorCode::kPermission);
  EXPECT_THAT(denied.error().fix, HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
}

TEST(NcuReport, NamesHoldQuotesCommasAndLines) {
  const auto report = ReadNcuReport(
      "ncu",
      "\"ID\",\"Kernel Name\",\"a__b.sum\"\r\n\"\",\"\",\"\"\r\n"
      "\"0\",\"say \"\"hi\"\", then\n==ERROR== ERR_NVGPUCTRPERM\n\"\"ID\"\",x\",\"5\"\r\n");
  ASSERT_TRUE(report.ok()) << report.error().Line();
  ASSERT_THAT(report->kernels, SizeIs(1));
  EXPECT_EQ(report->kernels[0].kernel, "say \"hi\", then\n==ERROR== ERR_NVGPUCTRPERM\n\"ID\",x");
  EXPECT_THAT(report->errors, SizeIs(0));  // a name is no message
  EXPECT_FALSE(DeniesCounters(*report));
}

TEST(NcuReport, AnOutputCutInAQuoteIsAnError) {
  const auto cut =
      ReadNcuReport("saved.csv", std::string(kWide).substr(0, std::string(kWide).find("xpy")));
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, ErrorCode::kBadInput);
  EXPECT_THAT(cut.error().message, HasSubstr("saved.csv"));
}

TEST(NcuReport, OtherTextBeforeTheTableAndOddRowsAreCountedNotBelieved) {
  const auto report =
      ReadNcuReport("ncu",
                    "loading \"weights\", 3 of 7\n\"unclosed\n\"ID\",\"Kernel Name\",\"a__b.sum\"\n"
                    "\"\",\"\",\"\"\n\"0\",\"k\",\"5\"\nstray line\n\"1\",\"k2\"\n");
  ASSERT_TRUE(report.ok()) << report.error().Line();
  EXPECT_THAT(report->kernels, SizeIs(1));
  EXPECT_EQ(report->unread_rows, 2);
}

TEST(NcuReport, CutsNamesAtACharactersEnd) {
  std::string name;
  while (name.size() < 2 * kMaxKernelNameBytes) name += "\xc3\xa4";
  name.insert(0, "x");
  const auto report = ReadNcuReport(
      "ncu", "\"ID\",\"Kernel Name\",\"a__b.sum\"\n\"\",\"\",\"\"\n\"0\",\"" + name + "\",\"5\"\n");
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->kernels[0].kernel, name.substr(0, kMaxKernelNameBytes - 1));
}

TEST(NcuReport, NamesTheMetricsThatAreUnknown) {
  const NcuReport report = ReadNcuMessages(
      "==ERROR== Failed to find metric sm__nothing.avg\n"
      "==ERROR== Failed to access the following 2 metrics: nvlrx__bytes.sum, nvltx__bytes.sum\n"
      "==ERROR== Something else with a__b\n");
  EXPECT_THAT(UnknownMetrics(report),
              ElementsAre("sm__nothing.avg", "nvlrx__bytes.sum", "nvltx__bytes.sum"));
}

TEST(NcuReport, ReadsTheVersion) {
  EXPECT_EQ(NcuVersion("NVIDIA (R) Nsight Compute Command Line Profiler\nCopyright (c) 2018-2025\n"
                       "Version 2025.3.1.0 (build 36398880) (public-release)\n"),
            "ncu 2025.3.1");
  EXPECT_EQ(NcuVersion("Version 2022.4"), "ncu 2022.4");
  EXPECT_EQ(NcuVersion("Version unknown"), std::nullopt);
  EXPECT_EQ(NcuVersion("bash: ncu: command not found"), std::nullopt);
}

std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char character : text) quoted += character == '"' ? "\"\"" : std::string(1, character);
  return quoted + "\"";
}

// Whatever a name holds, as long as it is quoted by the rules it comes back, and adds no kernel.
RC_GTEST_PROP(NcuReport, QuotedNamesComeBack, ()) {
  const auto names = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::string>>(rc::gen::container<std::string>(rc::gen::oneOf(
          rc::gen::element('"', ',', '\n', '\r', '=', ' '), rc::gen::inRange<char>(32, 127)))));
  std::string csv = "\"ID\",\"Kernel Name\",\"a__b.sum\"\n\"\",\"\",\"\"\n";
  for (size_t i = 0; i < names.size(); ++i) {
    csv += Quoted(std::to_string(i)) + "," + Quoted(names[i].substr(0, 500)) + ",\"" +
           std::to_string(i + 1) + "\"\n";
  }
  const auto report = ReadNcuReport("ncu", csv);
  RC_ASSERT(report.ok());
  RC_ASSERT(report->kernels.size() == names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    RC_ASSERT(report->kernels[i].kernel == names[i].substr(0, 500));
    RC_ASSERT(Find(report->kernels[i], "a__b.sum") == static_cast<double>(i + 1));
  }
}

// Any damage gives kernels with finite numbers, or an error; never a crash or a hang.
RC_GTEST_PROP(NcuReport, SurvivesDamage, ()) {
  std::string text = *rc::gen::element(std::string(kWide), std::string(kLong));
  const int edits = *rc::gen::inRange(0, 12);
  for (int i = 0; i < edits; ++i) {
    const auto at = *rc::gen::inRange<size_t>(0, text.size() + 1);
    const auto length = *rc::gen::inRange<size_t>(0, 40);
    const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    text.replace(std::min(at, text.size()), length, bytes);
  }
  const auto report = ReadNcuReport("ncu", text);
  if (!report.ok()) return;
  for (const KernelProfile& kernel : report->kernels) {
    RC_ASSERT(kernel.kernel.size() <= kMaxKernelNameBytes);
    for (const auto& [name, value] : kernel.metrics) RC_ASSERT(std::isfinite(value));
  }
}

}  // namespace
}  // namespace warpsmith::profile
