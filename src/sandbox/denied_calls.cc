#include "sandbox/denied_calls.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

namespace warpsmith::sandbox {
namespace {

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

}  // namespace

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

}  // namespace warpsmith::sandbox
