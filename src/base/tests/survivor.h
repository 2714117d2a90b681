// A child of this process that outlives its kill, as one that is stuck in a driver does: another
// process traces it and has not taken note of its end, so that its parent is told of none.
#ifndef WARPSMITH_BASE_TESTS_SURVIVOR_H_
#define WARPSMITH_BASE_TESTS_SURVIVOR_H_

#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

namespace warpsmith {

class Survivor {
 public:
  Survivor() {
    if (pipe(ready_.data()) != 0 || pipe(hold_.data()) != 0) return;
    pid_ = fork();
    if (pid_ == 0) BeTraced();
    if (!HearsFrom()) return;
    tracer_ = fork();
    if (tracer_ == 0) Trace();
    is_traced_ = HearsFrom();
  }
  Survivor(const Survivor&) = delete;
  Survivor& operator=(const Survivor&) = delete;
  ~Survivor() { LetGo(); }

  // Not where tracing is forbidden.
  bool is_traced() const { return is_traced_; }
  pid_t pid() const { return pid_; }  // the leader of a group; yours to kill

  void LetGo() {
    for (int* end : {&hold_[1], &hold_[0], &ready_[0], &ready_[1]}) {
      if (*end >= 0) close(*end);
      *end = -1;
    }
    if (tracer_ > 0) waitpid(tracer_, nullptr, 0);
    tracer_ = -1;
  }

 private:
  // Only what may be called after a fork of a process with threads.
  [[noreturn]] void BeTraced() {
    setpgid(0, 0);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    Tell('y');
    while (true) pause();
  }
  [[noreturn]] void Trace() {
    Tell(ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr) == 0 ? 'y' : 'n');
    close(hold_[1]);
    char nothing = 0;
    while (read(hold_[0], &nothing, 1) > 0) continue;
    _exit(0);
  }
  void Tell(char word) {
    if (write(ready_[1], &word, 1) != 1) _exit(1);
  }
  bool HearsFrom() {
    char word = 0;
    return read(ready_[0], &word, 1) == 1 && word == 'y';
  }

  std::array<int, 2> ready_{-1, -1}, hold_{-1, -1};
  pid_t pid_ = -1, tracer_ = -1;
  bool is_traced_ = false;
};

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_TESTS_SURVIVOR_H_
