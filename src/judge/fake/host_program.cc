#include "judge/fake/host_program.h"

#include "base/result.h"

namespace warpsmith::judge::fake {
namespace {

constexpr size_t kNameBytes = 64;

constexpr char kSource[] = R"cpp(
#include <signal.h>
#include <unistd.h>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

  extern "C" {
  volatile char behaviour[64] = "behaviour:honest";
  }

  namespace {
  using Half = _Float16;
  constexpr int M = 16, N = 16, K = 64;

  bool Is(const char* name) {
    char text[64];
    for (int i = 0; i < 64; ++i) text[i] = behaviour[i];
    return std::string(text) == std::string("behaviour:") + name;
  }
  const bool crashes_early = Is("crashes-when-loaded") && raise(SIGSEGV) == 0;
  const bool hangs_early = [] {
    while (Is("hangs-when-loaded")) usleep(1000);
    return false;
  }();
  // A burst begins when the process goes on.
  volatile sig_atomic_t goes_on = 0;
  const auto before = signal(SIGCONT, [](int) { goes_on = 1; });

  void Multiply(const Half* a, const Half* b, Half* c, int depth = K) {
    for (int m = 0; m < M; ++m) {
      float row[N] = {};
      for (int k = 0; k < depth; ++k) {
        for (int n = 0; n < N; ++n) row[n] += float(a[m * K + k]) * float(b[k * N + n]);
      }
      for (int n = 0; n < N; ++n) c[m * N + n] = Half(row[n]);
    }
  }
  // A check's output ends where its mapping does.
  bool IsCheck(const Half* c) { return reinterpret_cast<uintptr_t>(c + M * N) % (2 << 20) == 0; }
  }  // namespace

  extern "C" void warpsmith_call(void* const* tensors) {
    auto* a = static_cast<Half*>(tensors[0]);
    auto* b = static_cast<Half*>(tensors[1]);
    auto* c = static_cast<Half*>(tensors[2]);
    static int calls = 0;
    ++calls;
    const bool timed = !IsCheck(c);
    if (Is("skips-some-calls") && timed && calls % 8 == 0) return;
    if (Is("wrong")) return Multiply(a, b, c, K - 1);
    if (Is("zeros")) return void(std::memset(c, 0, M * N * sizeof(Half)));
    if (Is("first-calls-only") && calls > 8) return;  // a busy machine makes few
    if (Is("crashes")) raise(SIGSEGV);
    if (Is("crashes-when-timed") && timed) raise(SIGSEGV);
    if (Is("exits")) _exit(0);
    static bool timed_before = false;
    static int call_of_burst = 0, calls_before = 0;  // of this burst, and of the one before it
    if (goes_on) {
      calls_before = timed_before ? call_of_burst : 0;
      call_of_burst = 0;
    }
    goes_on = 0;
    timed_before = timed;
    const bool is_first = ++call_of_burst <= calls_before / 3;
    if (Is("leaves-out-the-first-calls") && timed && is_first) return;
    if (Is("long-calls") || Is("leaves-out-the-first-calls")) usleep(14'000);
    // What FakeTorch says is called. Compiled code is the faster, but for its first calls: a check
    // and four bursts of two.
    if (Is("compiled-code-that-starts-slowly")) {
      const char* callee = getenv("WARPSMITH_FAKE_CALLEE");
      static int compiled_calls = 0;
      if (callee == nullptr || callee[0] != 'c') {
        usleep(20'000);
      } else if (++compiled_calls <= 9) {
        usleep(60'000);
      }
    }
    if (Is("hangs") || (Is("hangs-when-timed") && timed))
      for (;;) usleep(1000);
    if (Is("talks-to-the-oracle") && write(3, "HTTP/1.1 200 OK\r\n\r\n0123456789", 29) < 0) return;
    if (Is("closes-the-socket")) close(3);
    if (Is("hangs-up-when-timed") && timed) close(3);
    if (Is("prints-a-gigabyte") && calls == 1) {
      const std::vector<char> chunk(1 << 20, 'x');
      for (int i = 0; i < 1024; ++i)
        if (write(1, chunk.data(), chunk.size()) < 0) break;
    }
    if (Is("answers-later") && timed) {
      std::thread([=] {
        usleep(2000);
        Multiply(a, b, c);
      }).detach();
      return;
    }
    if (Is("remembers-addresses")) {
      static std::map<std::pair<const void*, const void*>, std::vector<Half>> known;
      auto& answer = known[{a, b}];
      if (timed && !answer.empty()) return void(std::memcpy(c, answer.data(), M * N * 2));
      Multiply(a, b, c);
      answer.assign(c, c + M * N);
      return;
    }
    Multiply(a, b, c);
    if (Is("writes-past-the-end")) c[M * N] = 1;
    if (Is("writes-past-the-end-when-timed") && timed) c[M * N] = 1;
    if (Is("changes-its-input") && timed) b[3] = -b[3];
    if (Is("works-on-gpu-0")) {
      const char* visible = getenv("CUDA_VISIBLE_DEVICES");
      if (visible == nullptr || visible[0] != 'G') std::memset(c, 0xff, M * N * sizeof(Half));
    }
    if (Is("slow")) {
      for (int i = 0; i < 20; ++i) Multiply(a, b, c);
    }
  }
)cpp";

}  // namespace

std::string_view HostProgram() { return kSource; }

std::string WithBehaviour(std::string image, std::string_view behaviour) {
  const std::string from = "behaviour:honest" + std::string(4, '\0');
  std::string to = "behaviour:" + std::string(behaviour);
  const size_t at = image.find(from);
  CHECK(at != std::string::npos && to.size() < kNameBytes);
  to.resize(kNameBytes);
  return image.replace(at, kNameBytes, to);
}

}  // namespace warpsmith::judge::fake
