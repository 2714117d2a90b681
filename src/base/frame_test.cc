#include "base/frame.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <rapidcheck.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/clock.h"

namespace warpsmith {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

struct Pair {
  Pair() { EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (const int end : ends) {
      if (end >= 0) close(end);
    }
  }
  void CloseSender() { close(std::exchange(ends[0], -1)); }
  std::array<int, 2> ends{};
};

int OpenDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 1024; ++fd) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

TEST(Frame, RoundTrips) {
  EXPECT_TRUE(rc::check([](const std::string& header, const std::string& payload) {
    const Pair pair;
    RC_ASSERT(SendFrame(pair.ends[0], header, payload).ok());
    const auto frame = ReceiveFrame(pair.ends[1], milliseconds(1000));
    RC_ASSERT(frame->header == header);
    RC_ASSERT(frame->payload == payload);
    RC_ASSERT(frame->descriptors.empty());
  }));
}

TEST(Frame, IsLargerThanTheSocketHolds) {
  const Pair pair;
  const std::string payload(20'000'000, 'p');
  std::thread sender([&] { EXPECT_TRUE(SendFrame(pair.ends[0], "{}", payload).ok()); });
  const auto frame = ReceiveFrame(pair.ends[1], milliseconds(10'000));
  sender.join();
  EXPECT_EQ(frame->payload, payload);
}

TEST(Frame, CarriesDescriptors) {
  const Pair pair;
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  const std::vector<int> many(kMaxFrameDescriptors, pipe_ends[0]);
  ASSERT_TRUE(SendFrame(pair.ends[0], "{}", "p", many).ok());
  ASSERT_TRUE(SendFrame(pair.ends[0], "second").ok());
  const auto frame = ReceiveFrame(pair.ends[1], milliseconds(1000));
  ASSERT_EQ(frame->descriptors.size(), many.size());
  struct stat sent {
  }, received{};
  fstat(pipe_ends[0], &sent);
  for (const int descriptor : frame->descriptors) {
    EXPECT_EQ(fstat(descriptor, &received), 0);
    EXPECT_EQ(received.st_ino, sent.st_ino);
    EXPECT_NE(fcntl(descriptor, F_GETFD) & FD_CLOEXEC, 0);
    close(descriptor);
  }
  EXPECT_EQ(ReceiveFrame(pair.ends[1], milliseconds(1000))->header, "second");
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

TEST(Frame, EndsAtItsTimeLimit) {
  const Pair pair;
  const double start_s = MonotonicSeconds();
  EXPECT_EQ(ReceiveFrame(pair.ends[1], milliseconds(30)).error().code, ErrorCode::kTimeout);
  ASSERT_EQ(send(pair.ends[0], "WSF1", 4, 0), 4);  // and then nothing
  EXPECT_EQ(ReceiveFrame(pair.ends[1], milliseconds(30)).error().code, ErrorCode::kTimeout);
  EXPECT_LT(MonotonicSeconds() - start_s, 5);
}

TEST(Frame, AClosedPeerIsAnErrorNotASignal) {
  Pair pair;
  pair.CloseSender();
  EXPECT_EQ(ReceiveFrame(pair.ends[1], milliseconds(1000)).error().code, ErrorCode::kIo);
  EXPECT_EQ(SendFrame(pair.ends[1], "{}", std::string(1000, 'x')).error().code, ErrorCode::kIo);
}

std::string Preamble(const char* magic, uint32_t header_bytes, uint64_t payload_bytes) {
  std::string bytes(magic, 4);
  bytes.append(reinterpret_cast<const char*>(&header_bytes), 4);
  bytes.append(reinterpret_cast<const char*>(&payload_bytes), 8);
  return bytes;
}

Result<Frame> ReceiveBytes(const std::string& bytes) {
  Pair pair;
  EXPECT_EQ(send(pair.ends[0], bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  pair.CloseSender();
  return ReceiveFrame(pair.ends[1], milliseconds(1000));
}

TEST(Frame, RefusesBadMagicAndAbsurdLengths) {
  EXPECT_THAT(ReceiveBytes(Preamble("EVIL", 0, 0)).error().message, HasSubstr("magic"));
  EXPECT_THAT(ReceiveBytes(Preamble("WSF1", 0xffffffff, 0)).error().message, HasSubstr("header"));
  EXPECT_THAT(ReceiveBytes(Preamble("WSF1", 0, ~uint64_t{0})).error().message,
              HasSubstr("payload"));
  // Within the limits, but it never comes: memory is not taken in advance.
  EXPECT_THAT(ReceiveBytes(Preamble("WSF1", 10, kMaxFramePayloadBytes)).error().message,
              HasSubstr("ended in the middle"));
}

TEST(Frame, EveryTruncationIsAnError) {
  const std::string whole = Preamble("WSF1", 5, 7) + "hello" + "payload";
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ReceiveBytes(whole.substr(0, size)).error().code, ErrorCode::kIo) << size;
  }
  EXPECT_EQ(ReceiveBytes(whole)->payload, "payload");
}

TEST(Frame, GarbledFramesNeverCrash) {
  const std::string whole = Preamble("WSF1", 5, 7) + "hello" + "payload";
  EXPECT_TRUE(rc::check([&](const std::vector<std::pair<uint8_t, char>>& changes) {
    std::string garbled = whole;
    for (const auto& [index, value] : changes) garbled[index % garbled.size()] = value;
    (void)ReceiveBytes(garbled);
  }));
}

TEST(Frame, RefusedFramesLeakNoDescriptors) {
  const int before = OpenDescriptors();
  for (int i = 0; i < 3; ++i) {
    Pair pair;
    const std::vector<int> sent(3, STDIN_FILENO);
    ASSERT_TRUE(SendFrame(pair.ends[0], "{}", "payload", sent).ok());
    std::array<char, 16> garbage{};
    // A bad frame with descriptors: sent by hand behind a good one.
    ASSERT_TRUE(SendFrame(pair.ends[0], "", "", sent).ok());
    const auto good = ReceiveFrame(pair.ends[1], milliseconds(1000));
    for (const int descriptor : good->descriptors) close(descriptor);
    // Reading in the middle of the second frame: its descriptors come with the wrong bytes.
    ASSERT_EQ(recv(pair.ends[1], garbage.data(), 2, 0), 2);
    pair.CloseSender();
    EXPECT_FALSE(ReceiveFrame(pair.ends[1], milliseconds(1000)).ok());
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

}  // namespace
}  // namespace warpsmith
