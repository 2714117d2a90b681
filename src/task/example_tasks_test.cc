// The tasks that the repository ships: each loads, and each of their candidates fits its task on
// every workload, hidden ones too.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/file.h"
#include "core/resolved_plan.h"
#include "task/check.h"
#include "task/task_file.h"

namespace warpsmith::task {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FoldersWith(const fs::path& folder, const std::string& file) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / file)) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

fs::path Examples() {
  return FindShippedFile("tasks/hgemm-512/task.toml").value().parent_path().parent_path();
}

void ExpectResolves(const LaunchPlan& plan, const Task& task, const std::string& what) {
  const auto one_cluster = [](const ResolvedLaunch&) -> Result<int64_t> { return int64_t{1}; };
  for (const Workload& workload : task.workloads) {
    const auto resolved = Resolve(plan, task, workload.sizes, 132, one_cluster);
    EXPECT_TRUE(resolved.ok()) << what << ", " << workload.name << ": " << resolved.error().Line();
  }
}

class ExampleTask : public testing::TestWithParam<fs::path> {};

TEST_P(ExampleTask, LoadsWithItsCandidates) {
  const auto loaded = LoadTask(GetParam().string()).value();
  const Task& task = loaded.task;
  EXPECT_EQ(task.name, GetParam().filename());
  for (const TaskFinding& finding : ExamineText(task)) {
    EXPECT_EQ(finding.severity, Severity::kNote) << finding.name << ": " << finding.what;
  }
  if (task.reference.plan) ExpectResolves(*task.reference.plan, task, "reference");
  const std::vector<fs::path> folders = FoldersWith(GetParam(), "candidate.toml");
  EXPECT_FALSE(folders.empty());
  for (const fs::path& folder : folders) {
    const auto file = CandidateFile::Load(folder).value();
    for (const Point& point : file.space().points()) {
      const auto candidate = file.Make(point).value();
      const Status fits = CheckForm(folder.string(), candidate, task);
      EXPECT_TRUE(fits.ok()) << fits.error().Line();
      const bool planned = candidate.form == Form::kKernel;
      if (planned && task.name != "hgemm-512") {  // whose tiles do not divide every size
        ExpectResolves(candidate.plan, task, folder.string());
      }
    }
  }
}

std::string NameOf(const testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.filename().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Shipped, ExampleTask,
                         testing::ValuesIn(FoldersWith(Examples(), "task.toml")), NameOf);

TEST(ExampleTasks, ThereAreEnoughOfThem) {
  EXPECT_GE(FoldersWith(Examples(), "task.toml").size(), 14u);
}

}  // namespace
}  // namespace warpsmith::task
