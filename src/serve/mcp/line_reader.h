// Lines of a descriptor, none longer than we are willing to hold.
#ifndef WARPSMITH_SERVE_MCP_LINE_READER_H_
#define WARPSMITH_SERVE_MCP_LINE_READER_H_

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/result.h"

namespace warpsmith::mcp {

struct InputLine {
  std::string text;       // without its end
  bool too_long = false;  // it was passed over; `text` is empty
};

class LineReader {
 public:
  // `descriptor` stays the caller's.
  LineReader(int descriptor, size_t most_bytes)
      : descriptor_(descriptor), most_bytes_(most_bytes) {}

  // nullopt: none has come so far. ended() says that none will come.
  Result<std::optional<InputLine>> Next(std::chrono::milliseconds patience);
  bool ended() const { return ended_ && buffer_.empty(); }

 private:
  std::optional<InputLine> Cut();
  std::optional<InputLine> CutUnended();
  Status Read();

  const int descriptor_;
  const size_t most_bytes_;
  std::string buffer_;
  size_t searched_ = 0;    // of the buffer, without a line's end
  bool skipping_ = false;  // the rest of a line that was too long
  bool ended_ = false;
};

}  // namespace warpsmith::mcp

#endif  // WARPSMITH_SERVE_MCP_LINE_READER_H_
