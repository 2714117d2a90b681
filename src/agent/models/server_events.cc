#include "agent/models/server_events.h"

#include <utility>

namespace warpsmith::models {

std::vector<ServerEvent> ServerEventParser::Feed(std::string_view bytes) {
  std::vector<ServerEvent> events;
  while (!bytes.empty()) {
    if (std::exchange(after_return_, false) && bytes.front() == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    const size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end);
    if (end == std::string_view::npos) break;
    after_return_ = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    TakeLine(std::exchange(line_, {}), &events);
  }
  return events;
}

std::vector<ServerEvent> ServerEventParser::Finish() {
  std::vector<ServerEvent> events;
  if (!line_.empty()) TakeLine(std::exchange(line_, {}), &events);
  Dispatch(&events);
  return events;
}

void ServerEventParser::TakeLine(std::string_view line, std::vector<ServerEvent>* events) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (std::exchange(first_line_, false) && line.starts_with(kByteOrderMark)) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (line.empty()) return Dispatch(events);
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_.name = value;
  if (field != "data") return;
  if (std::exchange(has_data_, true)) event_.data += '\n';
  event_.data += value;
}

void ServerEventParser::Dispatch(std::vector<ServerEvent>* events) {
  if (std::exchange(has_data_, false)) events->push_back(std::move(event_));
  event_ = {};
}

}  // namespace warpsmith::models
