#include "hgemm/bench/audit.h"

#include <gmock/gmock.h>

#include "base/file.h"
#include "judge/audit/audit.h"

namespace warpsmith::hgemm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Watched FindingsSample(int64_t m, const std::string& cubin) {
  Watched watched;
  watched.row.problem = {m, 64, 64};
  watched.row.kernel = {"tiny", {{"warp_m", 16}}};
  watched.check = audit::kMemcheck;
  watched.cubin = cubin;
  return watched;
}

audit::AuditFinding Clean() {
  return AuditReport{std::string(audit::kMemcheck), AuditStatus::kClean, "no error, none"};
}

class AuditFindingsTest : public ::testing::Test {
 protected:
  DeviceInfo Device(const std::string& driver = "580.1") const {
    DeviceInfo info;
    info.name = "NVIDIA H200";
    info.driver = driver;
    return info;
  }
  std::string Text() const { return ReadFile(csv_).value(); }

  TemporaryDirectory folder_ = TemporaryDirectory::Create("audit-findings-test").value();
  std::string csv_ = (folder_.path() / "audit.csv").string();
};

TEST_F(AuditFindingsTest, WhatWasCleanIsKnownTheNextTime) {
  {
    AuditFindings findings;
    ASSERT_TRUE(findings.Open(csv_, Device()).ok());
    EXPECT_FALSE(findings.IsKnown(audit::kMemcheck, "c1"));
    findings.Add(FindingsSample(64, "c1"), Clean());
    findings.Add(FindingsSample(128, "c2"), Rejected{"memcheck", "out of bounds"});
    findings.Add(FindingsSample(256, ""), audit::Absent(audit::kMemcheck, "no compiler"));
    EXPECT_EQ(findings.done(), 3);
    EXPECT_FALSE(findings.broken());
  }
  EXPECT_THAT(Text(),
              HasSubstr("\n64,64,64,TN,f16,memcheck,clean,no error; none,tiny warp_m=16,c1\n"));
  ASSERT_TRUE(
      WriteFileAtomic(csv_, Text() + "512,64,64,TN,f16,memcheck,clean,no error,tiny,c4").ok());
  {
    AuditFindings next;
    const Status opened = next.Open(csv_, Device());
    ASSERT_TRUE(opened.ok()) << opened.error().Line();
    EXPECT_TRUE(next.IsKnown(audit::kMemcheck, "c1"));
    EXPECT_FALSE(next.IsKnown(audit::kRacecheck, "c1"));
    EXPECT_FALSE(next.IsKnown(audit::kMemcheck, "c2")) << "it had findings";
    EXPECT_FALSE(next.IsKnown(audit::kMemcheck, "")) << "it was not compiled";
    EXPECT_FALSE(next.IsKnown(audit::kMemcheck, "c4")) << "its row is torn";
    EXPECT_THAT(Text(), HasSubstr(",memcheck,found,out of bounds,")) << "nothing is forgotten";
    AuditFindings other;
    EXPECT_FALSE(other.Open(csv_, Device()).ok()) << "two writers";
    next.Add(FindingsSample(128, "c1"), Rejected{"memcheck", "on another shape"});
    next.Add(FindingsSample(64, "c1"), Clean());
    next.Add(FindingsSample(128, "c2"), Clean());
    next.Add(FindingsSample(128, "c2"), audit::Absent(audit::kMemcheck, "no tool"));
  }
  AuditFindings last;
  ASSERT_TRUE(last.Open(csv_, Device()).ok());
  EXPECT_FALSE(last.IsKnown(audit::kMemcheck, "c1")) << "it stands convicted on a shape";
  EXPECT_TRUE(last.IsKnown(audit::kMemcheck, "c2")) << "the conviction was taken back";
  EXPECT_THAT(Text(), Not(HasSubstr(",c4")));
}

TEST_F(AuditFindingsTest, RefusesAnothersFile) {
  const std::string other = "# NVIDIA H200, driver 1, now, warpsmith hgemm audit\nm,n\n";
  ASSERT_TRUE(WriteFileAtomic(csv_, other).ok());
  for (const char* driver : {"580.1", "1"}) {
    const Status opened = AuditFindings().Open(csv_, Device(driver));
    ASSERT_FALSE(opened.ok());
    EXPECT_THAT(opened.error().message, HasSubstr("holds no audit"));
  }
  EXPECT_EQ(Text(), other);
}

}  // namespace
}  // namespace warpsmith::hgemm
