// A `warpsmith serve` as a device. It compiles and judges what it is sent. Keys are hashes of the
// contents, so a request is simply sent again after a lost connection or a restart of the server:
// nothing is judged twice and nothing is lost.
#ifndef WARPSMITH_SEARCH_MACHINE_SERVED_DEVICE_H_
#define WARPSMITH_SEARCH_MACHINE_SERVED_DEVICE_H_

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/http.h"
#include "base/random.h"
#include "core/device.h"
#include "core/profiler.h"
#include "store/recorded_device.h"

namespace warpsmith::search {

inline constexpr int kServeProtocolVersion = 1;

// A token is one line of at least 16 characters. kBadInput.
Result<std::string> ReadTokenFile(const std::string& path);

// What servers answer, read. They are foreign text: kBadInput for anything else, kVersion for
// another protocol.
struct ServerFacts {
  DeviceInfo device;                    // the server's own, with its origin
  std::vector<std::string> recordings;  // names of what it replays; none: it measures
};
Result<ServerFacts> ServerFactsFrom(std::string_view body);
Result<std::vector<std::string>> KeysFrom(std::string_view body);
struct ServedJobState {
  std::string key, state;              // "queued", "running", "done" or "unknown"
  std::optional<Completed> completed;  // of "done"
};
Result<std::vector<ServedJobState>> JobStatesFrom(std::string_view body);
Result<Profile> ServedProfileFrom(std::string_view body);
// What an error's body says, on one line; empty where it says nothing.
std::string ServerSaid(std::string_view body);

struct ServerOptions {
  std::string url;          // http://HOST:PORT, or https://HOST/PATH of a proxy
  std::string token_file;   // empty: no token is sent
  bool plain_http = false;  // http to another machine, where others can read along
  // How long a server that does not answer is asked again: at first, and when it has answered once.
  std::chrono::milliseconds first_patience{3'000}, patience{900'000};
};

// Belongs to one thread.
class ServedDevice : public Device {
 public:
  // kConfig: no address, or plain http; kUnavailable: nobody answers; kPermission: the token;
  // kVersion: another protocol.
  static Result<std::unique_ptr<ServedDevice>> Connect(const ServerOptions& options);

  // The server's, but it needs no artifacts: the server compiles.
  const DeviceInfo& Info() const override { return info_; }
  Status Submit(std::vector<Job> jobs) override;
  // Errors: kUnavailable after the patience; kPermission, kBadInput and kVersion for what the
  // server refuses, which forgets all that was submitted; kInterrupted some seconds after Ctrl-C.
  Result<std::vector<Completed>> Collect(std::chrono::milliseconds patience) override;

  // Where the server replays: the same recordings, for what is asked of them besides verdicts. Null
  // where it measures.
  store::RecordedDevice* recorded() { return recorded_.get(); }
  // Waits for the server. kUnavailable where it profiles nothing.
  Result<Profile> TakeProfile(const Job& job);

 private:
  using Clock = std::chrono::steady_clock;
  ServedDevice(HttpClient client, ServerOptions options, std::string token);
  HttpCall CallTo(const std::string& path) const;
  // Nullopt: not answered yet; asked again no earlier than `next_try_`.
  Result<std::optional<HttpReply>> Ask(const HttpCall& call);
  Result<HttpReply> AskUntilAnswered(const HttpCall& call);
  Error Refused(const HttpReply& reply) const;
  Result<bool> Post();
  Result<std::vector<Completed>> Poll(std::chrono::milliseconds patience);
  Error Forgetting(Error error);

  HttpClient client_;
  const ServerOptions options_;
  const std::string token_;
  DeviceInfo info_;
  std::unique_ptr<store::RecordedDevice> recorded_;
  std::deque<Job> unsent_, unheld_;  // `unheld_`: the server's recordings do not hold them
  std::map<std::string, Job> sent_;  // by key; not answered
  std::optional<Clock::time_point> lost_since_, stopped_since_;
  Clock::time_point next_try_{};
  bool has_answered_ = false;
  int failures_ = 0;
  Random jitter_ = Random::Secret();
};

}  // namespace warpsmith::search

#endif  // WARPSMITH_SEARCH_MACHINE_SERVED_DEVICE_H_
