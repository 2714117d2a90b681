#include "judge/baseline/tune.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "cuda/cublas.h"
#include "cuda/cublaslt.h"
#include "cuda/graph.h"
#include "judge/baseline/contest.h"

namespace warpsmith::baseline {
namespace {

constexpr int kMostLaunches = 50;  // in one graph

struct Bed {
  const cuda::GemmOperands& operands;
  const cuda::Stream& stream;
  const cuda::Event& start;
  const cuda::Event& end;
  double batch_us;
  std::shared_ptr<const cuda::DeviceBuffer> workspace;  // one for all: they run one at a time
};

std::vector<plan::Binding> BindingsFor(const cuda::GemmShape& shape,
                                       const cuda::GemmOperands& operands) {
  return {{"A", operands.a, shape.m * shape.k * 2},
          {"B", operands.b, shape.k * shape.n * 2},
          {"C", operands.c, shape.m * shape.n * 2}};
}

Result<std::vector<cuda::LtAlgorithm>> Answers(const GemmBaselineName& name,
                                               const cuda::GemmShape& shape,
                                               const TuneOptions& options) {
  const cuda::LtMatmul matmul = TRY(cuda::LtMatmul::Create(shape));
  return matmul.Heuristic(
      {.algorithms = name.library == GemmLibrary::kLtAuto ? options.algorithms : 1,
       .workspace_bytes = options.workspace_bytes,
       .alignment_bytes = options.alignment_bytes});
}

// Everything that `name` leaves open for this shape.
Result<std::vector<GemmBaselineChoice>> Contenders(const GemmBaselineName& name,
                                                   const GemmProblem& problem,
                                                   const TuneOptions& options) {
  const bool is_cublas = name.library == GemmLibrary::kCublas;
  const std::string library = TRY(is_cublas ? cuda::CublasVersion() : cuda::CublasLtVersion());
  std::vector<GemmBaselineChoice> contenders;
  for (const cuda::GemmLayout layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
    if (name.layout && *name.layout != layout) continue;
    GemmBaselineChoice choice{.name = name,
                              .shape = {problem.m, problem.n, problem.k, layout, problem.type},
                              .algorithm = {},
                              .library = library};
    if (is_cublas) {
      contenders.push_back(choice);
      continue;
    }
    for (const cuda::LtAlgorithm& algorithm : TRY(Answers(name, choice.shape, options))) {
      choice.algorithm = algorithm;
      contenders.push_back(choice);
    }
  }
  return contenders;
}

Result<cuda::Graph> CaptureLaunches(const plan::TimedCallable& callable,
                                    const std::vector<plan::Binding>& bindings, int launches,
                                    const Bed& bed) {
  return cuda::Graph::Capture(bed.stream, [&]() -> Status {
    TRY(bed.start.RecordInGraph(bed.stream));
    for (int i = 0; i < launches; ++i) TRY(callable.enqueue(bed.stream, bindings));
    return bed.end.RecordInGraph(bed.stream);
  });
}

// Microseconds a launch. The replay before it leaves the L2 as this contender's own launches do.
Result<double> TimeReplay(const cuda::Graph& graph, int launches, const Bed& bed) {
  TRY(graph.Launch(bed.stream));
  TRY(graph.Launch(bed.stream));
  TRY(bed.stream.Synchronize());
  return TRY(cuda::ElapsedUs(bed.start, bed.end)) / launches;
}

// One contender, captured: `launches` executions between two event nodes. The graph keeps no memory
// alive, so the callable comes with it.
struct Contestant {
  plan::TimedCallable callable;
  cuda::Graph graph;
  int launches;
};

Result<Contestant> Prepare(const GemmBaselineChoice& choice, const Bed& bed) {
  plan::TimedCallable callable = TRY(MakeGemmBaseline(choice, bed.workspace));
  const std::vector<plan::Binding> bindings = BindingsFor(choice.shape, bed.operands);
  cuda::Graph single = TRY(CaptureLaunches(callable, bindings, 1, bed));
  const double once_us = TRY(TimeReplay(single, 1, bed));
  const int launches =
      std::clamp(static_cast<int>(std::lround(bed.batch_us / once_us)), 1, kMostLaunches);
  if (launches == 1) return Contestant{std::move(callable), std::move(single), 1};
  cuda::Graph graph = TRY(CaptureLaunches(callable, bindings, launches, bed));
  return Contestant{std::move(callable), std::move(graph), launches};
}

// Of those that a layout admits, the fastest; `choices` and `medians_us` belong together.
std::vector<GemmBaselineChoice> BestOfLayouts(const std::vector<const GemmBaselineChoice*>& choices,
                                              const std::vector<double>& medians_us) {
  std::vector<GemmBaselineChoice> best;
  for (const cuda::GemmLayout layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
    std::optional<size_t> fastest;
    int tried = 0;
    for (size_t i = 0; i < choices.size(); ++i) {
      if (choices[i]->shape.layout != layout) continue;
      if (!fastest || medians_us[i] < medians_us[*fastest]) fastest = i;
      ++tried;
    }
    if (!fastest) continue;
    best.push_back(*choices[*fastest]);
    best.back().name.layout = layout;
    best.back().median_us = medians_us[*fastest];
    best.back().tried = tried;
  }
  return best;
}

Result<GemmBaselineChosen> Fastest(const std::vector<GemmBaselineChoice>& choices, const Bed& bed,
                                   int rounds) {
  std::vector<Contestant> contestants;
  std::vector<const GemmBaselineChoice*> runnable;
  Error refused;
  for (const GemmBaselineChoice& choice : choices) {
    Result<Contestant> contestant = Prepare(choice, bed);
    if (!contestant.ok()) {  // the heuristic offers what cublasLtMatmul then may refuse
      refused = contestant.error();
      continue;
    }
    contestants.push_back(std::move(contestant).value());
    runnable.push_back(&choice);
  }
  if (runnable.empty()) return refused;
  std::vector<int> layouts;
  for (const GemmBaselineChoice* choice : runnable) {
    layouts.push_back(static_cast<int>(choice->shape.layout));
  }
  Random random = Random::Secret();
  const ContestResult result = TRY(RunContest(
      static_cast<int>(runnable.size()), rounds, random,
      [&](int i) -> Result<double> {
        return TimeReplay(contestants[i].graph, contestants[i].launches, bed);
      },
      layouts));
  GemmBaselineChosen chosen{*runnable[result.winner], {}};
  chosen.best.median_us = result.medians_us[result.winner];
  chosen.best.tried = static_cast<int>(runnable.size());
  if (!chosen.best.name.layout) chosen.of_layouts = BestOfLayouts(runnable, result.medians_us);
  return chosen;
}

// Sign, exponent and mantissa, cut off; what is below the normal numbers becomes zero.
uint16_t HalfOf(double value, cuda::HalfType type) {
  const bool is_bf16 = type == cuda::HalfType::kBF16;
  const int fraction_bits = is_bf16 ? 7 : 10, bias = is_bf16 ? 127 : 15;
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  const int biased = exponent - 1 + bias;
  const int fraction = static_cast<int>(std::ldexp(mantissa * 2 - 1, fraction_bits));
  const int magnitude = biased >= 1 ? (biased << fraction_bits) | fraction : 0;
  return static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | magnitude);
}

// A few million draws are random enough for any matrix: they are repeated along it.
std::vector<uint16_t> RandomHalves(size_t count, cuda::HalfType type) {
  std::vector<uint16_t> halves(count);
  Random random = Random::Secret();
  for (uint16_t& half : halves) half = HalfOf(random.Normal(), type);
  return halves;
}

Result<cuda::DeviceBuffer> RandomMatrix(size_t elements, const std::vector<uint16_t>& pattern) {
  cuda::DeviceBuffer matrix = TRY(cuda::DeviceBuffer::Allocate(elements * 2));
  for (size_t filled = 0; filled < elements;) {
    const size_t count = std::min(pattern.size(), elements - filled);
    TRY(cuda::CopyToDevice(matrix.address() + filled * 2, pattern.data(), count * 2));
    filled += count;
  }
  return matrix;
}

}  // namespace

Result<GemmBaselineChosen> ChooseGemmBaseline(const GemmBaselineName& name,
                                              const GemmProblem& problem,
                                              const cuda::GemmOperands& operands,
                                              const cuda::Stream& stream,
                                              const TuneOptions& options) {
  const std::vector<GemmBaselineChoice> contenders = TRY(Contenders(name, problem, options));
  if (contenders.size() == 1) return GemmBaselineChosen{contenders.front(), {}};
  const cuda::Event start = TRY(cuda::Event::Create());
  const cuda::Event end = TRY(cuda::Event::Create());
  const auto workspace = std::make_shared<const cuda::DeviceBuffer>(
      TRY(cuda::DeviceBuffer::Allocate(options.workspace_bytes)));
  return Fastest(contenders, {operands, stream, start, end, options.batch_us, workspace},
                 options.rounds);
}

Result<TuningMatrices> AllocateTuningMatrices(const GemmProblem& problem) {
  const auto& [m, n, k, type] = problem;
  const std::vector<uint16_t> pattern = RandomHalves((size_t{1} << 20) + 7, type);
  TuningMatrices matrices;
  matrices.a = TRY(RandomMatrix(static_cast<size_t>(m * k), pattern));
  matrices.b = TRY(RandomMatrix(static_cast<size_t>(k * n), pattern));
  matrices.c = TRY(cuda::DeviceBuffer::Allocate(static_cast<size_t>(m * n) * 2));
  return matrices;
}

}  // namespace warpsmith::baseline
