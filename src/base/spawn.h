// The fork and exec under RunProcess and ChildProcess: use those (base/subprocess.h).
#ifndef WARPSMITH_BASE_SPAWN_H_
#define WARPSMITH_BASE_SPAWN_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace warpsmith {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { Close(); }

  int number() const { return number_; }  // negative: none
  int Release();                          // the number, which the caller closes from now on
  void Close();

 private:
  int number_;
};

// The number a child finds its socket under.
inline constexpr int kInheritedSocket = 3;

struct SpawnRequest {
  std::vector<std::string> argv;                    // argv[0] is looked up in PATH
  std::vector<std::string> environment;             // added to ours
  int output = -1;                                  // becomes stdout and stderr; -1: ours
  int socket = -1;                                  // becomes kInheritedSocket; -1: none
  int64_t address_space_bytes = 0, file_bytes = 0;  // 0: unlimited
};

// A child in a process group of its own, without privileges to gain, that is killed when the
// calling thread ends. stdin is /dev/null; nothing else of ours is inherited. kUnavailable when
// there is no such program or it cannot be executed.
Result<pid_t> Spawn(const SpawnRequest& request);

// The same from a thread that lives as long as the process, since PR_SET_PDEATHSIG is sent when the
// thread that forked ends, not the process.
Result<pid_t> SpawnFromLastingThread(const SpawnRequest& request);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_SPAWN_H_
