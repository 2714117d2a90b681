#include "serve/http/http_server.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

// Boost.Asio of Debian 12 uses std::exchange without its header.
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace warpsmith::serve {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr uint32_t kMaxHeaderBytes = 16 << 10;
constexpr size_t kReadBytes = size_t{128} << 10;  // of a connection's buffer
constexpr rlim_t kMostFiles = 8192;
constexpr std::chrono::milliseconds kPoll{100};

using Stream = beast::basic_stream<tcp, asio::strand<asio::io_context::executor_type>>;
using Parser = http::request_parser<http::string_body>;

std::chrono::milliseconds Milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}

auto Into(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

std::string TextOf(beast::string_view text) { return {text.data(), text.size()}; }

// Where an answer is waited for; its connection's strand alone touches it.
struct Slot {
  explicit Slot(const Stream::executor_type& executor) : came(executor) {
    came.expires_at(std::chrono::steady_clock::time_point::max());
  }
  std::optional<HttpResponse> response;
  asio::basic_waitable_timer<std::chrono::steady_clock,
                             asio::wait_traits<std::chrono::steady_clock>, Stream::executor_type>
      came;
};

// Answers when it is called, or, where nobody does, when it goes.
class Answerer {
 public:
  explicit Answerer(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}
  Answerer(const Answerer&) = delete;
  Answerer& operator=(const Answerer&) = delete;
  ~Answerer() { Answer(ErrorResponse(503, "draining", "the server is ending; ask again")); }

  void Answer(HttpResponse response) {
    if (is_answered_.exchange(true)) return;
    asio::post(slot_->came.get_executor(),
               [slot = slot_, response = std::move(response)]() mutable {
                 slot->response = std::move(response);
                 slot->came.cancel();
               });
  }

 private:
  const std::shared_ptr<Slot> slot_;
  std::atomic<bool> is_answered_{false};
};

http::response<http::string_body> Message(const HttpResponse& response, unsigned version,
                                          bool keeps_alive) {
  http::response<http::string_body> message{static_cast<http::status>(response.status), version};
  message.set(http::field::content_type, response.type);
  message.set(http::field::cache_control, "no-store");
  message.set("X-Content-Type-Options", "nosniff");
  if (response.retry_after_s > 0) {
    message.set(http::field::retry_after, std::to_string(response.retry_after_s));
  }
  if (!response.allow.empty()) message.set(http::field::allow, response.allow);
  if (response.status == 401) message.set(http::field::www_authenticate, "Bearer");
  message.body() = response.body;
  message.keep_alive(keeps_alive);
  message.prepare_payload();
  return message;
}

// What to say of a request that cannot be read; nullopt: nothing, the client is gone.
std::optional<HttpResponse> Complaint(const error_code& error) {
  if (error == beast::error::timeout) {
    return ErrorResponse(408, "timeout", "the request did not come in time");
  }
  if (error == http::error::body_limit) {
    return ErrorResponse(413, "too-large", "a body has at most 4 MiB: send smaller batches");
  }
  if (error == http::error::header_limit) {
    return ErrorResponse(431, "too-large", "the header has more than 16 KiB");
  }
  // A half message is the end of a connection that is not worth an answer.
  if (error == http::error::end_of_stream || error == http::error::partial_message ||
      error.category() != http::make_error_code(http::error::bad_method).category()) {
    return std::nullopt;
  }
  return ErrorResponse(400, "bad-request", "this is not HTTP/1.1: " + error.message());
}

void AllowManyFiles() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kMostFiles) return;
  limit.rlim_cur = std::min(limit.rlim_max, kMostFiles);
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Counts while it lives.
class Held {
 public:
  Held(std::atomic<size_t>& total, size_t amount) : total_(total), amount_(amount) {
    total_ += amount_;
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { total_ -= amount_; }

 private:
  std::atomic<size_t>& total_;
  const size_t amount_;
};

}  // namespace

struct HttpServer::Parts {
  explicit Parts(const HttpServerOptions& given) : options(given), context(given.threads) {}

  asio::awaitable<void> Accept();
  asio::awaitable<void> Converse(Stream stream);
  asio::awaitable<bool> Exchange(Stream& stream, beast::flat_buffer& buffer);
  asio::awaitable<bool> Send(Stream& stream, const HttpResponse& response, unsigned version,
                             bool keeps_alive, bool is_head = false);

  const HttpServerOptions options;
  std::atomic<size_t> connections{0}, active{0}, body_bytes{0};
  const HttpHandler* handler = nullptr;
  asio::io_context context;
  tcp::acceptor acceptor{context};
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Open(const HttpServerOptions& options) {
  AllowManyFiles();
  auto parts = std::make_unique<Parts>(options);
  const std::string shown = options.listen.host + ":" + std::to_string(options.listen.port);
  error_code error;
  tcp::resolver resolver(parts->context);
  const auto found = resolver.resolve(options.listen.host, std::to_string(options.listen.port),
                                      tcp::resolver::passive, error);
  if (error || found.empty()) {
    return Error{ErrorCode::kUsage, "--listen " + shown + ": " + error.message(),
                 "name an address of this machine"};
  }
  const tcp::endpoint endpoint = found.begin()->endpoint();
  parts->acceptor.open(endpoint.protocol(), error);
  if (!error) parts->acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) parts->acceptor.bind(endpoint, error);
  if (!error) parts->acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return Error{error == asio::error::address_in_use ? ErrorCode::kBusy : ErrorCode::kUsage,
                 "--listen " + shown + ": " + error.message(),
                 "name a free port and an address of this machine"};
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

int HttpServer::port() const { return parts_->acceptor.local_endpoint().port(); }

void HttpServer::Defer(std::function<void()> work) { asio::post(parts_->context, std::move(work)); }

void HttpServer::Run(const HttpHandler& handler,
                     const std::function<bool(size_t active)>& is_over) {
  Parts& parts = *parts_;
  parts.handler = &handler;
  asio::co_spawn(parts.context, parts.Accept(), asio::detached);
  asio::steady_timer timer(parts.context);
  std::function<void(const error_code&)> tick = [&](const error_code& error) {
    if (error || is_over(parts.active)) return parts.context.stop();
    timer.expires_after(kPoll);
    timer.async_wait(tick);
  };
  tick({});
  std::vector<std::jthread> threads;
  for (int i = 1; i < parts.options.threads; ++i) {
    threads.emplace_back([&parts] { parts.context.run(); });
  }
  parts.context.run();
}

asio::awaitable<void> HttpServer::Parts::Accept() {
  while (true) {
    error_code error;
    tcp::socket socket = co_await acceptor.async_accept(Into(error));
    if (error == asio::error::operation_aborted) co_return;
    if (error) {  // no file descriptor is left: some will be
      asio::steady_timer pause(context, kPoll);
      co_await pause.async_wait(Into(error));
      continue;
    }
    if (connections >= options.most_connections) {
      constexpr std::string_view kFull =
          "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\n"
          "Connection: close\r\n\r\n";
      socket.non_blocking(true, error);
      socket.write_some(asio::buffer(kFull), error);
      continue;
    }
    socket.set_option(tcp::no_delay(true), error);
    const auto strand = asio::make_strand(context.get_executor());
    const auto protocol = socket.local_endpoint(error).protocol();
    if (error) continue;
    tcp::socket::native_handle_type handle = socket.release(error);
    if (error) continue;
    Stream stream(strand);
    stream.socket().assign(protocol, handle, error);
    if (!error) asio::co_spawn(strand, Converse(std::move(stream)), asio::detached);
  }
}

asio::awaitable<void> HttpServer::Parts::Converse(Stream stream) {
  const Held held(connections, 1);
  beast::flat_buffer buffer(kReadBytes);
  while (co_await Exchange(stream, buffer)) continue;
  error_code ignored;
  stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

// One request and its answer; false: the connection ends.
asio::awaitable<bool> HttpServer::Parts::Exchange(Stream& stream, beast::flat_buffer& buffer) {
  Parser parser;
  parser.header_limit(kMaxHeaderBytes);
  parser.body_limit(kMaxBodyBytes);
  error_code error;
  stream.expires_after(Milliseconds(options.header_seconds));
  co_await http::async_read_header(stream, buffer, parser, Into(error));
  if (error) {
    const auto complaint = Complaint(error);
    // Who kept a connection open and asked nothing more is not told so.
    if (complaint && complaint->status != 408) co_await Send(stream, *complaint, 11, false);
    co_return false;
  }
  const size_t length = parser.content_length() ? *parser.content_length()
                        : parser.chunked()      ? kMaxBodyBytes
                                                : 0;
  const Held body(body_bytes, length);
  if (body_bytes > options.most_body_bytes) {
    HttpResponse response = ErrorResponse(503, "overloaded", "too much is being sent; ask again");
    response.retry_after_s = 1;
    co_await Send(stream, response, 11, false);
    co_return false;
  }
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on{http::status::continue_, 11};
    co_await http::async_write(stream, go_on, Into(error));
  }
  stream.expires_after(Milliseconds(options.body_seconds));
  co_await http::async_read(stream, buffer, parser, Into(error));
  if (error) {
    if (const auto complaint = Complaint(error)) co_await Send(stream, *complaint, 11, false);
    co_return false;
  }
  stream.expires_never();
  const Held asking(active, 1);
  http::request<http::string_body> message = parser.release();
  HttpRequest request{TextOf(message.method_string()),
                      TextOf(message.target()),
                      std::move(message.body()),
                      TextOf(message[http::field::host]),
                      TextOf(message[http::field::origin]),
                      TextOf(message[http::field::authorization])};
  const auto slot = std::make_shared<Slot>(stream.get_executor());
  {
    const auto answerer = std::make_shared<Answerer>(slot);
    (*handler)(std::move(request),
               [answerer](HttpResponse response) { answerer->Answer(std::move(response)); });
  }
  if (!slot->response) co_await slot->came.async_wait(Into(error));
  const bool keeps = message.keep_alive();
  co_return co_await Send(stream, *slot->response, message.version(), keeps,
                          message.method() == http::verb::head) &&
      keeps;
}

asio::awaitable<bool> HttpServer::Parts::Send(Stream& stream, const HttpResponse& response,
                                              unsigned version, bool keeps_alive, bool is_head) {
  auto message = Message(response, version, keeps_alive);
  if (is_head) message.body().clear();
  error_code error;
  stream.expires_after(Milliseconds(options.write_seconds));
  co_await http::async_write(stream, message, Into(error));
  co_return !error;
}

}  // namespace warpsmith::serve
