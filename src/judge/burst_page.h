// The page through which the oracle releases a burst's calls one by one, and the peer says that
// each is done. Shared memory, so that a hand-over costs no system call.
//
//   u32, little endian: [0] magic | [1] release | [2] done | [3] roles R | [4, 4 + R) slots
//
// release = i + 1: call i may run, on the slots that stand there (in the order of task.tensors).
// done = i + 1: call i has ended and the device is idle. There is no word for giving up: an oracle
// that wants no more calls ends the process.
#ifndef WARPSMITH_JUDGE_BURST_PAGE_H_
#define WARPSMITH_JUDGE_BURST_PAGE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"

namespace warpsmith::judge {

inline constexpr size_t kBurstPageBytes = 4096;
inline constexpr uint32_t kBurstMagic = 0x57534250;
inline constexpr size_t kMostBurstRoles = 256;

class BurstPage {
 public:
  // The oracle's: a file in memory whose size the other end cannot change.
  static Result<BurstPage> Create(size_t roles);
  // The peer's. `descriptor` stays the caller's.
  static Result<BurstPage> Map(int descriptor);
  BurstPage(BurstPage&& other) noexcept;
  BurstPage& operator=(BurstPage&&) = delete;
  ~BurstPage();

  int descriptor() const { return descriptor_.number(); }  // the oracle's
  size_t roles() const { return roles_; }

  // Oracle.
  void Release(uint32_t call, std::span<const uint32_t> slots);
  uint32_t done() const;  // whatever the peer wrote there

  // Peer.
  uint32_t released() const;
  std::vector<uint32_t> slots() const;
  void AnnounceDone(uint32_t call);

 private:
  BurstPage(uint32_t* words, int descriptor, size_t roles)
      : words_(words), descriptor_(descriptor), roles_(roles) {}
  static Result<uint32_t*> MapWords(int descriptor);

  uint32_t* words_;
  FileDescriptor descriptor_;  // none in the peer
  size_t roles_;
};

// One turn of waiting: spins at first, then lets others run, and sleeps in a wait of over a second.
class SpinWait {
 public:
  SpinWait();
  void Turn();
  // True about once a millisecond: time to look whether the other end still lives.
  bool ShouldCheckPeer();

 private:
  int64_t started_ns_, looked_ns_, now_ns_;
  uint64_t turns_ = 0;
};

}  // namespace warpsmith::judge

#endif  // WARPSMITH_JUDGE_BURST_PAGE_H_
