#include "search/machine/served_device.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/compression.h"
#include "base/display_text.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "core/serialize.h"
#include "store/worker.h"

namespace warpsmith::search {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr size_t kShortestToken = 16, kMostSaidCharacters = 300;
constexpr size_t kMostRecordings = 1000;
constexpr size_t kMostRecordingBytes = size_t{256} << 20;  // of one, unpacked
// Of one request: the server takes 256 jobs and 4 MiB.
constexpr size_t kMostJobs = 32, kMostBodyBytes = size_t{1} << 20;
constexpr size_t kMostKeys = 64;
constexpr milliseconds kLongestPoll{20'000}, kAnswerLimit{30'000}, kProfileLimit{600'000};
constexpr milliseconds kLook{100};              // how late Ctrl-C is seen
constexpr milliseconds kAfterInterrupt{5'000};  // for verdicts that are nearly there
constexpr RetryPolicy kRetry{0, milliseconds(250), milliseconds(15'000)};

template <typename Parse>
auto WithBody(std::string_view body, Parse parse) -> decltype(parse(std::declval<JsonReader>())) {
  const json document = TRY(ParseJson("the server's answer", body));
  return parse(JsonReader("the server's answer", document));
}

json WholeJob(const Job& job) {
  return {{"task", ToJson(job.task)},
          {"workload", ToJson(job.workload)},
          {"candidate", ToJson(job.candidate)},
          {"protocol", ToJson(job.protocol)}};
}

std::string Seconds(milliseconds duration) { return std::to_string(duration.count() / 1000); }

}  // namespace

Result<std::string> ReadTokenFile(const std::string& path) {
  std::string token = TRY(ReadFile(path));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (IsVisible(token, "/") && token.size() >= kShortestToken) return token;
  return Error{ErrorCode::kBadInput,
               path + " holds no token: one line of at least 16 characters without blanks and '/'",
               "make one: head -c 32 /dev/urandom | sha256sum | cut -c-64"};
}

Result<ServerFacts> ServerFactsFrom(std::string_view body) {
  return WithBody(body, [](const JsonReader& object) -> Result<ServerFacts> {
    const int64_t protocol = TRY(object.At("protocol").Int());
    if (protocol != kServeProtocolVersion) {
      return Error{ErrorCode::kVersion,
                   "the server speaks protocol " + std::to_string(protocol) +
                       ", this warpsmith speaks " + std::to_string(kServeProtocolVersion),
                   "use the same version of warpsmith on both sides"};
    }
    ServerFacts facts{TRY(DeviceInfoFrom(object.At("device"))), {}};
    if (!object.Has("recordings")) return facts;
    for (const JsonReader& name : TRY(object.At("recordings").Items())) {
      facts.recordings.push_back(TRY(name.String()));
    }
    if (facts.recordings.size() > kMostRecordings) return object.At("recordings").Bad("fewer");
    return facts;
  });
}

Result<std::vector<std::string>> KeysFrom(std::string_view body) {
  return WithBody(body, [](const JsonReader& object) -> Result<std::vector<std::string>> {
    std::vector<std::string> keys;
    for (const JsonReader& key : TRY(object.At("keys").Items())) keys.push_back(TRY(key.String()));
    return keys;
  });
}

Result<std::vector<ServedJobState>> JobStatesFrom(std::string_view body) {
  return WithBody(body, [](const JsonReader& object) -> Result<std::vector<ServedJobState>> {
    std::vector<ServedJobState> states;
    for (const JsonReader& job : TRY(object.At("jobs").Items())) {
      // One TRY a statement: one that returns within an initialiser leaks what was made before it.
      ServedJobState state;
      state.key = TRY(job.At("key").String());
      state.state = TRY(job.At("state").String());
      if (state.state == "done") {
        const double seconds = TRY(job.At("gpu_seconds").Number());
        if (!std::isfinite(seconds) || seconds < 0) return job.At("gpu_seconds").Bad("seconds");
        Verdict verdict = TRY(VerdictFrom(job.At("verdict")));
        state.completed = Completed{state.key, std::move(verdict), seconds};
      } else if (state.state != "queued" && state.state != "running" && state.state != "unknown") {
        return job.At("state").Bad("queued, running, done or unknown");
      }
      states.push_back(std::move(state));
    }
    return states;
  });
}

Result<Profile> ServedProfileFrom(std::string_view body) {
  return WithBody(body, [](const JsonReader& object) -> Result<Profile> {
    Profile profile;
    profile.source = TRY(object.At("source").String());
    for (const JsonReader& kernel : TRY(object.At("kernels").Items())) {
      KernelProfile one;
      one.kernel = TRY(kernel.At("kernel").String());
      for (const auto& [name, value] : TRY(kernel.At("metrics").Fields())) {
        one.metrics.emplace_back(name, TRY(value.Number()));
      }
      profile.kernels.push_back(std::move(one));
    }
    return profile;
  });
}

std::string ServerSaid(std::string_view body) {
  const auto said = WithBody(body, [](const JsonReader& object) -> Result<std::string> {
    return object.At("error").At("message").String();
  });
  if (!said.ok()) return "";
  return ForTerminal(*said, kMostSaidCharacters);
}

ServedDevice::ServedDevice(HttpClient client, ServerOptions options, std::string token)
    : client_(std::move(client)), options_(std::move(options)), token_(std::move(token)) {}

Result<std::unique_ptr<ServedDevice>> ServedDevice::Connect(const ServerOptions& given) {
  ServerOptions options = given;
  while (options.url.ends_with('/')) options.url.pop_back();
  const HttpAddress address = TRY(ReadHttpAddress(options.url));
  if (!address.is_private() && !options.plain_http) {
    return Error{ErrorCode::kConfig,
                 "plain http to another machine, " + address.host +
                     ": who is on the way reads the token and the candidates",
                 "write https://, or if the network is yours allow it: --plain-http"};
  }
  std::string token;
  if (!options.token_file.empty()) token = TRY(ReadTokenFile(options.token_file));
  std::unique_ptr<ServedDevice> device(
      new ServedDevice(TRY(HttpClient::Open()), std::move(options), std::move(token)));
  const HttpReply reply = TRY(device->AskUntilAnswered(device->CallTo("/v1/device")));
  ServerFacts facts = TRY(ServerFactsFrom(reply.body));
  device->info_ = std::move(facts.device);
  device->info_.needs_artifacts = false;
  std::vector<std::shared_ptr<const store::Recording>> recordings;
  for (size_t i = 0; i < facts.recordings.size(); ++i) {
    HttpCall call = device->CallTo("/v1/recording?number=" + std::to_string(i));
    call.max_reply_bytes = kMostRecordingBytes;
    const HttpReply packed = TRY(device->AskUntilAnswered(call));
    const std::string& name = facts.recordings[i];
    recordings.push_back(TRY(store::Recording::FromLines(
        name, TRY(Decompress(name, packed.body, kMostRecordingBytes)))));
  }
  if (!recordings.empty()) {
    device->recorded_ = TRY(store::RecordedDevice::Of(std::move(recordings), device->info_.origin));
  }
  device->has_answered_ = true;
  return device;
}

HttpCall ServedDevice::CallTo(const std::string& path) const {
  HttpCall call;
  call.url = options_.url + path;
  call.headers = {"Content-Type: application/json", "Expect:"};
  if (!token_.empty()) call.headers.push_back("Authorization: Bearer " + token_);
  call.total_limit = kAnswerLimit;
  return call;
}

Result<std::optional<HttpReply>> ServedDevice::Ask(const HttpCall& call) {
  const auto outcome = client_.Send(call);
  const auto now = Clock::now();
  std::string trouble;
  milliseconds wait = Backoff(kRetry, failures_, jitter_.Uniform());
  if (outcome.ok() && std::holds_alternative<HttpReply>(*outcome)) {
    const HttpReply& reply = std::get<HttpReply>(*outcome);
    // A full line (429) is no loss: the server is there, and is waited for as long as it takes.
    // Patience is counted only while it does not answer, or fails.
    const bool is_there = reply.status == 429 || reply.status < 500;
    if (is_there) lost_since_.reset();
    if (reply.status < 300) {
      failures_ = 0;
      return std::optional(reply);
    }
    // 501: it will never do that.
    if (!IsRetryable(reply) || reply.status == 501) return Refused(reply);
    trouble = "status " + std::to_string(reply.status) + " " + ServerSaid(reply.body);
    wait = std::max(wait, RetryAfter(reply, std::time(nullptr)).value_or(milliseconds(0)));
    if (!is_there && !lost_since_) lost_since_ = now;
  } else {
    const bool was_late = !outcome.ok() && outcome.error().code == ErrorCode::kTimeout;
    if (!outcome.ok() && !was_late) return outcome.error();
    trouble = was_late ? outcome.error().message : std::get<ConnectionLost>(*outcome).reason;
    if (!lost_since_) lost_since_ = now;
  }
  ++failures_;
  next_try_ = now + wait;
  const milliseconds patience = has_answered_ ? options_.patience : options_.first_patience;
  if (!lost_since_ || next_try_ - *lost_since_ <= patience) return std::optional<HttpReply>();
  return Error{ErrorCode::kUnavailable,
               options_.url + " has not answered for " + Seconds(patience) + " s: " + trouble,
               "see that 'warpsmith serve' runs there, then run the same command again; what it "
               "was sent is kept"};
}

Result<HttpReply> ServedDevice::AskUntilAnswered(const HttpCall& call) {
  while (true) {
    if (auto reply = TRY(Ask(call))) return *std::move(reply);
    while (Clock::now() < next_try_) {
      if (Interrupted()) {
        return Error{ErrorCode::kInterrupted, "stopped while waiting for " + options_.url,
                     "run again to go on"};
      }
      std::this_thread::sleep_for(kLook);
    }
  }
}

Error ServedDevice::Refused(const HttpReply& reply) const {
  std::string said = ServerSaid(reply.body);
  if (!token_.empty() && said.find(token_) != std::string::npos) said.clear();
  const std::string what = options_.url + " answered " + std::to_string(reply.status) +
                           (said.empty() ? "" : ": " + said);
  switch (reply.status) {
    case 401:
    case 403:
      return {ErrorCode::kPermission, what,
              token_.empty() ? "name the file that holds the server's token: --token-file FILE"
                             : "look at the token in " + options_.token_file};
    case 400:
    case 413:
      return {ErrorCode::kBadInput, what, ""};
    case 421:
      return {ErrorCode::kConfig, what, "or write the address by a name that the server knows"};
    case 501:
      return {ErrorCode::kUnavailable, what, ""};
    default:
      if (reply.status >= 300 && reply.status < 400) {
        return {ErrorCode::kConfig, what, "redirections are not followed: write the final address"};
      }
      return {ErrorCode::kVersion, what,
              "the address must be of a 'warpsmith serve' of this version"};
  }
}

Status ServedDevice::Submit(std::vector<Job> jobs) {
  for (Job& job : jobs) {
    const bool is_held = recorded_ == nullptr || recorded_->Has(job.key);
    (is_held ? unsent_ : unheld_).push_back(std::move(job));
  }
  return {};
}

// What was refused would be refused again.
Error ServedDevice::Forgetting(Error error) {
  unsent_.clear();
  unheld_.clear();
  sent_.clear();
  return error;
}

Result<std::vector<Completed>> ServedDevice::Collect(milliseconds patience) {
  const std::vector<Completed> nothing;
  if (Interrupted() && !stopped_since_) stopped_since_ = Clock::now();
  const bool has_work = !unsent_.empty() || !sent_.empty();
  if (stopped_since_ && has_work && Clock::now() - *stopped_since_ > kAfterInterrupt) {
    return Forgetting({ErrorCode::kInterrupted,
                       "stopped while " + options_.url + " judges " +
                           std::to_string(unsent_.size() + sent_.size()) + " candidates",
                       "run again to go on: the server keeps their verdicts"});
  }
  if (!has_work && !unheld_.empty()) {
    // As in a replay here: those before it are delivered, and it says what is recorded instead.
    TRY(recorded_->Submit({unheld_.front()}));
    return Forgetting(recorded_->Collect(milliseconds(0)).error());
  }
  const auto until = Clock::now() + patience;
  if (!has_work || Clock::now() < next_try_) {
    std::this_thread::sleep_until(std::min(until, std::max(next_try_, Clock::now())));
    if (!has_work || Clock::now() < next_try_) return nothing;
  }
  const auto posted = Post();
  if (!posted.ok()) return Forgetting(posted.error());
  if (!*posted || sent_.empty()) return nothing;
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  auto completed = Poll(std::clamp(left, milliseconds(0), kLongestPoll));
  if (!completed.ok()) return Forgetting(completed.error());
  return completed;
}

// False: the server did not take them on yet.
Result<bool> ServedDevice::Post() {
  while (!unsent_.empty()) {
    json jobs = json::array();
    std::vector<std::string> keys;
    size_t bytes = 0;
    for (const Job& job : unsent_) {
      json whole = WholeJob(job);
      bytes += JsonText(whole).size();
      if (!keys.empty() && (bytes > kMostBodyBytes || keys.size() >= kMostJobs)) break;
      jobs.push_back(std::move(whole));
      keys.push_back(job.key);
    }
    HttpCall call = CallTo("/v1/jobs");
    call.body = JsonText({{"run", store::ThisWorker()}, {"jobs", jobs}});
    call.heeds_interrupt = false;
    const auto reply = TRY(Ask(call));
    if (!reply) return false;
    // Both sides compute the keys from what they understand of a job. Where they differ, the server
    // would judge something else than was asked.
    if (TRY(KeysFrom(reply->body)) != keys) {
      return Error{ErrorCode::kVersion, options_.url + " computes other measurement keys",
                   "use the same version of warpsmith on both sides"};
    }
    for (const std::string& key : keys) {
      sent_.insert_or_assign(key, std::move(unsent_.front()));
      unsent_.pop_front();
    }
  }
  return true;
}

Result<std::vector<Completed>> ServedDevice::Poll(milliseconds patience) {
  std::string keys;
  size_t count = 0;
  for (const auto& [key, job] : sent_) {
    if (count++ == kMostKeys) break;
    keys += (keys.empty() ? "" : ",") + key;
  }
  HttpCall call = CallTo("/v1/jobs?keys=" + keys +
                         "&wait=" + JsonText(json(static_cast<double>(patience.count()) / 1000)));
  call.total_limit = patience + kAnswerLimit;
  call.heeds_interrupt = false;
  std::vector<Completed> all;
  const auto reply = TRY(Ask(call));
  if (!reply) return all;
  for (ServedJobState& state : TRY(JobStatesFrom(reply->body))) {
    const auto job = sent_.find(state.key);
    if (job == sent_.end()) continue;
    if (state.completed) {
      all.push_back(*std::move(state.completed));
      sent_.erase(job);
    } else if (state.state == "unknown") {  // of a server whose store is another one by now
      unsent_.push_back(std::move(job->second));
      sent_.erase(job);
    }
  }
  return all;
}

Result<Profile> ServedDevice::TakeProfile(const Job& job) {
  HttpCall call = CallTo("/v1/profile");
  call.body = JsonText({{"job", WholeJob(job)}});
  call.total_limit = kProfileLimit;
  return ServedProfileFrom(TRY(AskUntilAnswered(call)).body);
}

}  // namespace warpsmith::search
