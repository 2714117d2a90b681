#include "serve/http/task_table.h"

#include <gtest/gtest.h>

#include "hgemm/family.h"

namespace warpsmith::serve {
namespace {

TEST(TaskTable, NamesThePointOfAProductsCandidateWithoutARecording) {
  DeviceInfo device;
  device.architecture = "sm_90a";
  device.sm_count = 132;
  const auto table = TaskTable::Open({}, nullptr, device, false).value();
  const SubjectPointer product = table->Find("hgemm:64x64x64:TN", "").value();
  EXPECT_NE(table->ConfigurationsOf(*product).find("tiny {\""), std::string::npos);
  const hgemm::Problem problem{64, 64, 64};
  const Space space = hgemm::SpaceFor(problem, hgemm::TargetOf(device));
  const Point& point = space.points().back();
  for (int i = 0; i < 2; ++i) {  // found, then known
    Candidate candidate = hgemm::MakeCandidate(problem, point).value();
    candidate.provenance = {};
    table->NamePoint(*product, candidate);
    EXPECT_EQ(candidate.provenance.family, point.family);
    EXPECT_EQ(candidate.provenance.config, point.config);
    candidate.provenance = {};
    candidate.sources.begin()->second += "// another\n";
    table->NamePoint(*product, candidate);
    EXPECT_EQ(candidate.provenance.family, "");
  }
}

}  // namespace
}  // namespace warpsmith::serve
