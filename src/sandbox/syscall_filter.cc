#include "sandbox/syscall_filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "sandbox/denied_calls.h"
#include "sandbox/failure.h"

namespace warpsmith::sandbox {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "system call numbers are known for x86-64 and AArch64 only"
#endif

using Program = std::vector<sock_filter>;

sock_filter Load(size_t offset) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}
// Skips `yes` instructions when the loaded word is `value`, else `no`.
sock_filter IfEqual(uint32_t value, size_t yes, size_t no) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, static_cast<uint8_t>(yes),
                  static_cast<uint8_t>(no));
}
sock_filter Return(uint32_t action) { return BPF_STMT(BPF_RET | BPF_K, action); }
sock_filter Fail(int error) { return Return(SECCOMP_RET_ERRNO | static_cast<uint32_t>(error)); }

// Falls through when the condition holds, else returns `error`.
void Append(const Condition& condition, int error, Program* program) {
  const size_t word = offsetof(seccomp_data, args) + sizeof(uint64_t) * condition.argument;
  program->push_back(Load(word + (condition.high ? sizeof(uint32_t) : 0)));
  if (condition.mask != ~0U) {
    program->push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, condition.mask));
  }
  const size_t count = condition.values.size();
  // After the comparisons: for `among`, [fail]; else [skip one][fail].
  for (size_t i = 0; i < count; ++i) {
    program->push_back(IfEqual(condition.values[i], count - i, 0));
  }
  if (!condition.among) program->push_back(BPF_STMT(BPF_JMP | BPF_JA, 1));
  program->push_back(Fail(error));
}

void Append(const DeniedCall& call, Program* program) {
  Program block;
  for (const Condition& condition : call.unless) Append(condition, call.error, &block);
  block.push_back(call.unless.empty() ? Fail(call.error) : Return(SECCOMP_RET_ALLOW));
  CHECK(block.size() < 256);  // a jump's reach
  program->push_back(IfEqual(static_cast<uint32_t>(call.number), 0, block.size()));
  program->insert(program->end(), block.begin(), block.end());
}

}  // namespace

std::vector<sock_filter> FilterProgram(const FilterOptions& options) {
  Program program;
  program.push_back(Load(offsetof(seccomp_data, arch)));
  program.push_back(IfEqual(kArchitecture, 1, 0));
  program.push_back(Return(SECCOMP_RET_KILL_PROCESS));
  program.push_back(Load(offsetof(seccomp_data, nr)));
  // x32's calls, which carry a high bit, are above it too.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kNewestKnownCall, 0, 1));
  program.push_back(Fail(ENOSYS));
  for (const DeniedCall& call : DeniedCalls(options)) Append(call, &program);
  program.push_back(Return(SECCOMP_RET_ALLOW));
  return program;
}

Status FilterSystemCalls(const FilterOptions& options) {
  Program program = FilterProgram(options);
  const sock_fprog filter{static_cast<uint16_t>(program.size()), program.data()};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) {
    return Failed("filter of system calls (seccomp)");
  }
  return {};
}

}  // namespace warpsmith::sandbox
