#include "cuda/fake/fake_control.h"

#include <cstdlib>
#include <utility>

#include "cuda/library.h"

namespace warpsmith::cuda::fake {
namespace {

template <typename Function>
Function* Find(const char* symbol) {
  // Opening it again gives the library that the driver table came from.
  const auto library = Library::Open("libcuda.so.1", "");
  CHECK(library.ok());
  const auto found = library->Symbol(symbol);
  CHECK(found.ok());  // otherwise this is a real driver
  return reinterpret_cast<Function*>(*found);
}

}  // namespace

Context OpenContext() {
  setenv("WARPSMITH_CUDA_HOME", WARPSMITH_FAKE_DRIVER_ROOT, 1);  // NOLINT(concurrency-mt-unsafe)
  const auto driver = Driver::Open();
  CHECK(driver.ok());
  const auto device = (*driver)->FindDevice("");
  CHECK(device.ok() && device->name == "Fake GPU");
  auto context = Context::Retain(*device);
  CHECK(context.ok());
  return std::move(context).value();
}

void DefineKernel(const std::string& name, void (*kernel)(void** arguments)) {
  Find<void(const char*, void (*)(void**))>("warpsmith_fake_define_kernel")(name.c_str(), kernel);
}

std::vector<std::string> TakeLaunches() {
  std::vector<std::string> launches;
  const size_t size = Find<size_t()>("warpsmith_fake_log_size")();
  for (size_t i = 0; i < size; ++i) {
    launches.emplace_back(Find<const char*(size_t)>("warpsmith_fake_log_line")(i));
  }
  Find<void()>("warpsmith_fake_clear_log")();
  return launches;
}

void IgnoreLaunches(bool ignore) { Find<void(bool)>("warpsmith_fake_ignore_launches")(ignore); }

void SetLaunchMs(float ms) { Find<void(float)>("warpsmith_fake_set_launch_ms")(ms); }

int64_t HostNs() {
  static auto* const read = Find<int64_t()>("warpsmith_fake_host_ns");
  return read();
}

const char* CublasLtPath() { return WARPSMITH_FAKE_CUBLASLT; }

}  // namespace warpsmith::cuda::fake
