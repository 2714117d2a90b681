#include "hgemm/bench/options.h"

#include <gtest/gtest.h>

#include "core/tests/gemm_example.h"
#include "hgemm/bench/catalogues.h"
#include "search/tuning/search.h"
#include "task/hgemm_task.h"

namespace warpsmith::hgemm {
namespace {

TEST(HgemmProducts, LayoutAndTypeSurviveTheTask) {
  for (const ProductOptions& product :
       {ProductOptions{"NN", "f16"}, ProductOptions{"TN", "bf16"}}) {
    const Problem problem = search::ProblemOf(TaskOf(product), task::HgemmWorkload({64, 128, 256}));
    EXPECT_EQ(problem.n, 128);
    EXPECT_EQ(problem.layout == Layout::kNN, product.layout == "NN");
    EXPECT_EQ(warpsmith::Name(problem.dtype), product.dtype);
  }
}

// Runs and recordings carry these words.
TEST(HgemmProducts, OnlyWhatIsNotUsualIsWritten) {
  EXPECT_EQ(ArgumentsOf({}), "--layout TN");
  EXPECT_EQ(ArgumentsOf({"NN", "bf16"}), "--layout NN --dtype bf16");
}

TEST(HgemmProducts, ATunedBf16ShapeIsARowOfItsOwn) {
  RunRecord run;
  run.workload = task::HgemmWorkload({256, 512, 128});
  Step step;
  step.candidate = GemmCandidate();
  step.verdict = GemmVerdict();
  step.verdict.evidence.artifact_sha256 = std::string(64, 'a');
  Catalogue catalogue;
  for (const char* dtype : {"f16", "bf16"}) {
    run.task = TaskOf({"TN", dtype});
    const auto row = RowOf(run, step);
    ASSERT_TRUE(row.has_value()) << dtype;
    catalogue.rows.push_back(*row);
  }
  EXPECT_EQ(KeyText(catalogue.rows[1]), "256x512x128-TN bf16 NVIDIA H200");
  const auto text = ToText(catalogue);
  ASSERT_TRUE(text.ok()) << text.error().Line();
  EXPECT_NE(text->find("256,512,128,TN,bf16,"), std::string::npos);
}

}  // namespace
}  // namespace warpsmith::hgemm
