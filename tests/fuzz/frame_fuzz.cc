// What another process sends: a whole frame, or an error; never a wait for what cannot come.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/frame.h"
#include "fuzz.h"

using namespace warpsmith;

namespace {

constexpr size_t kFitsTheSocket = 64 << 10;

struct SocketPair {
  SocketPair() { CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0); }
  ~SocketPair() {
    for (const int end : ends) close(end);
  }
  std::array<int, 2> ends{};
};

void MustComeBack(const Frame& frame) {
  SocketPair pair;
  CHECK(SendFrame(pair.ends[0], frame.header, frame.payload).ok());
  const auto again = ReceiveFrame(pair.ends[1], std::chrono::seconds(1));
  CHECK(again.ok() && again->header == frame.header && again->payload == frame.payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kFitsTheSocket) return 0;
  SocketPair pair;
  CHECK(send(pair.ends[0], data, size, 0) == static_cast<ssize_t>(size));
  shutdown(pair.ends[0], SHUT_WR);
  while (true) {
    const auto frame = ReceiveFrame(pair.ends[1], std::chrono::seconds(1));
    if (fuzz::ValueOf(frame) == nullptr) {
      CHECK(frame.error().code == ErrorCode::kIo);  // the stream has ended: nothing to wait for
      return 0;
    }
    CHECK(frame->descriptors.empty());
    MustComeBack(*frame);
  }
}
