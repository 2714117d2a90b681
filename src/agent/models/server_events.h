// Server-sent events (HTML standard, section 9.2.6), as streaming chat servers use them.
#ifndef WARPSMITH_AGENT_MODELS_SERVER_EVENTS_H_
#define WARPSMITH_AGENT_MODELS_SERVER_EVENTS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace warpsmith::models {

struct ServerEvent {
  std::string name;  // of the "event" field; mostly empty
  std::string data;  // lines joined by newlines; any bytes
  bool operator==(const ServerEvent&) const = default;
};

// Takes a stream in pieces of any size: the events do not depend on where it was cut. Holds at most
// one event; whoever feeds it bounds the whole stream.
class ServerEventParser {
 public:
  std::vector<ServerEvent> Feed(std::string_view bytes);
  // The end of the stream. The standard drops an event that no blank line ends; many servers leave
  // the last blank line out, so it is given.
  std::vector<ServerEvent> Finish();

 private:
  void TakeLine(std::string_view line, std::vector<ServerEvent>* events);
  void Dispatch(std::vector<ServerEvent>* events);

  std::string line_;
  bool after_return_ = false;  // a newline now belongs to the line before
  bool first_line_ = true;     // which may begin with a byte order mark
  bool has_data_ = false;
  ServerEvent event_;
};

}  // namespace warpsmith::models

#endif  // WARPSMITH_AGENT_MODELS_SERVER_EVENTS_H_
