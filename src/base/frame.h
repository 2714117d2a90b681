// Messages between our processes: one frame = JSON header, binary payload, file descriptors.
//
//   u32 magic "WSF1" | u32 header bytes | u64 payload bytes | header | payload   (little endian)
//
// Descriptors travel with the first byte (SCM_RIGHTS). A peer that dies mid-frame, sends a bad
// magic or more than the limits is an Error, never a crash or a hang past `timeout`.
#ifndef WARPSMITH_BASE_FRAME_H_
#define WARPSMITH_BASE_FRAME_H_

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith {

inline constexpr size_t kMaxFrameHeaderBytes = size_t{64} << 20;
inline constexpr size_t kMaxFramePayloadBytes = size_t{1} << 30;
inline constexpr size_t kMaxFrameDescriptors = 240;  // Linux takes 253 at once
inline constexpr std::chrono::milliseconds kSendStallLimit{30'000};

struct Frame {
  std::string header;  // JSON text
  std::string payload;
  std::vector<int> descriptors;  // owned by the receiver
};

// kTimeout when the peer takes nothing for kSendStallLimit; kIo when it is gone. What is over the
// limits is a bug of the caller's.
Status SendFrame(int socket, std::string_view header, std::string_view payload = {},
                 const std::vector<int>& descriptors = {});

// kTimeout when no whole frame came in time; kIo when the peer closed or broke the format. After an
// error the stream may be in the middle of a frame: end the conversation.
Result<Frame> ReceiveFrame(int socket, std::chrono::milliseconds timeout);

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_FRAME_H_
