// Is the library right on this device? Every storage, stride, type, alpha and beta against FP64; in
// graphs; from two threads; on two busy streams; 1,000 times the same bits, alone and beside a busy
// stream; and what a call costs.
//
//   gemm_check [--csv FILE] [--catalogue FILE] [--skip FILE] [--quick]
//
// Of the catalogue, each shape against FP64, and each kernel 1,000 times alone and 100 times beside
// a busy stream, on the smallest of the shapes that run it: with the shipped one some minutes.
// --skip: the --csv of an earlier run: what was right there, by the same kernel, is not done again,
// a kernel's repetitions also where they were another problem's. Not for packs whose device code
// has changed. The pack is found as the library finds it (WARPSMITH_GEMM_PACK). Exit status 1:
// something is not right. On the fake device (host memory) --quick takes seconds.
#include <warpsmith/gemm.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "check_data.h"
#include "check_report.h"
#include "cuda/context.h"
#include "cuda/guest.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "differences.h"
#include "hgemm/catalogue.h"

namespace warpsmith::check {
namespace {

constexpr char kEmptyKernel[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry empty() { ret; }\n";

struct Options {
  std::string csv, catalogue, skip;
  bool quick = false;
};

void* Pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

class Checker {
 public:
  Checker(const Options& options, CheckReport& report, warpsmith_gemm* library)
      : options_(options), report_(report), library_(library) {}

  Status Run() {
    if (!options_.catalogue.empty()) {
      catalogue_ =
          TRY(hgemm::ParseCatalogue(options_.catalogue, TRY(ReadFile(options_.catalogue))));
    }
    for (const warpsmith_gemm_dtype dtype : {WARPSMITH_GEMM_BF16, WARPSMITH_GEMM_F16}) {
      operands_ = std::make_unique<Operands>(TRY(Operands::Make(MostElements(), dtype)));
      TRY(OddProblems(dtype));
      TRY(CatalogueShapes(dtype));
      TRY(CatalogueKernels(dtype));
    }
    // What follows is in FP16, the operands' type now.
    for (const warpsmith_gemm_problem& problem : Typical()) {
      TRY(InAGraph(problem));
      TRY(ManyTimes(problem));
      TRY(OnTwoStreams(problem));
    }
    TRY(FromTwoThreads());
    return HostTime();
  }

 private:
  int64_t MostElements() const { return options_.quick ? 1 << 20 : int64_t{16384} * 16384 + 65536; }

  // One for each way that a product goes, if the catalogue has it.
  std::vector<warpsmith_gemm_problem> Typical() const {
    std::vector<warpsmith_gemm_problem> problems;
    for (const int64_t size : {16, 64, 256, 512, 1024, 4096}) {
      if (options_.quick && size > 16) break;
      problems.push_back(warpsmith_gemm_dense(size, size, size, 0, 1));
      problems.push_back(warpsmith_gemm_dense(size, size, size, 0, 0));
    }
    problems.push_back(warpsmith_gemm_dense(options_.quick ? 8 : 256, options_.quick ? 8 : 256,
                                            options_.quick ? 1024 : 16384, 0, 1));
    problems.push_back(warpsmith_gemm_dense(33, 65, 127, 1, 1));
    return problems;
  }

  struct Room {
    cuda::DeviceBuffer c, workspace;
  };

  // C, poisoned, and the workspace that the problem is fastest with.
  Result<Room> RoomFor(const warpsmith_gemm_problem& problem) {
    size_t bytes = 0;
    TRY(Said(warpsmith_gemm_workspace(library_, &problem, &bytes)));
    Room room;
    room.c = TRY(cuda::DeviceBuffer::Allocate(static_cast<size_t>(2 * SpanOfC(problem))));
    if (bytes > 0) room.workspace = TRY(cuda::DeviceBuffer::Allocate(bytes));
    TRY(Poison(room));
    return room;
  }

  static Status Poison(const Room& room) {
    TRY(cuda::FillAsync(room.c.address(), kPoison, room.c.bytes(), nullptr));
    return cuda::FillAsync(room.workspace.address(), kPoison, room.workspace.bytes(), nullptr);
  }

  static Status Said(warpsmith_gemm_status status) {
    if (status == WARPSMITH_GEMM_OK) return {};
    return Error{
        ErrorCode::kUnavailable,
        std::string(warpsmith_gemm_status_text(status)) + ": " + warpsmith_gemm_last_error(), ""};
  }

  Status Multiply(const warpsmith_gemm_problem& problem, const Room& room, CUstream_st* stream) {
    return Said(warpsmith_gemm_run(library_, &problem, Pointer(operands_->a()),
                                   Pointer(operands_->b()), Pointer(room.c.address()),
                                   Pointer(room.workspace.address()), room.workspace.bytes(),
                                   stream));
  }

  std::string Explained(const warpsmith_gemm_problem& problem, size_t workspace_bytes) {
    char text[512] = "";
    warpsmith_gemm_explain(library_, &problem, workspace_bytes, text, sizeof text);
    const char* words = std::strstr(text, ": ");
    return words == nullptr ? text : words + 2;
  }

  // With the workspace that the problem is fastest with.
  std::string Explained(const warpsmith_gemm_problem& problem) {
    size_t bytes = 0;
    warpsmith_gemm_workspace(library_, &problem, &bytes);
    return Explained(problem, bytes);
  }

  Result<std::vector<uint16_t>> BitsOf(const Room& room) {
    std::vector<uint16_t> bits(room.c.bytes() / 2);
    TRY(cuda::CopyToHost(bits.data(), room.c.address(), room.c.bytes()));
    return bits;
  }

  // Against FP64. What cannot be computed at all is wrong, too.
  Status Against(const char* check, const warpsmith_gemm_problem& problem) {
    if (report_.Skips(check, problem, Explained(problem))) return {};
    const Room room = TRY(RoomFor(problem));
    const Status submitted = Multiply(problem, room, nullptr);
    if (!submitted.ok()) {
      report_.Add(check, problem, 0, false, submitted.error().Line());
      return {};
    }
    const Deviation deviation = TRY(Compare(*operands_, problem, room.c.address()));
    report_.Add(check, problem, deviation.worst, deviation.worst <= 1 && deviation.touched == 0,
                Explained(problem, room.workspace.bytes()));
    return {};
  }

  Status OddProblems(warpsmith_gemm_dtype dtype) {
    const std::vector<std::array<int64_t, 3>> shapes =
        options_.quick ? std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {3, 5, 7}, {64, 64, 64}}
                       : std::vector<std::array<int64_t, 3>>{
                             {1, 1, 1},       {1, 8, 4096},   {3, 5, 7},        {64, 64, 64},
                             {65, 129, 257},  {127, 128, 72}, {128, 136, 1000}, {512, 512, 512},
                             {1000, 520, 96}, {2048, 1, 33},  {1, 3000, 2048},  {1536, 1280, 640}};
    for (const auto& [m, n, k] : shapes) {
      for (int storage = 0; storage < 4; ++storage) {
        for (const auto& [alpha, beta] : {std::pair(1.0F, 0.0F), {-0.5F, 0.0F}, {1.0F, 1.0F}}) {
          for (const int64_t extra : {0, 8, 1}) {
            warpsmith_gemm_problem problem =
                warpsmith_gemm_dense(m, n, k, storage & 1, storage >> 1);
            problem.dtype = dtype;
            problem.alpha = alpha;
            problem.beta = beta;
            problem.lda = ((storage & 1) != 0 ? m : k) + extra;
            problem.ldb = ((storage >> 1) != 0 ? k : n) + extra;
            problem.ldc = n + extra;
            TRY(Against("odd", problem));
          }
        }
      }
    }
    return {};
  }

  static warpsmith_gemm_dtype DTypeOf(const hgemm::CatalogueRow& row) {
    return row.problem.dtype == DType::kBF16 ? WARPSMITH_GEMM_BF16 : WARPSMITH_GEMM_F16;
  }

  static warpsmith_gemm_problem ProblemOf(const hgemm::CatalogueRow& row) {
    const hgemm::Problem& p = row.problem;
    warpsmith_gemm_problem problem =
        warpsmith_gemm_dense(p.m, p.n, p.k, 0, p.layout == hgemm::Layout::kTN ? 1 : 0);
    problem.dtype = DTypeOf(row);
    return problem;
  }

  // Into the operands that there are.
  bool Fits(const hgemm::CatalogueRow& row) const {
    const hgemm::Problem& p = row.problem;
    return std::max({p.m * p.k, p.k * p.n, p.m * p.n}) <= operands_->most_elements();
  }

  Status CatalogueShapes(warpsmith_gemm_dtype dtype) {
    for (const hgemm::CatalogueRow& row : catalogue_.rows) {
      if (DTypeOf(row) != dtype || !Fits(row)) continue;
      TRY(Against("catalogue", ProblemOf(row)));
    }
    return {};
  }

  Status InAGraph(const warpsmith_gemm_problem& problem) {
    const Room room = TRY(RoomFor(problem));
    const cuda::Stream stream = TRY(cuda::Stream::Create());
    TRY(Multiply(problem, room, nullptr));
    const auto wanted = TRY(BitsOf(room));
    const cuda::Graph graph =
        TRY(cuda::Graph::Capture(stream, [&] { return Multiply(problem, room, stream.handle()); }));
    bool same = true;
    for (int i = 0; i < 3; ++i) {
      TRY(Poison(room));
      TRY(BitsOf(room));  // the poison has arrived
      TRY(graph.Launch(stream));
      TRY(stream.Synchronize());
      same &= TRY(BitsOf(room)) == wanted;
    }
    report_.Add("graph", problem, 3, same, Explained(problem, room.workspace.bytes()));
    return {};
  }

  // The same bits every time. What cannot be run is wrong, too.
  void SameBits(const char* check, const warpsmith_gemm_problem& problem, int times,
                const std::function<Status()>& meanwhile) {
    if (report_.SkipsKernel(check, Explained(problem), times)) return;
    const auto differing = DifferingOf(problem, times, meanwhile);
    report_.Add(check, problem, times, differing.ok() && *differing == 0,
                differing.ok()
                    ? std::to_string(*differing) + " elements differ; " + Explained(problem)
                    : differing.error().Line());
  }

  Status ManyTimes(const warpsmith_gemm_problem& problem) {
    SameBits("repeats", problem, options_.quick ? 10 : 1000, [] { return Status{}; });
    // Beside another stream, which gets as much to do each time.
    const warpsmith_gemm_problem other = Busy();
    const Room busy = TRY(RoomFor(other));
    const cuda::Stream second = TRY(cuda::Stream::Create());
    const int64_t as_much = 1 + Products(problem) / Products(other);
    SameBits("repeats_beside", problem, options_.quick ? 10 : 100, [&]() -> Status {
      for (int64_t i = 0; i < as_much; ++i) TRY(Multiply(other, busy, second.handle()));
      return {};
    });
    return second.Synchronize();
  }

  // How many elements of so many results differ from the first one's.
  Result<uint64_t> DifferingOf(const warpsmith_gemm_problem& problem, int times,
                               const std::function<Status()>& meanwhile) {
    const Room wanted = TRY(RoomFor(problem)), room = TRY(RoomFor(problem));
    const cuda::Stream stream = TRY(cuda::Stream::Create());
    TRY(Multiply(problem, wanted, nullptr));
    TRY(BitsOf(wanted));  // it has ended, and so has the poison
    Differences poison = TRY(Differences::Make()), differences = TRY(Differences::Make());
    TRY(poison.Add(wanted.c, room.c, stream));
    if (TRY(poison.Count(stream)) == 0) {
      return Error{ErrorCode::kInternal, "the result is all poison, or no difference is seen", ""};
    }
    for (int i = 0; i < times; ++i) {
      TRY(meanwhile());
      TRY(cuda::FillAsync(room.c.address(), kPoison, room.c.bytes(), stream.handle()));
      TRY(cuda::FillAsync(room.workspace.address(), kPoison, room.workspace.bytes(),
                          stream.handle()));
      TRY(Multiply(problem, room, stream.handle()));
      TRY(differences.Add(wanted.c, room.c, stream));
    }
    return differences.Count(stream);
  }

  static int64_t Products(const warpsmith_gemm_problem& p) { return p.m * p.n * p.k; }

  // Takes nearly every SM for some microseconds.
  warpsmith_gemm_problem Busy() const {
    const int64_t size = options_.quick ? 8 : 2048;
    return warpsmith_gemm_dense(size, size, size, 0, 1);
  }

  // Each kernel of the catalogue, on the smallest of its shapes.
  Status CatalogueKernels(warpsmith_gemm_dtype dtype) {
    hgemm::Catalogue fitting;
    for (const hgemm::CatalogueRow& row : catalogue_.rows) {
      if (DTypeOf(row) == dtype && Fits(row)) fitting.rows.push_back(row);
    }
    for (const hgemm::CatalogueRow& row : hgemm::OneOfEachConfiguration(fitting)) {
      TRY(ManyTimes(ProblemOf(row)));
    }
    return {};
  }

  Status OnTwoStreams(const warpsmith_gemm_problem& problem) {
    const Room alone = TRY(RoomFor(problem)), one = TRY(RoomFor(problem)),
               two = TRY(RoomFor(problem));
    TRY(Multiply(problem, alone, nullptr));
    const auto wanted = TRY(BitsOf(alone));
    const cuda::Stream first = TRY(cuda::Stream::Create()), second = TRY(cuda::Stream::Create());
    TRY(BitsOf(two));  // the poison has arrived
    const int times = options_.quick ? 3 : 50;
    for (int i = 0; i < times; ++i) {
      TRY(Multiply(problem, one, first.handle()));
      TRY(Multiply(problem, two, second.handle()));
    }
    TRY(first.Synchronize());
    TRY(second.Synchronize());
    const bool same = TRY(BitsOf(one)) == wanted && TRY(BitsOf(two)) == wanted;
    report_.Add("streams", problem, 2 * times, same, "");
    return {};
  }

  // Each thread its own stream and outputs; problems that neither has prepared.
  Status FromTwoThreads() {
    const std::vector<warpsmith_gemm_problem> problems = Typical();
    std::vector<std::vector<uint16_t>> wanted;
    std::vector<Room> rooms[2];
    for (const warpsmith_gemm_problem& problem : problems) {
      const Room room = TRY(RoomFor(problem));
      TRY(Multiply(problem, room, nullptr));
      wanted.push_back(TRY(BitsOf(room)));
      for (auto& of_thread : rooms) of_thread.push_back(TRY(RoomFor(problem)));
    }
    CUctx_st* context = TRY(cuda::CurrentContext());
    const int turns = options_.quick ? 2 : 20;
    std::atomic<int> failed{0};
    std::vector<std::thread> threads;
    for (auto& of_thread : rooms) {
      threads.emplace_back([&, context] {
        if (!cuda::MakeCurrent(context).ok()) ++failed;
        const auto stream = cuda::Stream::Create();
        for (int turn = 0; turn < turns && stream.ok(); ++turn) {
          for (size_t i = 0; i < problems.size(); ++i) {
            if (!Multiply(problems[i], of_thread[i], stream->handle()).ok()) ++failed;
          }
        }
        if (!stream.ok() || !stream->Synchronize().ok()) ++failed;
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (auto& of_thread : rooms) {
      for (size_t i = 0; i < problems.size(); ++i) {
        const bool same = TRY(BitsOf(of_thread[i])) == wanted[i];
        report_.Add("threads", problems[i], turns, same && failed == 0, "");
      }
    }
    return {};
  }

  // Nanoseconds that submitting takes; the queue never fills.
  Result<double> Cost(const std::function<Status()>& submit) {
    double best = 1e9;
    const int turns = options_.quick ? 2 : 20, calls = options_.quick ? 3 : 200;
    for (int turn = 0; turn < turns; ++turn) {
      const auto start = std::chrono::steady_clock::now();
      for (int i = 0; i < calls; ++i) TRY(submit());
      const std::chrono::duration<double, std::nano> elapsed =
          std::chrono::steady_clock::now() - start;
      best = std::min(best, elapsed.count() / calls);
      TRY(BitsOf(*last_));  // waits
    }
    return best;
  }

  Status HostTime() {
    const warpsmith_gemm_problem problem = warpsmith_gemm_dense(64, 64, 64, 0, 1);
    const Room room = TRY(RoomFor(problem));
    last_ = &room;
    for (const warpsmith_gemm_problem& one : Typical()) {
      if (one.m > 1024 || one.k > 1024) continue;
      const Room own = TRY(RoomFor(one));
      const double cost = TRY(Cost([&] { return Multiply(one, own, nullptr); }));
      report_.Add("host_ns", one, cost, true, Explained(one, own.workspace.bytes()));
    }
    const auto module = cuda::Module::Load(kEmptyKernel);
    if (!module.ok()) return {};  // the fake device reads no PTX
    const cuda::FixedLaunch launch(TRY(module->Kernel("empty")), {});
    const double raw = TRY(Cost([&] { return launch.Submit(nullptr, nullptr); }));
    report_.Add("host_ns_of_an_empty_kernel", problem, raw, true, "the raw launch");
    return {};
  }

  const Options& options_;
  CheckReport& report_;
  warpsmith_gemm* library_;
  hgemm::Catalogue catalogue_;
  std::unique_ptr<Operands> operands_;
  const Room* last_ = nullptr;
};

Result<int> Main(const Options& options) {
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  const cuda::DeviceProperties device = TRY(driver->FindDevice(""));
  const cuda::Context context = TRY(cuda::Context::Retain(device));
  warpsmith_gemm* library = nullptr;
  if (warpsmith_gemm_create(nullptr, &library) != WARPSMITH_GEMM_OK) {
    return Error{ErrorCode::kUnavailable, warpsmith_gemm_last_error(), ""};
  }
  const std::unique_ptr<warpsmith_gemm, void (*)(warpsmith_gemm*)> owner(library,
                                                                         warpsmith_gemm_destroy);
  CheckReport report = TRY(CheckReport::Open(options.csv, options.skip, device));
  TRY(Checker(options, report, library).Run());
  if (!report.is_whole()) return Error{ErrorCode::kIo, "not every row could be written", ""};
  std::printf("%ld checks, %ld wrong\n", static_cast<long>(report.done()),
              static_cast<long>(report.wrong()));
  return report.wrong() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace warpsmith::check

int main(int argc, char** argv) {
  warpsmith::check::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--quick") {
      options.quick = true;
    } else if (argument == "--csv" && i + 1 < argc) {
      options.csv = argv[++i];
    } else if (argument == "--catalogue" && i + 1 < argc) {
      options.catalogue = argv[++i];
    } else if (argument == "--skip" && i + 1 < argc) {
      options.skip = argv[++i];
    } else {
      std::fprintf(stderr,
                   "usage: gemm_check [--csv FILE] [--catalogue FILE] [--skip FILE] [--quick]\n");
      return 2;
    }
  }
  const auto status = warpsmith::check::Main(options);
  if (status.ok()) return *status;
  std::fprintf(stderr, "gemm_check: %s\n", status.error().Line().c_str());
  return 69;
}
