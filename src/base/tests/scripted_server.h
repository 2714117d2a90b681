// An HTTP server for tests: gives the bytes it is told to, one answer a connection, in order.
#ifndef WARPSMITH_BASE_TESTS_SCRIPTED_SERVER_H_
#define WARPSMITH_BASE_TESTS_SCRIPTED_SERVER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"

namespace warpsmith {

struct Answer {
  std::vector<std::string> pieces;     // written one after the other, then the connection is closed
  std::chrono::milliseconds pause{0};  // before each piece
  std::chrono::milliseconds open{0};   // how long the connection stays open after the last
};

inline std::string Http(int status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) +
         " Status\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n" +
         headers + "\r\n" + body;
}

class ScriptedServer {
 public:
  // The last answer is given to all further connections too.
  explicit ScriptedServer(std::vector<Answer> answers) : answers_(std::move(answers)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
    CHECK(listen(listener_, 64) == 0);
    CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    port_ = ntohs(address.sin_port);
    acceptor_ = std::jthread([this](const std::stop_token& stop) { Accept(stop); });
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    acceptor_ = {};  // stops and joins; then no connection is added
    connections_.clear();
    close(listener_);
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  // Whole requests, headers first, in the order in which they were read.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  int most_at_once() const { return most_at_once_; }

 private:
  void Accept(const std::stop_token& stop) {
    for (size_t next = 0; !stop.stop_requested();) {
      pollfd ready{listener_, POLLIN, 0};
      if (poll(&ready, 1, 5) <= 0) continue;
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      const Answer& answer = answers_[std::min(next++, answers_.size() - 1)];
      connections_.emplace_back([this, connection, &answer](const std::stop_token& end) {
        Serve(connection, answer, end);
      });
    }
  }

  void Serve(int connection, const Answer& answer, const std::stop_token& stop) {
    const int at_once = ++now_;
    for (int most = most_at_once_; at_once > most;) {
      if (most_at_once_.compare_exchange_weak(most, at_once)) break;
    }
    Keep(ReadRequest(connection, stop));
    for (const std::string& piece : answer.pieces) {
      Pause(answer.pause, stop);
      if (&piece == &answer.pieces.back()) --now_;  // before the client can see the end
      if (stop.stop_requested() || !Write(connection, piece)) break;
    }
    Pause(answer.open, stop);
    close(connection);
  }

  // Up to the end of the body that Content-Length announces.
  static std::string ReadRequest(int connection, const std::stop_token& stop) {
    constexpr std::string_view kLength = "Content-Length: ";
    std::string request;
    std::vector<char> chunk(16 << 10);
    while (!stop.stop_requested()) {
      const size_t end = request.find("\r\n\r\n"), length = request.find(kLength);
      const size_t body =
          length == std::string::npos ? 0 : std::stoul(request.substr(length + kLength.size()));
      if (end != std::string::npos && request.size() >= end + 4 + body) break;
      pollfd ready{connection, POLLIN, 0};
      if (poll(&ready, 1, 5) <= 0) continue;
      const ssize_t count = read(connection, chunk.data(), chunk.size());
      if (count <= 0) break;
      request.append(chunk.data(), static_cast<size_t>(count));
    }
    return request;
  }

  void Keep(std::string request) {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }

  static void Pause(std::chrono::milliseconds pause, const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any never;
    std::unique_lock lock(mutex);
    never.wait_for(lock, stop, pause, [] { return false; });
  }

  static bool Write(int connection, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }

  const std::vector<Answer> answers_;
  int listener_ = -1, port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::atomic<int> now_{0}, most_at_once_{0};
  std::vector<std::jthread> connections_;
  std::jthread acceptor_;
};

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_TESTS_SCRIPTED_SERVER_H_
