// HTTP/1.1 on a socket: connections, limits, and what is too slow or too large. What is asked is for
// the handler. Speaks no TLS: a reverse proxy does.
#ifndef WARPSMITH_SERVE_HTTP_HTTP_SERVER_H_
#define WARPSMITH_SERVE_HTTP_HTTP_SERVER_H_

#include <functional>
#include <memory>

#include "base/result.h"
#include "serve/http/access.h"
#include "serve/http/service.h"

namespace warpsmith::serve {

struct HttpServerOptions {
  ListenAddress listen;
  int threads = 4;
  size_t most_connections = 1000;              // beyond them 503
  size_t most_body_bytes = size_t{256} << 20;  // of all requests that are being read
  double header_seconds = 15, body_seconds = 30, write_seconds = 30;
};

using HttpHandler = std::function<void(HttpRequest, Respond)>;

class HttpServer {
 public:
  // Bound and listening. kUsage: no such address here; kBusy: somebody listens there.
  static Result<std::unique_ptr<HttpServer>> Open(const HttpServerOptions& options);
  ~HttpServer();

  int port() const;
  // On one of the threads of Run. Thread-safe.
  void Defer(std::function<void()> work);
  // Serves until `is_over`, which is asked ten times a second and told how many requests are being
  // answered. A Respond that is dropped answers 503.
  void Run(const HttpHandler& handler, const std::function<bool(size_t active)>& is_over);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace warpsmith::serve

#endif  // WARPSMITH_SERVE_HTTP_HTTP_SERVER_H_
