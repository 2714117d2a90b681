#include "judge/runner.h"

#include <chrono>

#include "base/frame.h"
#include "judge/runner_session.h"
#include "judge/wire.h"

namespace warpsmith::judge {

int RunnerMain(int socket) {
  constexpr std::chrono::hours kUntilClosed{24 * 365};
  RunnerSession session;
  while (true) {
    const Result<Frame> frame = ReceiveFrame(socket, kUntilClosed);
    if (!frame.ok()) return 0;  // the oracle has closed or is gone
    if (!SendFrame(socket, ReplyToText(session.Handle(*frame))).ok()) return 0;
  }
}

}  // namespace warpsmith::judge
