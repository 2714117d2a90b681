#include "baseline/tune.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "baseline/contest.h"
#include "cuda/cublas.h"
#include "cuda/cublaslt.h"
#include "cuda/graph.h"
#include "util/random.h"

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

std::vector<launch::Binding> BindingsFor(const cuda::GemmShape& shape,
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
Result<std::vector<GemmBaselineChoice>> Contenders(const GemmBaselineName& name, int64_t m,
                                                   int64_t n, int64_t k,
                                                   const TuneOptions& options) {
  const bool is_cublas = name.library == GemmLibrary::kCublas;
  const std::string library = TRY(is_cublas ? cuda::CublasVersion() : cuda::CublasLtVersion());
  std::vector<GemmBaselineChoice> contenders;
  for (const cuda::GemmLayout layout : {cuda::GemmLayout::kNN, cuda::GemmLayout::kTN}) {
    if (name.layout && *name.layout != layout) continue;
    GemmBaselineChoice choice{.name = name,
                              .shape = {.m = m, .n = n, .k = k, .layout = layout},
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

Result<cuda::Graph> CaptureLaunches(const launch::TimedCallable& callable,
                                    const std::vector<launch::Binding>& bindings, int launches,
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
  launch::TimedCallable callable;
  cuda::Graph graph;
  int launches;
};

Result<Contestant> Prepare(const GemmBaselineChoice& choice, const Bed& bed) {
  launch::TimedCallable callable = TRY(MakeGemmBaseline(choice, bed.workspace));
  const std::vector<launch::Binding> bindings = BindingsFor(choice.shape, bed.operands);
  cuda::Graph single = TRY(CaptureLaunches(callable, bindings, 1, bed));
  const double once_us = TRY(TimeReplay(single, 1, bed));
  const int launches =
      std::clamp(static_cast<int>(std::lround(bed.batch_us / once_us)), 1, kMostLaunches);
  if (launches == 1) return Contestant{std::move(callable), std::move(single), 1};
  cuda::Graph graph = TRY(CaptureLaunches(callable, bindings, launches, bed));
  return Contestant{std::move(callable), std::move(graph), launches};
}

Result<GemmBaselineChoice> Fastest(const std::vector<GemmBaselineChoice>& choices, const Bed& bed,
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
  Random random = Random::Secret();
  const ContestResult result = TRY(
      RunContest(static_cast<int>(runnable.size()), rounds, random, [&](int i) -> Result<double> {
        return TimeReplay(contestants[i].graph, contestants[i].launches, bed);
      }));
  GemmBaselineChoice winner = *runnable[result.winner];
  winner.median_us = result.median_us;
  winner.tried = static_cast<int>(runnable.size());
  return winner;
}

// A few million draws are random enough for any matrix: they are repeated along it.
std::vector<uint16_t> RandomHalves(size_t count) {
  std::vector<uint16_t> halves(count);
  Random random = Random::Secret();
  for (uint16_t& half : halves) {
    // Sign, exponent and mantissa of N(0, 1) rounded to half; |x| < 2^-14 becomes zero.
    const double value = random.Normal();
    int exponent = 0;
    const double mantissa = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
    const auto fraction = static_cast<uint16_t>((mantissa * 2 - 1) * 1024);
    const bool normal = exponent - 1 >= -14;
    const auto biased = static_cast<uint16_t>(exponent - 1 + 15);
    half =
        static_cast<uint16_t>((value < 0 ? 0x8000 : 0) | (normal ? (biased << 10) | fraction : 0));
  }
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

Result<GemmBaselineChoice> ChooseGemmBaseline(const GemmBaselineName& name, int64_t m, int64_t n,
                                              int64_t k, const cuda::GemmOperands& operands,
                                              const cuda::Stream& stream,
                                              const TuneOptions& options) {
  const std::vector<GemmBaselineChoice> contenders = TRY(Contenders(name, m, n, k, options));
  if (contenders.size() == 1) return contenders.front();
  const cuda::Event start = TRY(cuda::Event::Create());
  const cuda::Event end = TRY(cuda::Event::Create());
  const auto workspace = std::make_shared<const cuda::DeviceBuffer>(
      TRY(cuda::DeviceBuffer::Allocate(options.workspace_bytes)));
  return Fastest(contenders, {operands, stream, start, end, options.batch_us, workspace},
                 options.rounds);
}

Result<GemmBaselineChoice> TuneCublasLt(int64_t m, int64_t n, int64_t k,
                                        const cuda::GemmOperands& operands,
                                        const cuda::Stream& stream, const TuneOptions& options) {
  return ChooseGemmBaseline({GemmLibrary::kLtAuto, {}}, m, n, k, operands, stream, options);
}

Result<TuningMatrices> AllocateTuningMatrices(int64_t m, int64_t n, int64_t k) {
  const std::vector<uint16_t> pattern = RandomHalves((size_t{1} << 20) + 7);
  TuningMatrices matrices;
  matrices.a = TRY(RandomMatrix(static_cast<size_t>(m * k), pattern));
  matrices.b = TRY(RandomMatrix(static_cast<size_t>(k * n), pattern));
  matrices.c = TRY(cuda::DeviceBuffer::Allocate(static_cast<size_t>(m * n) * 2));
  return matrices;
}

}  // namespace warpsmith::baseline
