// Whether a request may come in, and where it goes. All of it is hostile text.
#ifndef WARPSMITH_SERVE_HTTP_ACCESS_H_
#define WARPSMITH_SERVE_HTTP_ACCESS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace warpsmith::serve {

struct Target {
  std::string path;   // without the token
  std::string token;  // of "/t/TOKEN/path", for clients that cannot send a header; else empty
  std::map<std::string, std::string> query;
};
// "/v1/jobs?keys=a,b&wait=30", percent-decoded. Paths are compared whole and never looked up in a
// file system. kBadInput: no path from '/', a bad escape, a control character, a name twice.
Result<Target> ReadTarget(std::string_view target);

// Takes the same time wherever they differ.
bool IsSameSecret(std::string_view given, std::string_view expected);

// Of "Bearer TOKEN"; empty for anything else.
std::string_view BearerToken(std::string_view authorization);

// The machine's own names and those in `others`, with any port: a page in a browser that was made
// to resolve its name to this machine says another one (DNS rebinding).
bool IsOwnHost(std::string_view host, const std::vector<std::string>& others);

// "HOST:PORT", "[ADDRESS]:PORT" or "PORT".
struct ListenAddress {
  std::string host = "127.0.0.1";
  int port = 8321;
  bool is_loopback() const;
};
Result<ListenAddress> ReadListenAddress(std::string_view text);  // kUsage

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_HTTP_ACCESS_H_
