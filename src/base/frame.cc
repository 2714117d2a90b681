#include "base/frame.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/clock.h"

namespace warpsmith {
namespace {

constexpr std::array<char, 4> kMagic{'W', 'S', 'F', '1'};
constexpr size_t kPreambleBytes = 16;
constexpr size_t kChunkBytes = size_t{4}
                               << 20;  // memory grows with what arrives, not what is claimed

static_assert(std::endian::native == std::endian::little);

Error Broken(const std::string& what) {
  return Error{ErrorCode::kIo, "message from another process: " + what, ""};
}

// Until `socket` is ready for `events`; an Error at the deadline.
Status Await(int socket, short events, int64_t deadline_ns, const char* waiting_for) {
  while (true) {
    const int64_t left_ns = deadline_ns - MonotonicNs();
    const int64_t left_ms =
        left_ns <= 0 ? 0 : std::min<int64_t>((left_ns + 999'999) / 1'000'000, 1'000'000);
    pollfd waited{socket, events, 0};
    const int ready = poll(&waited, 1, static_cast<int>(left_ms));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return Broken(std::string("poll: ") + std::strerror(errno));
    if (ready == 0 && left_ns <= 0) {
      return Error{ErrorCode::kTimeout, std::string("no ") + waiting_for + " came in time", ""};
    }
  }
}

union ControlBuffer {
  cmsghdr alignment;
  char bytes[CMSG_SPACE(kMaxFrameDescriptors * sizeof(int))];
};

// The first bytes carry the descriptors.
ssize_t SendFirst(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  iovec vector{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &vector;
  message.msg_iovlen = 1;
  ControlBuffer control{};
  if (!descriptors.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(descriptors.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size() * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Status SendAll(int socket, std::string_view bytes, const std::vector<int>& descriptors) {
  bool first = !descriptors.empty();
  while (!bytes.empty()) {
    const ssize_t sent =
        first ? SendFirst(socket, bytes, descriptors)
              : send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      first = false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      const int64_t deadline_ns = MonotonicNs() + kSendStallLimit.count() * 1'000'000;
      TRY(Await(socket, POLLOUT, deadline_ns, "room for a message"));
    } else if (errno != EINTR) {
      return Error{ErrorCode::kIo,
                   std::string("message to another process: ") + std::strerror(errno), ""};
    }
  }
  return {};
}

// Takes over the descriptors in `message`; false when the kernel had to drop some.
bool TakeDescriptors(msghdr& message, std::vector<int>& descriptors) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const size_t before = descriptors.size();
    descriptors.resize(before + count);
    std::memcpy(descriptors.data() + before, CMSG_DATA(header), count * sizeof(int));
  }
  return (message.msg_flags & MSG_CTRUNC) == 0;
}

// A frame on its way in: what was received is closed again unless Take() is reached.
class Receiver {
 public:
  Receiver(int socket, int64_t deadline_ns) : socket_(socket), deadline_ns_(deadline_ns) {}
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver() {
    for (const int descriptor : frame_.descriptors) close(descriptor);
  }

  Result<Frame> Take() {
    std::array<char, kPreambleBytes> preamble{};
    TRY(Fill(preamble.data(), preamble.size()));
    uint32_t header_bytes = 0;
    uint64_t payload_bytes = 0;
    std::memcpy(&header_bytes, preamble.data() + 4, sizeof(header_bytes));
    std::memcpy(&payload_bytes, preamble.data() + 8, sizeof(payload_bytes));
    if (!std::equal(kMagic.begin(), kMagic.end(), preamble.begin())) return Broken("bad magic");
    if (header_bytes > kMaxFrameHeaderBytes) return Broken("header over the limit");
    if (payload_bytes > kMaxFramePayloadBytes) return Broken("payload over the limit");
    TRY(Append(frame_.header, header_bytes));
    TRY(Append(frame_.payload, payload_bytes));
    return std::exchange(frame_, {});
  }

 private:
  Status Append(std::string& text, size_t bytes) {
    while (text.size() < bytes) {
      const size_t before = text.size();
      text.resize(before + std::min(bytes - before, kChunkBytes));
      TRY(Fill(text.data() + before, text.size() - before));
    }
    return {};
  }

  Status Fill(char* bytes, size_t size) {
    while (size > 0) {
      TRY(Await(socket_, POLLIN, deadline_ns_, "message"));
      const ssize_t got = Receive(bytes, size);
      if (got == 0) return Broken(begun_ ? "it ended in the middle" : "the process has closed");
      if (got > 0) {
        bytes += got;
        size -= static_cast<size_t>(got);
      } else if (errno == EMSGSIZE) {
        return Broken("too many descriptors");
      } else if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
        return Broken(std::strerror(errno));
      }
    }
    return {};
  }

  // Only the first read offers room for descriptors: the kernel drops any that come later.
  ssize_t Receive(char* bytes, size_t size) {
    if (begun_) return recv(socket_, bytes, size, MSG_DONTWAIT);
    iovec vector{bytes, size};
    ControlBuffer control{};
    msghdr message{};
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    const ssize_t got = recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got > 0) {
      begun_ = true;
      if (!TakeDescriptors(message, frame_.descriptors)) {
        errno = EMSGSIZE;
        return -1;
      }
    }
    return got;
  }

  int socket_;
  int64_t deadline_ns_;
  bool begun_ = false;
  Frame frame_;
};

}  // namespace

Status SendFrame(int socket, std::string_view header, std::string_view payload,
                 const std::vector<int>& descriptors) {
  CHECK(header.size() <= kMaxFrameHeaderBytes && payload.size() <= kMaxFramePayloadBytes);
  CHECK(descriptors.size() <= kMaxFrameDescriptors);
  const auto header_bytes = static_cast<uint32_t>(header.size());
  const uint64_t payload_bytes = payload.size();
  std::string start(kPreambleBytes, '\0');
  std::copy(kMagic.begin(), kMagic.end(), start.begin());
  std::memcpy(start.data() + 4, &header_bytes, sizeof(header_bytes));
  std::memcpy(start.data() + 8, &payload_bytes, sizeof(payload_bytes));
  start += header;
  TRY(SendAll(socket, start, descriptors));
  return SendAll(socket, payload, {});
}

Result<Frame> ReceiveFrame(int socket, std::chrono::milliseconds timeout) {
  return Receiver(socket, MonotonicNs() + std::chrono::nanoseconds(timeout).count()).Take();
}

}  // namespace warpsmith
