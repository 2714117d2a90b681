#include "agent/models/http.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "agent/models/curl.h"
#include "base/interrupt.h"

namespace warpsmith::models {
namespace {

constexpr int kPollMs = 100;  // how late Ctrl-C is seen; a stop token wakes the poll
constexpr size_t kMaxHeaderBytes = 16 << 10;

struct Transfer {
  const Curl* curl;
  CURL* easy;
  const HttpPost* post;
  HttpReply reply;
  size_t received_bytes = 0, header_bytes = 0;
  std::optional<Error> refused;  // why we ended it
  bool is_whole = false;         // we ended it, for nothing more is to come
};

// A query may hold a key.
std::string Shown(const HttpPost& post) { return post.url.substr(0, post.url.find('?')); }

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kBlank) - first + 1));
}

size_t TakeHeader(char* data, size_t, size_t bytes, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  transfer.header_bytes += bytes;
  const std::string_view line(data, bytes);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || transfer.header_bytes > kMaxHeaderBytes) return bytes;
  std::string name(line.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  transfer.reply.headers[name] = Trimmed(line.substr(colon + 1));
  return bytes;
}

// Anything but `bytes` ends the transfer.
size_t TakeBody(char* data, size_t, size_t bytes, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  transfer.received_bytes += bytes;
  if (transfer.received_bytes > transfer.post->max_reply_bytes) {
    transfer.refused = Error{ErrorCode::kBadInput,
                             "the reply of " + Shown(*transfer.post) + " is larger than " +
                                 std::to_string(transfer.post->max_reply_bytes) + " bytes",
                             "limit its length (max_tokens); nothing of it was kept"};
    return 0;
  }
  long status = 0;
  transfer.curl->easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  if (!transfer.post->on_body || status != 200) {
    transfer.reply.body.append(data, bytes);
    return bytes;
  }
  const Status taken = transfer.post->on_body(std::string_view(data, bytes));
  if (!taken.ok()) transfer.refused = taken.error();
  transfer.is_whole = taken.ok() && transfer.post->is_whole && transfer.post->is_whole();
  return taken.ok() && !transfer.is_whole ? bytes : 0;
}

void SetOptions(Transfer& transfer, curl_slist* headers, char* problem) {
  const HttpPost& post = *transfer.post;
  const auto set = [&](CURLoption option, auto value) {
    transfer.curl->easy_setopt(transfer.easy, option, value);
  };
  set(CURLOPT_URL, post.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTPHEADER, headers);
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(post.body.size()));
  set(CURLOPT_POSTFIELDS, post.body.data());
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(post.connect_limit.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<int64_t>(1, post.total_limit.count())));
  set(CURLOPT_HEADERFUNCTION, &TakeHeader);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_WRITEFUNCTION, &TakeBody);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_ERRORBUFFER, problem);
  set(CURLOPT_USERAGENT, "warpsmith");
}

// The transfer's result, or nothing when it was to be stopped.
std::optional<CURLcode> Drive(const Curl& curl, CURLM* multi, const std::stop_token& stop) {
  const std::stop_callback wake(stop, [&] { curl.multi_wakeup(multi); });
  while (!stop.stop_requested() && !Interrupted()) {
    int running = 0;
    if (curl.multi_perform(multi, &running) != CURLM_OK) return CURLE_FAILED_INIT;
    int left = 0;
    while (const CURLMsg* message = curl.multi_info_read(multi, &left)) {
      if (message->msg == CURLMSG_DONE) return message->data.result;
    }
    curl.multi_poll(multi, nullptr, 0, kPollMs, nullptr);
  }
  return std::nullopt;
}

// Of what failed before the whole reply was here.
Result<HttpOutcome> Judge(const Transfer& transfer, CURLcode code, const std::string& problem) {
  const HttpPost& post = *transfer.post;
  double connected_s = 0;
  transfer.curl->easy_getinfo(transfer.easy, CURLINFO_PRETRANSFER_TIME, &connected_s);
  const std::string reason =
      problem.empty() ? std::string(transfer.curl->easy_strerror(code)) : problem;
  if (code == CURLE_OPERATION_TIMEDOUT && connected_s > 0) {
    return Error{ErrorCode::kTimeout,
                 "no whole reply of " + Shown(post) + " within " +
                     std::to_string(post.total_limit.count()) + " ms",
                 "allow more time, ask for fewer tokens, or look at the server's load"};
  }
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
    return Error{ErrorCode::kConfig, "'" + Shown(post) + "' is no address of a server: " + reason,
                 "write the base URL as https://host/v1"};
  }
  return HttpOutcome(ConnectionLost{reason});
}

using EasyHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using MultiHandle = std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)>;
using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

HeaderList HeadersOf(const Curl& curl, const HttpPost& post) {
  HeaderList headers(nullptr, curl.slist_free_all);
  for (const std::string& header : post.headers) {
    curl_slist* longer = curl.slist_append(headers.get(), header.c_str());
    CHECK(longer != nullptr);
    headers.release();  // NOLINT(bugprone-unused-return-value): it is the head of `longer`
    headers.reset(longer);
  }
  return headers;
}

}  // namespace

Result<HttpOutcome> Post(const HttpPost& post, const std::stop_token& stop) {
  const Curl& curl = *TRY(OpenCurl());
  const HeaderList headers = HeadersOf(curl, post);
  const EasyHandle easy(curl.easy_init(), curl.easy_cleanup);
  const MultiHandle multi(curl.multi_init(), curl.multi_cleanup);
  CHECK(easy != nullptr && multi != nullptr);
  Transfer transfer{&curl, easy.get(), &post, {}, 0, 0, {}, false};
  std::string problem(CURL_ERROR_SIZE, '\0');
  SetOptions(transfer, headers.get(), problem.data());
  CHECK(curl.multi_add_handle(multi.get(), easy.get()) == CURLM_OK);
  const std::optional<CURLcode> code = Drive(curl, multi.get(), stop);
  curl.multi_remove_handle(multi.get(), easy.get());
  if (transfer.refused) return *transfer.refused;
  if (!code && !transfer.is_whole) {
    return Error{ErrorCode::kInterrupted, "stopped while waiting for " + Shown(post),
                 "run again to go on"};
  }
  if (!transfer.is_whole && *code != CURLE_OK) return Judge(transfer, *code, problem.c_str());
  long status = 0;
  curl.easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  transfer.reply.status = static_cast<int>(status);
  return HttpOutcome(std::move(transfer.reply));
}

}  // namespace warpsmith::models
