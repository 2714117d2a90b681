#include "serve/mcp/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace warpsmith::mcp {

std::optional<InputLine> LineReader::Cut() {
  for (;;) {
    const size_t end = buffer_.find('\n', searched_);
    if (end == std::string::npos) return CutUnended();
    InputLine line{buffer_.substr(0, end), false};
    buffer_.erase(0, end + 1);
    searched_ = 0;
    if (std::exchange(skipping_, false)) continue;  // of a line that was told already
    if (line.text.size() > most_bytes_) return InputLine{"", true};
    return line;
  }
}

// What came of a line whose end has not come, or never will.
std::optional<InputLine> LineReader::CutUnended() {
  const bool too_long = buffer_.size() > most_bytes_;
  if (skipping_ || too_long) buffer_.clear();
  searched_ = buffer_.size();
  if (!skipping_ && too_long) {
    skipping_ = true;
    return InputLine{"", true};
  }
  if (!ended_ || buffer_.empty()) return std::nullopt;
  searched_ = 0;
  return InputLine{std::exchange(buffer_, ""), false};
}

Status LineReader::Read() {
  std::array<char, 65536> bytes;
  const ssize_t count = read(descriptor_, bytes.data(), bytes.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (count < 0) {
    return Error{ErrorCode::kIo, std::string("cannot read the other side: ") + std::strerror(errno),
                 "connect the input to a pipe or a file that can be read"};
  }
  if (count == 0) ended_ = true;
  buffer_.append(bytes.data(), static_cast<size_t>(count));
  return {};
}

Result<std::optional<InputLine>> LineReader::Next(std::chrono::milliseconds patience) {
  if (auto line = Cut()) return line;
  if (ended_) return std::optional<InputLine>();
  pollfd waiting{descriptor_, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) return std::optional<InputLine>();
  TRY(Read());
  return Cut();
}

}  // namespace warpsmith::mcp
