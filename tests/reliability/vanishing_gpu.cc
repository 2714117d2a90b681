// A judge whose GPU vanishes: vanishing_gpu CALLS CODE
//
// The judge, its oracle and its runners make CALLS calls of the driver together; then every call
// ends with CODE (a CUresult), or with code 0 the runners' calls do not return. Two honest
// candidates are judged. Exit status 0: each has a verdict that does not call it wrong, or the
// device was given up with an error, which is none of ours but for an illegal address: that one our
// kernels could have made. Prints how many calls there were.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "cuda/driver.h"
#include "judge/runner.h"
#include "judge/tests/local_device_fixture.h"

namespace warpsmith::judge {
namespace {

constexpr char kCounter[] = "WARPSMITH_VANISH_COUNTER", kCode[] = "WARPSMITH_VANISH_CODE";
constexpr size_t kJobs = 2;

struct Fixture : JudgeOverFakeDriver {
  using JudgeOverFakeDriver::Options;
};

std::atomic<long>* Counter() {
  const int file = open(getenv(kCounter), O_RDWR);
  CHECK(file >= 0);
  void* page = mmap(nullptr, sizeof(long), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(page != MAP_FAILED);
  return static_cast<std::atomic<long>*>(page);
}

// The kernels are there and the driver is open before the GPU may vanish: a test's own calls.
void Prepare(bool is_runner) {
  setenv("WARPSMITH_CUDA_HOME", WARPSMITH_VANISHING_DRIVER_ROOT, 1);
  CHECK(cuda::Driver::Open().ok());
  fake::DefineKernels();
  const int code = std::atoi(getenv(kCode));
  if (code == 0 && !is_runner) return;
  void* driver = dlopen(WARPSMITH_VANISHING_DRIVER_ROOT "/lib64/libcuda.so.1", RTLD_NOW);
  CHECK(driver != nullptr);
  const auto vanish =
      reinterpret_cast<void (*)(std::atomic<long>*, int)>(dlsym(driver, "warpsmith_vanish"));
  CHECK(vanish != nullptr);
  vanish(Counter(), code);
}

int GivenUp(const Error& error) {
  std::printf("given up: %s\n", error.Line().c_str());
  const bool is_ours = error.message.find("CUDA_ERROR_ILLEGAL_ADDRESS") != std::string::npos;
  return error.code == ErrorCode::kInternal && !is_ours ? 1 : 0;
}

int JudgeTwo() {
  auto options = Fixture::Options();
  options.libraries.clear();
  auto device = LocalDevice::Open(std::move(options));
  if (!device.ok()) return GivenUp(device.error());
  std::vector<Job> jobs(kJobs, MakeJob("honest"));
  if (const Status submitted = (*device)->Submit(std::move(jobs)); !submitted.ok()) {
    return GivenUp(submitted.error());
  }
  int status = 0;
  for (size_t done = 0; done < kJobs;) {
    auto some = (*device)->Collect(std::chrono::minutes(10));  // who called us waits no longer
    if (!some.ok()) return GivenUp(some.error());
    for (const Completed& one : *some) {
      const Outcome& outcome = one.verdict.outcome;
      std::printf("%s\n", Describe(outcome).c_str());
      const bool is_wrong =
          std::holds_alternative<Incorrect>(outcome) || std::holds_alternative<Rejected>(outcome);
      if (is_wrong) status = 1;
      ++done;
    }
  }
  return status;
}

}  // namespace
}  // namespace warpsmith::judge

int main(int argc, char** argv) {
  using namespace warpsmith;
  if (argc != 3) return 2;
  if (std::string_view(argv[1]) == judge::kRunnerSubcommand) {
    judge::Prepare(true);
    return judge::RunnerMain(std::atoi(argv[2]));
  }
  const auto folder = TemporaryDirectory::Create("vanishing").value();
  const std::string counter = (folder.path() / "counter").string();
  const long calls = std::atol(argv[1]);
  CHECK(WriteFileAtomic(counter, {reinterpret_cast<const char*>(&calls), sizeof(calls)}).ok());
  setenv(judge::kCounter, counter.c_str(), 1);
  setenv(judge::kCode, argv[2], 1);
  setenv("XDG_STATE_HOME", folder.path().c_str(), 1);
  judge::Prepare(false);
  const int status = judge::JudgeTwo();
  std::printf("calls: %ld\n", calls - judge::Counter()->load());
  return status;
}
