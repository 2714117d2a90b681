#include "sandbox/syscall_filter.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sandbox/trial.h"

namespace warpsmith::sandbox {
namespace {

// The table behind the filter: which calls, and with which arguments. Private to this folder.

// On the low 32 bits of an argument, which is all the kernel reads of an int.
struct Condition {
  int argument = 0;
  bool among = true;  // argument & mask is one of the values; or is none of them
  std::vector<uint32_t> values;
  uint32_t mask = ~0U;
  bool high = false;  // the upper 32 bits instead
};

// The call fails with `error` unless all conditions hold; with none it always fails.
struct DeniedCall {
  long number;
  int error;
  std::vector<Condition> unless;
};

// Calls above this one are newer than this table: ENOSYS, so that callers fall back.
inline constexpr uint32_t kNewestKnownCall = 462;

// Numbers that distributions' headers are too old for; the same on every architecture.
constexpr long kFchmodat2 = 452;

// Nobody locked in needs these, whatever it is.
constexpr long kNever[] = {
    // other processes: their memory, registers, descriptors, priorities
    SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_process_madvise,
    SYS_process_mrelease, SYS_kcmp, SYS_pidfd_open, SYS_pidfd_getfd, SYS_pidfd_send_signal,
    // the kernel itself
    SYS_kexec_load, SYS_bpf, SYS_perf_event_open, SYS_init_module, SYS_finit_module,
    SYS_delete_module, SYS_reboot, SYS_swapon, SYS_swapoff, SYS_acct, SYS_quotactl, SYS_quotactl_fd,
    SYS_syslog, SYS_userfaultfd, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,
    SYS_fanotify_init, SYS_fanotify_mark, SYS_name_to_handle_at, SYS_open_by_handle_at, SYS_vhangup,
    SYS_personality, SYS_sethostname, SYS_setdomainname, SYS_settimeofday, SYS_clock_settime,
    SYS_clock_adjtime, SYS_adjtimex,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl, SYS_ioperm, SYS_modify_ldt,
#endif
    // mounts and namespaces
    SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree, SYS_fsopen,
    SYS_fsconfig, SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_unshare, SYS_setns,
    // keys, and memory and queues that are shared by number
    SYS_keyctl, SYS_add_key, SYS_request_key, SYS_shmget, SYS_shmat, SYS_shmctl, SYS_shmdt,
    SYS_semget, SYS_semop, SYS_semctl, SYS_semtimedop, SYS_msgget, SYS_msgsnd, SYS_msgrcv,
    SYS_msgctl, SYS_mq_open, SYS_mq_unlink, SYS_mq_notify,
    // Landlock looks at none of these: owners, modes, attributes and times of files
    SYS_fchmod, SYS_fchmodat, kFchmodat2, SYS_fchown, SYS_fchownat, SYS_setxattr, SYS_lsetxattr,
    SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_utimensat,
#ifdef SYS_chmod
    SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat,
#endif
    // a process that leaves its group or session would outlive the group's kill
    SYS_setsid, SYS_setpgid,
    // a thread's id can be another process's: glibc uses tgkill
    SYS_tkill};

constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;
constexpr uint32_t kTypeOfSocket = 0xf;             // without SOCK_CLOEXEC, SOCK_NONBLOCK
constexpr uint32_t kSetOwner[] = {0x8901, 0x8902};  // FIOSETOWN, SIOCSPGRP

using Table = std::vector<DeniedCall>;

Condition Is(int argument, std::vector<uint32_t> values) {
  return {argument, true, std::move(values)};
}
Condition IsNot(int argument, std::vector<uint32_t> values) {
  return {argument, false, std::move(values)};
}

void AddProcesses(const FilterOptions& options, Table* table) {
  // Its flags lie in memory, out of the filter's sight; glibc falls back to clone.
  table->push_back({SYS_clone3, ENOSYS, {}});
  if (options.allow_processes) {
    table->push_back({SYS_clone, EPERM, {{0, true, {0}, kNewNamespaces}}});
    return;
  }
  table->push_back({SYS_clone, EPERM, {{0, true, {CLONE_THREAD}, CLONE_THREAD}}});
  table->push_back({SYS_execve, EPERM, {}});
  table->push_back({SYS_execveat, EPERM, {}});
#ifdef SYS_fork
  table->push_back({SYS_fork, EPERM, {}});
  table->push_back({SYS_vfork, EPERM, {}});
#endif
}

void AddSignals(const FilterOptions& options, Table* table) {
  // The owner of a descriptor is sent signals by the kernel.
  table->push_back({SYS_fcntl, EPERM, {IsNot(1, {F_SETOWN, F_SETOWN_EX, F_SETSIG})}});
  if (!options.own_signals_only) return;
  const auto self = static_cast<uint32_t>(getpid());
  for (const long call : {SYS_kill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo}) {
    table->push_back({call, EPERM, {Is(0, {self})}});
  }
}

// Calls that change a process by its number: this one's only.
void AddOwnProcessOnly(const FilterOptions& options, Table* table) {
  std::vector<uint32_t> own = {0};
  if (!options.allow_processes) own.push_back(static_cast<uint32_t>(getpid()));
  for (const long call :
       {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
        SYS_sched_setattr, SYS_migrate_pages, SYS_move_pages}) {
    table->push_back({call, EPERM, {Is(0, own)}});
  }
  // Of a process alone: of a group or a user they would change every other one too, and 0 is ours.
  constexpr uint32_t kIoprioWhoProcess = 1;
  table->push_back({SYS_setpriority, EPERM, {Is(0, {PRIO_PROCESS}), Is(1, own)}});
  table->push_back({SYS_ioprio_set, EPERM, {Is(0, {kIoprioWhoProcess}), Is(1, own)}});
  // So that it dies with its parent, and nobody of its user can look into it.
  table->push_back(
      {SYS_prctl, EPERM, {IsNot(0, {PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_PTRACER})}});
}

// Landlock knows neither unix sockets with a name in a folder nor UDP. A datagram socket can send
// to any name without connecting, by a structure in memory that the filter cannot see.
void AddSockets(const FilterOptions& options, Table* table) {
  if (options.network) {
    table->push_back({SYS_socket, EAFNOSUPPORT, {Is(0, {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK})}});
    return;
  }
  const Condition stream{1, true, {SOCK_STREAM, SOCK_SEQPACKET}, kTypeOfSocket};
  table->push_back({SYS_socket, EAFNOSUPPORT, {Is(0, {AF_UNIX}), stream}});
  table->push_back({SYS_socketpair, EAFNOSUPPORT, {Is(0, {AF_UNIX}), stream}});
  table->push_back({SYS_connect, ECONNREFUSED, {}});
  table->push_back({SYS_sendto, EPERM, {Is(4, {0}), {4, true, {0}, ~0U, true}}});
}

void AddFiles(Table* table) {
  // Before Landlock ABI 3 opening to read could empty a file.
  const std::vector<uint32_t> empties = {O_TRUNC | O_RDONLY};
  table->push_back({SYS_openat, EPERM, {{2, false, empties, O_ACCMODE | O_TRUNC}}});
#ifdef SYS_open
  table->push_back({SYS_open, EPERM, {{1, false, empties, O_ACCMODE | O_TRUNC}}});
#endif
  table->push_back({SYS_openat2, ENOSYS, {}});
  // Typing into the terminal that started us, and the ioctl forms of F_SETOWN.
  table->push_back(
      {SYS_ioctl, EPERM, {IsNot(1, {TIOCSTI, TIOCLINUX, kSetOwner[0], kSetOwner[1]})}});
}

std::vector<DeniedCall> DeniedCalls(const FilterOptions& options) {
  Table table;
  for (const long call : kNever) table.push_back({call, EPERM, {}});
  AddProcesses(options, &table);
  AddSignals(options, &table);
  AddOwnProcessOnly(options, &table);
  AddSockets(options, &table);
  AddFiles(&table);
  return table;
}

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
  for (size_t i = 0; i < count; ++i) program->push_back(IfEqual(condition.values[i], count - i, 0));
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

// A denied call fails with EPERM, or as on a machine that has no such call or nobody to connect to,
// where callers know what to do then; a call of another architecture's table kills the process.
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

}  // namespace

Status FilterSystemCalls(const FilterOptions& options) {
  Program program = FilterProgram(options);
  const sock_fprog filter{static_cast<uint16_t>(program.size()), program.data()};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0) {
    return Failed("filter of system calls (seccomp)");
  }
  return {};
}

}  // namespace warpsmith::sandbox
