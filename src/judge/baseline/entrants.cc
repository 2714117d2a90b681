#include "judge/baseline/entrants.h"

#include <set>
#include <string>
#include <utility>

#include "cuda/cublas.h"
#include "cuda/cublaslt.h"

namespace warpsmith::baseline {
namespace {

class List {
 public:
  List(const GemmBaselineName& name, std::string library)
      : name_(name), library_(std::move(library)) {}

  void Add(const cuda::GemmShape& shape, std::optional<cuda::LtAlgorithm> algorithm,
           bool exhaustive = false) {
    GemmBaselineChoice choice;
    choice.name = name_;
    choice.shape = shape;
    choice.algorithm = std::move(algorithm);
    choice.library = library_;
    choice.exhaustive = exhaustive;
    choices_.push_back(std::move(choice));
  }

  std::vector<GemmBaselineChoice> Take() { return DistinctCalls(std::move(choices_)); }

 private:
  const GemmBaselineName& name_;
  const std::string library_;
  std::vector<GemmBaselineChoice> choices_;
};

Status AddLt(const cuda::GemmShape& shape, int algorithms, const EntrantOptions& options,
             List& list) {
  const cuda::LtMatmul matmul = TRY(cuda::LtMatmul::Create(shape));
  for (cuda::LtAlgorithm& algorithm : TRY(matmul.Heuristic({.algorithms = algorithms,
                                      .workspace_bytes = kLibraryWorkspaceBytes,
                                      .alignment_bytes = options.alignment_bytes}))) {
    list.Add(shape, algorithm);
  }
  return {};
}

Status AddEvery(const cuda::GemmShape& shape, double seconds, List& list) {
  const cuda::LtMatmul matmul = TRY(cuda::LtMatmul::Create(shape));
  for (cuda::LtAlgorithm& algorithm : TRY(matmul.EveryAlgorithm(kLibraryWorkspaceBytes, seconds))) {
    list.Add(shape, algorithm, true);
  }
  return {};
}

}  // namespace

Result<std::vector<GemmBaselineChoice>> Entrants(const GemmBaselineName& name,
                                                 const GemmProblem& problem,
                                                 const EntrantOptions& options) {
  CHECK(name.library != GemmLibrary::kRival);
  const bool is_cublas = name.library == GemmLibrary::kCublas;
  const bool is_auto = name.library == GemmLibrary::kLtAuto;
  const bool is_bar = is_auto && !name.layout;
  List list(name, TRY(is_cublas ? cuda::CublasVersion() : cuda::CublasLtVersion()));
  std::vector<cuda::GemmShape> shapes;
  for (const cuda::GemmLayout layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
    if (name.layout && *name.layout != layout) continue;
    shapes.push_back({problem.m, problem.n, problem.k, layout, problem.type});
  }
  for (const cuda::GemmShape& shape : shapes) {
    if (!is_cublas) TRY(AddLt(shape, is_auto ? options.algorithms : 1, options, list));
    if (is_cublas || (is_bar && cuda::CublasVersion().ok())) list.Add(shape, {});
  }
  if (is_auto && options.exhaustive_seconds > 0) {
    const double seconds = options.exhaustive_seconds / static_cast<double>(shapes.size());
    for (const cuda::GemmShape& shape : shapes) TRY(AddEvery(shape, seconds, list));
  }
  return list.Take();
}

std::vector<GemmBaselineChoice> DistinctCalls(std::vector<GemmBaselineChoice> entrants) {
  std::set<std::string> calls;
  std::erase_if(entrants, [&](const GemmBaselineChoice& entrant) {
    return !calls.insert(CallOf(entrant)).second;
  });
  return entrants;
}

}  // namespace warpsmith::baseline
