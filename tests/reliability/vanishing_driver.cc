// A driver that goes away: libcuda.so.1 whose calls go to the fake one (src/cuda/fake), until as
// many were made as a test said. From then on each is refused, or none returns.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "cuda/driver_api.h"

namespace {

std::atomic<long>* calls_left = nullptr;  // shared by the processes of a judge
int answer = 0;

}  // namespace

// `left` outlives every call. `code` 0: calls do not return.
extern "C" void warpsmith_vanish(std::atomic<long>* left, int code) {
  answer = code;
  calls_left = left;
}

// 0: the call goes on to the fake driver.
extern "C" __attribute__((visibility("hidden"))) int warpsmith_answer_of(const char* function) {
  if (calls_left == nullptr || std::strncmp(function, "cuGetError", 10) == 0) return 0;
  if (calls_left->fetch_sub(1) > 0) return 0;
  while (answer == 0) pause();
  return answer;
}

// Arguments pass through as they are, whatever the function's type: six registers and the stack.
#define WARPSMITH_FORWARD(name)                                                   \
  extern "C" __attribute__((visibility("hidden"))) void* warpsmith_to_##name asm( \
      "warpsmith_to_" WARPSMITH_SYMBOL(name));                                    \
  void* warpsmith_to_##name = nullptr;                                            \
  asm(".text\n.globl " WARPSMITH_SYMBOL(name) "\n.type " WARPSMITH_SYMBOL(name)               \
      ", @function\n" WARPSMITH_SYMBOL(name) ":\n"                                            \
      "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\nsub $8, %rsp\n"        \
      "lea 2f(%rip), %rdi\ncall warpsmith_answer_of\n"                                        \
      "add $8, %rsp\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"              \
      "test %eax, %eax\njnz 1f\njmp *warpsmith_to_" WARPSMITH_SYMBOL(name) "(%rip)\n1: ret\n" \
      "2: .asciz \"" WARPSMITH_SYMBOL(name) "\"\n");
WARPSMITH_DRIVER_FUNCTIONS(WARPSMITH_FORWARD)

__attribute__((constructor)) static void FindFakeDriver() {
  void* fake = dlopen(WARPSMITH_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  if (fake == nullptr) abort();
#define WARPSMITH_FIND(name) warpsmith_to_##name = dlsym(fake, WARPSMITH_SYMBOL(name));
  WARPSMITH_DRIVER_FUNCTIONS(WARPSMITH_FIND)
}
