// The naive judge's child process: everything that a harness does in the process of the candidate.
#include <dlfcn.h>

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.h"
#include "core/resolved_plan.h"
#include "core/serialize.h"
#include "cuda/context.h"
#include "cuda/memory.h"
#include "cuda/module.h"
#include "cuda/plan/prepared_plan.h"
#include "naive_judge.h"
#include "naive_numbers.h"

namespace warpsmith::attacks {
namespace {

constexpr int kWarmUp = 3, kCalls = 10;
constexpr int64_t kAlignment = 512;  // of tensors in one allocation, as PyTorch's allocator packs

struct Tensor {
  TensorSpec spec;
  int64_t bytes = 0;
  cuda::DevicePointer address = 0, expected = 0;  // `expected` of outputs, in the output's type
};

using Call = std::function<Status()>;

struct Bench {
  cuda::Context context;
  Task task;
  Workload workload;
  std::vector<Tensor> tensors;
  cuda::DeviceBuffer arena;  // inputs, expected outputs, outputs: neighbours
};

int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Status PlaceTensors(Bench& bench) {
  int64_t total = 0;
  for (const TensorSpec& spec : bench.task.tensors) {
    bench.tensors.push_back({spec, TRY(TensorBytes(spec, bench.workload.sizes)), 0, 0});
    total += 2 * Aligned(bench.tensors.back().bytes);
  }
  bench.arena = TRY(cuda::DeviceBuffer::Allocate(static_cast<size_t>(total)));
  cuda::DevicePointer next = bench.arena.address();
  for (Tensor& tensor : bench.tensors) {
    if (tensor.spec.role == Role::kOutput) next = (tensor.expected = next) + Aligned(tensor.bytes);
    tensor.address = next;
    next += Aligned(tensor.bytes);
  }
  return {};
}

Status FillInputs(const Bench& bench) {
  std::mt19937 random(kNaiveSeed);
  for (const Tensor& tensor : bench.tensors) {
    if (tensor.spec.role == Role::kOutput) continue;
    const std::string bytes =
        NormalBytes(random, tensor.spec.dtype, tensor.bytes / ElementBytes(tensor.spec.dtype));
    TRY(cuda::CopyToDevice(tensor.address, bytes.data(), bytes.size()));
  }
  return {};
}

Result<plan::PreparedPlan> Prepare(const Bench& bench, const Candidate& candidate,
                                   std::string_view image) {
  const int sm_count = bench.context.device().sm_count;
  auto module = std::make_shared<const cuda::Module>(TRY(cuda::Module::Load(image)));
  const ResolvedPlan plan = TRY(Resolve(candidate.plan, bench.task, bench.workload.sizes, sm_count,
                                        plan::OccupancyOf(*module, sm_count)));
  return plan::PreparedPlan::Prepare(plan, std::move(module));
}

// The reference writes FP64 outputs, except the one that stands in for the built-in one.
Result<std::vector<std::vector<double>>> RunReference(const Bench& bench,
                                                      const Candidate& candidate,
                                                      std::string_view image) {
  const bool built_in = bench.task.reference.kind == "gemm";
  const plan::PreparedPlan plan = TRY(Prepare(bench, candidate, image));
  const cuda::Stream stream = TRY(cuda::Stream::Create());
  std::vector<cuda::DeviceBuffer> wide;
  std::vector<plan::Binding> bindings;
  for (const Tensor& tensor : bench.tensors) {
    const int64_t elements = tensor.bytes / ElementBytes(tensor.spec.dtype);
    wide.push_back(TRY(cuda::DeviceBuffer::Allocate(static_cast<size_t>(8 * elements))));
    const bool output = tensor.spec.role == Role::kOutput;
    bindings.push_back({tensor.spec.name, output ? wide.back().address() : tensor.address,
                        output && !built_in ? 8 * elements : tensor.bytes});
  }
  TRY(plan.Execute(stream, bindings));
  TRY(stream.Synchronize());
  std::vector<std::vector<double>> expected;
  for (size_t i = 0; i < bench.tensors.size(); ++i) {
    if (bench.tensors[i].spec.role == Role::kInput) continue;
    std::string bytes(static_cast<size_t>(bindings[i].bytes), '\0');
    TRY(cuda::CopyToHost(bytes.data(), bindings[i].address, bytes.size()));
    expected.push_back(ToDoubles(bytes, built_in ? bench.tensors[i].spec.dtype : DType::kF64));
  }
  return expected;
}

// As a harness that keeps the reference's tensor, or frees it, on the device. What it still holds
// when it has freed that keeps the driver from giving the page back.
Status LeaveExpected(const Bench& bench, const std::vector<std::vector<double>>& expected,
                     ReferenceOrder order, std::vector<cuda::DeviceBuffer>* held) {
  size_t output = 0;
  for (const Tensor& tensor : bench.tensors) {
    if (tensor.spec.role == Role::kInput) continue;
    const std::string bytes = FromDoubles(expected[output++], tensor.spec.dtype);
    if (order == ReferenceOrder::kFreed) {
      held->push_back(TRY(cuda::DeviceBuffer::Allocate(bytes.size())));
      const auto freed = TRY(cuda::DeviceBuffer::Allocate(bytes.size()));
      TRY(cuda::CopyToDevice(freed.address(), bytes.data(), bytes.size()));
    } else {
      TRY(cuda::CopyToDevice(tensor.expected, bytes.data(), bytes.size()));
    }
  }
  return {};
}

Result<bool> OutputsAreClose(const Bench& bench, const std::vector<std::vector<double>>& expected,
                             double tolerance) {
  size_t output = 0;
  for (const Tensor& tensor : bench.tensors) {
    if (tensor.spec.role == Role::kInput) continue;
    std::string bytes(static_cast<size_t>(tensor.bytes), '\0');
    TRY(cuda::CopyToHost(bytes.data(), tensor.address, bytes.size()));
    if (!AllClose(ToDoubles(bytes, tensor.spec.dtype), expected[output++], tolerance)) return false;
  }
  return true;
}

// Events on the default stream, from the driver's exported symbols: what a program can patch.
class DefaultStreamClock {
 public:
  DefaultStreamClock() {
    library_ = dlopen("libcuda.so.1", RTLD_NOW);
    Function<int(void**, unsigned)>("cuEventCreate")(&start_, 0);
    Function<int(void**, unsigned)>("cuEventCreate")(&end_, 0);
  }
  void Start() { Record(start_); }
  double StopUs() {
    Record(end_);
    Function<int(void*)>("cuEventSynchronize")(end_);
    float elapsed_ms = 0;
    Function<int(float*, void*, void*)>("cuEventElapsedTime")(&elapsed_ms, start_, end_);
    return 1e3 * elapsed_ms;
  }

 private:
  template <typename Signature>
  Signature* Function(const char* name) const {
    auto* function = reinterpret_cast<Signature*>(dlsym(library_, name));
    CHECK(function != nullptr);
    return function;
  }
  void Record(void* event) { Function<int(void*, void*)>("cuEventRecord")(event, nullptr); }
  void *library_ = nullptr, *start_ = nullptr, *end_ = nullptr;
};

Result<double> TimeProgram(const Call& call) {
  for (int i = 0; i < kWarmUp; ++i) TRY(call());
  DefaultStreamClock clock;
  clock.Start();
  for (int i = 0; i < kCalls; ++i) TRY(call());
  return clock.StopUs() / kCalls;
}

Result<double> TimeKernel(const Bench& bench, const plan::PreparedPlan& plan) {
  std::vector<plan::Binding> bindings;
  for (const Tensor& tensor : bench.tensors) {
    bindings.push_back({tensor.spec.name, tensor.address, tensor.bytes});
  }
  const plan::BoundPlan bound = TRY(plan.Bind(bindings));
  const cuda::Stream stream = TRY(cuda::Stream::Create());
  const cuda::Event start = TRY(cuda::Event::Create()), end = TRY(cuda::Event::Create());
  for (int i = 0; i < kWarmUp; ++i) TRY(bound.Execute(stream));
  TRY(start.Record(stream));
  for (int i = 0; i < kCalls; ++i) TRY(bound.Execute(stream));
  TRY(end.Record(stream));
  TRY(stream.Synchronize());
  return TRY(cuda::ElapsedUs(start, end)) / kCalls;
}

Result<Call> LoadProgram(const Bench& bench, const std::string& image_path) {
  void* library = dlopen(image_path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* entry = library == nullptr ? nullptr : dlsym(library, "warpsmith_call");
  if (entry == nullptr) return Error{ErrorCode::kBadInput, dlerror(), ""};
  auto addresses = std::make_shared<std::vector<void*>>();
  for (const Tensor& tensor : bench.tensors) {
    addresses->push_back(reinterpret_cast<void*>(tensor.address));
  }
  return Call([entry, addresses]() -> Status {
    reinterpret_cast<void (*)(void* const*)>(entry)(addresses->data());
    return {};
  });
}

Result<double> Time(const Bench& bench, const Candidate& candidate, const JsonReader& job) {
  const std::string path = TRY(job.At("image").String());
  if (candidate.form == Form::kProgram) return TimeProgram(TRY(LoadProgram(bench, path)));
  return TimeKernel(bench, TRY(Prepare(bench, candidate, TRY(ReadFile(path)))));
}

Result<Bench> Open(const JsonReader& job) {
  const cuda::Driver* driver = TRY(cuda::Driver::Open());
  Bench bench{TRY(cuda::Context::Retain(TRY(driver->FindDevice("")))),
              TRY(TaskFrom(job.At("task"))),
              TRY(WorkloadFrom(job.At("workload"))),
              {},
              {}};
  TRY(PlaceTensors(bench));
  TRY(FillInputs(bench));
  return bench;
}

Result<std::string> Judge(const JsonReader& job) {
  const Bench bench = TRY(Open(job));
  const auto order = static_cast<ReferenceOrder>(TRY(job.At("order").Int()));
  const Candidate candidate = TRY(CandidateFrom(job.At("candidate")));
  const Candidate reference = TRY(CandidateFrom(job.At("reference")));
  const std::string image = TRY(ReadFile(TRY(job.At("reference_image").String())));
  std::vector<std::vector<double>> expected;
  std::vector<cuda::DeviceBuffer> held;
  if (order != ReferenceOrder::kAfter) {
    expected = TRY(RunReference(bench, reference, image));
    TRY(LeaveExpected(bench, expected, order, &held));
  }
  const double us = TRY(Time(bench, candidate, job));
  TRY(bench.context.Synchronize());
  if (order == ReferenceOrder::kAfter) expected = TRY(RunReference(bench, reference, image));
  const bool close = TRY(OutputsAreClose(bench, expected, TRY(job.At("tolerance").Number())));
  return close ? "passed " + std::to_string(us) : std::string("failed");
}

Result<std::string> JudgeFile(const char* job_file) {
  const nlohmann::json json = TRY(ParseJson(job_file, TRY(ReadFile(job_file))));
  return Judge(JsonReader(job_file, json));
}

}  // namespace

int NaiveMain(const char* job_file) {
  const Result<std::string> said = JudgeFile(job_file);
  const std::string line = said.ok() ? *said : "error: " + said.error().Line();
  std::printf("\nnaive: %s\n", line.c_str());
  std::fflush(stdout);
  return 0;
}

}  // namespace warpsmith::attacks
