#include "report/report_csv.h"

#include <gmock/gmock.h>

#include "report/sample_report.h"

namespace warpsmith::report {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(ToCsv, SaysWhereTheNumbersComeFromThenHasTheAgreedColumns) {
  const std::string csv = ToCsv(SampleReport());
  EXPECT_THAT(csv, StartsWith("# device: NVIDIA H200\n# driver: 580.95\n"));
  EXPECT_THAT(csv, HasSubstr("# date: 2026-11-21T10:00:00Z\n# command: warpsmith hgemm tune"));
  EXPECT_THAT(csv, HasSubstr("\nm,n,k,mode,config,ours_us,lt_auto_us,ratio,lo,hi,floor_us\n"));
  EXPECT_THAT(csv, HasSubstr("\n4096,4096,4096,device,wgmma bm=128 bn=256 cluster=2 raster=8 "
                             "splits=1 stages=4,224.2,204,0.9100,"));
}

TEST(ToCsv, ALineBreakInACommandCannotForgeARow) {
  RunReport report = SampleReport();
  report.origin.command = "x\n1,1,1,device,forged,1,2,2,2,2,1";
  EXPECT_THAT(ToCsv(report), HasSubstr("# command: x 1,1,1,device,forged"));
}

TEST(CsvCell, QuotesAndDefusesFormulas) {
  EXPECT_EQ(CsvCell("bm=128 bn=64"), "bm=128 bn=64");
  EXPECT_EQ(CsvCell("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvCell("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(CsvCell("=HYPERLINK(1)"), "'=HYPERLINK(1)");
}

}  // namespace
}  // namespace warpsmith::report
