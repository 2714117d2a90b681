// Host time of one product through the dispatch library, beside the raw launch of the same kernel:
// on the fake driver, whose launches do nothing, so that only our own work is left. The bound is
// 1 us above the launch.
#include <benchmark/benchmark.h>
#include <warpsmith/gemm.h>

#include "base/file.h"
#include "cuda/fake/fake_control.h"
#include "cuda/guest.h"
#include "gemm_library/fake/host_gemm.h"

namespace warpsmith::gemm_library {
namespace {

class FakeLibrary {
 public:
  FakeLibrary() {
    fake::OpenFakeDevice();
    Pack pack = fake::HostPack();
    for (PackKernel& kernel : pack.kernels) kernel.image = Image(kernel).value();
    const auto path = folder_.path() / "host.wspack";
    CHECK(WriteFileAtomic(path, WritePack(pack).value()).ok());
    warpsmith_gemm_options options{sizeof(options), path.c_str(), 0};
    CHECK(warpsmith_gemm_create(&options, &library_) == WARPSMITH_GEMM_OK);
    cuda::fake::IgnoreLaunches(true);
  }
  ~FakeLibrary() { warpsmith_gemm_destroy(library_); }
  warpsmith_gemm* get() const { return library_; }

 private:
  TemporaryDirectory folder_ = TemporaryDirectory::Create("warpsmith-bench").value();
  warpsmith_gemm* library_ = nullptr;
};

void RawLaunch(benchmark::State& state) {
  const FakeLibrary library;
  const cuda::Module module = cuda::Module::Load("kernel maps 128 128 128 4 4 4").value();
  const cuda::FixedLaunch launch(module.Kernel("maps").value(), {});
  void* arguments[6] = {};
  for (auto _ : state) benchmark::DoNotOptimize(launch.Submit(nullptr, arguments));
}
BENCHMARK(RawLaunch);

// 16: a kernel that takes pointers; 32: one that takes three tensor maps. After `others` shapes.
void Product(benchmark::State& state) {
  const FakeLibrary library;
  const int64_t size = state.range(0);
  for (int64_t m = 1; m <= state.range(1); ++m) {
    const warpsmith_gemm_problem other = warpsmith_gemm_dense(m, 3, 3, 0, 0);
    CHECK(warpsmith_gemm_prepare(library.get(), &other, 0) == WARPSMITH_GEMM_OK);
  }
  const warpsmith_gemm_problem problem = warpsmith_gemm_dense(size, size, size, 0, 1);
  fake::HostProduct product({.m = size, .n = size, .k = size, .transpose_b = true});
  const Addresses at = product.addresses();
  const auto pointer = [](uint64_t address) { return reinterpret_cast<void*>(address); };
  for (auto _ : state) {
    const warpsmith_gemm_status status = warpsmith_gemm_run(
        library.get(), &problem, pointer(at.a), pointer(at.b), pointer(at.c), nullptr, 0, nullptr);
    if (status != WARPSMITH_GEMM_OK) state.SkipWithError(warpsmith_gemm_last_error());
  }
}
BENCHMARK(Product)->ArgNames({"size", "others"})->ArgsProduct({{16, 32}, {0, 10000}});

}  // namespace
}  // namespace warpsmith::gemm_library
