// Times the candidate and its baselines in turn, each call on other buffers than the call before.
#ifndef REPRODUCE_MEASURE_H_
#define REPRODUCE_MEASURE_H_

#include <cuda.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensors.h"

class Contender {
 public:
  explicit Contender(const char* name) : name(name) {}
  virtual ~Contender() = default;
  // Scratch memory of one call.
  virtual size_t WorkspaceBytes() const { return 0; }
  // Once: loads what is needed.
  virtual void Prepare(const std::vector<Buffers>& sets, CUstream stream) = 0;
  // Submits one call.
  virtual void Call(const Buffers& at, CUstream stream) = 0;

  const char* const name;
  bool same_outputs = true;  // false: it may compute another product of the same size
};

struct Options {
  uint64_t seed = 1;
  int samples = 50;
  int gpu = 0;
};

inline Options ParseOptions(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[++i] : nullptr;
    if (value != nullptr && word == "--seed") {
      options.seed = std::strtoull(value, nullptr, 10);
    } else if (value != nullptr && word == "--samples") {
      options.samples = std::max(1, std::atoi(value));
    } else if (value != nullptr && word == "--gpu") {
      options.gpu = std::atoi(value);
    } else {
      Stop("usage: reproduce [--seed N] [--samples N] [--gpu INDEX]");
    }
  }
  return options;
}

struct Gpu {
  CUstream stream = nullptr;
  size_t l2_bytes = 0, free_bytes = 0;
};

inline Gpu OpenGpu(int index) {
  Gpu gpu;
  CUdevice device = 0;
  CUcontext context = nullptr;
  char name[256] = "";
  int driver = 0, l2_bytes = 0;
  size_t total_bytes = 0;
  CU(cuInit(0));
  CU(cuDriverGetVersion(&driver));
  CU(cuDeviceGet(&device, index));
  CU(cuDeviceGetName(name, sizeof(name), device));
  CU(cuDeviceGetAttribute(&l2_bytes, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device));
  CU(cuDevicePrimaryCtxRetain(&context, device));
  CU(cuCtxSetCurrent(context));
  CU(cuStreamCreate(&gpu.stream, CU_STREAM_NON_BLOCKING));
  CU(cuMemGetInfo(&gpu.free_bytes, &total_bytes));
  gpu.l2_bytes = static_cast<size_t>(l2_bytes);
  std::printf("%s, CUDA %d.%d by its driver, %.0f MiB of L2\n", name, driver / 1000,
              driver % 1000 / 10, static_cast<double>(l2_bytes) / 0x1p20);
  return gpu;
}

struct Times {
  std::vector<double> us;
  double Median() const {
    std::vector<double> sorted = us;
    std::sort(sorted.begin(), sorted.end());
    return (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
  }
  double Fastest() const { return *std::min_element(us.begin(), us.end()); }
  double Slowest() const { return *std::max_element(us.begin(), us.end()); }
};

// Calls captured in a graph between two events: the host's part of a launch is not timed.
class Batch {
 public:
  Batch(Contender& contender, const std::vector<Buffers>& sets, size_t used, int calls,
        CUstream stream)
      : calls_(calls), stream_(stream) {
    CUgraph graph = nullptr;
    CU(cuEventCreate(&begin_, CU_EVENT_DEFAULT));
    CU(cuEventCreate(&end_, CU_EVENT_DEFAULT));
    CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CU(cuEventRecordWithFlags(begin_, stream, CU_EVENT_RECORD_EXTERNAL));
    for (int i = 0; i < calls; ++i) contender.Call(sets[static_cast<size_t>(i) % used], stream);
    CU(cuEventRecordWithFlags(end_, stream, CU_EVENT_RECORD_EXTERNAL));
    CU(cuStreamEndCapture(stream, &graph));
    CU(cuGraphInstantiate(&executable_, graph, 0));
    CU(cuGraphDestroy(graph));
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() {
    cuGraphExecDestroy(executable_);
    cuEventDestroy(begin_);
    cuEventDestroy(end_);
  }

  // Microseconds of a call.
  double Run() const {
    float elapsed_ms = 0;
    CU(cuGraphLaunch(executable_, stream_));
    CU(cuStreamSynchronize(stream_));
    CU(cuEventElapsedTime(&elapsed_ms, begin_, end_));
    return static_cast<double>(elapsed_ms) * 1e3 / calls_;
  }

 private:
  int calls_;
  CUstream stream_;
  CUevent begin_ = nullptr, end_ = nullptr;
  CUgraphExec executable_ = nullptr;
};

class Measurement {
 public:
  Measurement(std::vector<Tensor> tensors, std::vector<Contender*> contenders, Options options)
      : tensors_(std::move(tensors)),
        contenders_(std::move(contenders)),
        options_(options),
        gpu_(OpenGpu(options.gpu)) {
    MakeSets();
    for (Contender* contender : contenders_) contender->Prepare(sets_, gpu_.stream);
    CompareOutputs();
  }

  // The modes are those of the verdict, by their names there.

  // Inputs in the L2: few sets, which it holds together, each used once before every batch. Where
  // it does not hold two, all sets, one after the other.
  void Device() {
    const size_t fit = static_cast<size_t>(0.6 * static_cast<double>(gpu_.l2_bytes)) / set_bytes_;
    const bool fits = std::min(fit, sets_.size()) >= 2;
    std::printf("\ndevice: calls in a graph between two events, inputs %s\n",
                fits ? "in the L2" : "larger than the L2");
    Batches(fits ? std::min<size_t>({fit, sets_.size(), 16}) : sets_.size(), true, false);
  }

  // Inputs not in the L2, which is overwritten before each batch. Every call of a batch has a set
  // of its own, or, where two turns through the sets are more than the L2, the one used longest
  // ago.
  void DeviceCold() {
    const bool far_apart = sets_.size() * set_bytes_ >= 2 * gpu_.l2_bytes;
    std::printf("\ndevice-cold: calls in a graph between two events, inputs not in the L2\n");
    Batches(sets_.size(), far_apart, true);
  }

  // Calls submitted one by one between two events: where they are short, the host's part counts.
  void Offline() {
    constexpr int kCalls = 64;
    std::printf("\noffline: calls submitted one by one between two events\n");
    std::vector<Times> times(contenders_.size());
    for (int sample = -5; sample < options_.samples; ++sample) {
      for (const size_t c : Order(sample + 5)) {
        const double us = SubmitAll(*contenders_[c], kCalls);
        if (sample >= 0) times[c].us.push_back(us);
      }
    }
    Print(times, std::to_string(options_.samples) + " batches of " + std::to_string(kCalls) +
                     " calls, each on other buffers");
  }

  // One call and the wait for its end, by the host's clock, after up to 200 us of rest and with
  // inputs not in the L2.
  void Server() {
    std::printf(
        "\nserver: one call and the wait for its end, after a rest, inputs not in the L2\n");
    WallCalls(1, true);
  }

  // One call and the wait for its end, by the host's clock, again and again.
  void Wall() {
    std::printf("\nwall: one call and the wait for its end, by the host's clock\n");
    const double candidate_us = WallCalls(10, false);
    std::ofstream("build/wall_us.txt") << candidate_us << "\n";  // for baseline.py
  }

 private:
  // As many as exceed the L2 three times, if they fit in memory, but at least two and at most 256.
  void MakeSets() {
    size_t workspace_bytes = 0;
    for (const Tensor& tensor : tensors_) set_bytes_ += BytesOf(tensor);
    for (Contender* contender : contenders_) {
      workspace_bytes = std::max(workspace_bytes, contender->WorkspaceBytes());
    }
    const size_t most = gpu_.free_bytes / 2 / (set_bytes_ + workspace_bytes);
    if (most < 2) Stop("two sets of buffers do not fit in half of the free memory of this GPU");
    const size_t wanted = 3 * gpu_.l2_bytes / set_bytes_ + 2;
    const size_t count = std::min<size_t>({wanted, most, 256});
    for (size_t i = 0; i < count; ++i) {
      sets_.push_back(MakeBuffers(tensors_, workspace_bytes, options_.seed * 1000003 + i));
    }
    CU(cuMemAlloc(&scratch_, 2 * gpu_.l2_bytes));
    CU(cuEventCreate(&begin_, CU_EVENT_DEFAULT));
    CU(cuEventCreate(&end_, CU_EVENT_DEFAULT));
    CU(cuCtxSynchronize());
    std::printf("%zu sets of buffers of %.2f MiB, drawn from seed %llu\n", count,
                static_cast<double>(set_bytes_) / 0x1p20,
                static_cast<unsigned long long>(options_.seed));
  }

  std::vector<double> OutputsOf(Contender& contender) {
    std::vector<double> values;
    contender.Call(sets_[0], gpu_.stream);
    CU(cuCtxSynchronize());
    for (size_t t = 0; t < tensors_.size(); ++t) {
      if (tensors_[t].fill != Fill::kOutput) continue;
      std::vector<char> bytes(BytesOf(tensors_[t]));
      CU(cuMemcpyDtoH(bytes.data(), sets_[0].tensor[t], bytes.size()));
      for (size_t at = 0; at < bytes.size(); at += BytesOf(tensors_[t].type)) {
        values.push_back(Load(tensors_[t].type, bytes.data() + at));
      }
    }
    return values;
  }

  // Not a check of correctness: only whether the baselines compute the same thing.
  void CompareOutputs() {
    const std::vector<double> own = OutputsOf(*contenders_[0]);
    for (size_t c = 1; c < contenders_.size(); ++c) {
      const std::vector<double> other = OutputsOf(*contenders_[c]);
      if (!contenders_[c]->same_outputs) continue;
      double difference = 0, largest = 0;
      for (size_t i = 0; i < own.size(); ++i) {
        if (own[i] == other[i]) continue;
        const double here = std::fabs(own[i] - other[i]);
        difference =
            std::isnan(here) ? std::numeric_limits<double>::infinity() : std::max(difference, here);
      }
      for (const double value : other) largest = std::max(largest, std::fabs(value));
      std::printf("outputs of %s and %s differ by at most %g (the largest is %g)\n",
                  contenders_[0]->name, contenders_[c]->name, difference, largest);
    }
  }

  // Who comes first changes with every sample.
  std::vector<size_t> Order(int sample) const {
    std::vector<size_t> order;
    for (size_t i = 0; i < contenders_.size(); ++i) {
      order.push_back((i + static_cast<size_t>(sample)) % contenders_.size());
    }
    return order;
  }

  // About a millisecond of calls: whole turns through the sets.
  int CallsFor(Contender& contender, size_t used, bool may_repeat) {
    const Batch turn(contender, sets_, used, static_cast<int>(used), gpu_.stream);
    turn.Run();
    if (!may_repeat) return static_cast<int>(used);
    const double turn_us = std::max(turn.Run() * static_cast<double>(used), 1.0);
    const int turns = static_cast<int>(std::ceil(1000 / turn_us));
    return std::clamp(turns, 1, std::max(1, 2048 / static_cast<int>(used))) *
           static_cast<int>(used);
  }

  void Batches(size_t used, bool may_repeat, bool evict) {
    std::vector<Times> times(contenders_.size());
    std::vector<std::unique_ptr<Batch>> batches, touches;
    std::string words;
    for (Contender* contender : contenders_) {
      const int calls = CallsFor(*contender, used, may_repeat);
      batches.push_back(std::make_unique<Batch>(*contender, sets_, used, calls, gpu_.stream));
      touches.push_back(
          std::make_unique<Batch>(*contender, sets_, used, static_cast<int>(used), gpu_.stream));
      words += (words.empty() ? "" : ", ") + std::to_string(calls);
    }
    const int warm_up = std::max(5, options_.samples / 5);
    for (int sample = -warm_up; sample < options_.samples; ++sample) {
      for (const size_t c : Order(sample + warm_up)) {
        if (evict) CU(cuMemsetD8Async(scratch_, 0, 2 * gpu_.l2_bytes, gpu_.stream));
        if (!evict) touches[c]->Run();
        const double us = batches[c]->Run();
        if (sample >= 0) times[c].us.push_back(us);
      }
    }
    Print(times, std::to_string(options_.samples) + " batches of " + words + " calls over " +
                     std::to_string(used) + " sets");
  }

  // Microseconds of a call.
  double SubmitAll(Contender& contender, int calls) {
    float elapsed_ms = 0;
    CU(cuEventRecord(begin_, gpu_.stream));
    for (int call = 0; call < calls; ++call) contender.Call(NextSet(), gpu_.stream);
    CU(cuEventRecord(end_, gpu_.stream));
    CU(cuStreamSynchronize(gpu_.stream));
    CU(cuEventElapsedTime(&elapsed_ms, begin_, end_));
    return static_cast<double>(elapsed_ms) * 1e3 / calls;
  }

  // The candidate's median.
  double WallCalls(int calls_at_once, bool rested) {
    std::vector<Times> times(contenders_.size());
    for (int sample = 0; sample < options_.samples + 1; ++sample) {
      for (const size_t c : Order(sample)) {
        for (int call = 0; call < calls_at_once; ++call) {
          if (rested) Rest();
          const double us = WallOnce(*contenders_[c], NextSet());
          if (sample > 0) times[c].us.push_back(us);  // the first ones warm up
        }
      }
    }
    Print(times,
          std::to_string(options_.samples * calls_at_once) + " calls, each on other buffers");
    return times[0].Median();
  }

  double WallOnce(Contender& contender, const Buffers& at) {
    const auto begin = std::chrono::steady_clock::now();
    contender.Call(at, gpu_.stream);
    CU(cuCtxSynchronize());
    const auto end = std::chrono::steady_clock::now();
    return std::chrono::duration<double, std::micro>(end - begin).count();
  }

  void Rest() {
    CU(cuMemsetD8Async(scratch_, 0, 2 * gpu_.l2_bytes, gpu_.stream));
    CU(cuCtxSynchronize());
    std::this_thread::sleep_for(std::chrono::microseconds(rests_.Bits() % 200));
  }

  const Buffers& NextSet() { return sets_[++last_set_ % sets_.size()]; }

  void Print(const std::vector<Times>& times, const std::string& how) const {
    std::printf("  %-28s %12s %12s %12s   us a call; %s\n", "", "median", "fastest", "slowest",
                how.c_str());
    for (size_t c = 0; c < times.size(); ++c) {
      std::printf("  %-28s %12.3f %12.3f %12.3f\n", contenders_[c]->name, times[c].Median(),
                  times[c].Fastest(), times[c].Slowest());
    }
    for (size_t c = 1; c < times.size(); ++c) {
      std::printf("  ratio %s / %s: %.4f\n", contenders_[c]->name, contenders_[0]->name,
                  times[c].Median() / times[0].Median());
    }
  }

  const std::vector<Tensor> tensors_;
  const std::vector<Contender*> contenders_;  // the candidate first
  const Options options_;
  const Gpu gpu_;
  size_t set_bytes_ = 0;
  std::vector<Buffers> sets_;
  size_t last_set_ = 0;
  CUdeviceptr scratch_ = 0;  // twice the L2
  CUevent begin_ = nullptr, end_ = nullptr;
  Random rests_{1};
};

#endif  // REPRODUCE_MEASURE_H_
