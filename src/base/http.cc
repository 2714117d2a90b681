#include "base/http.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "base/interrupt.h"
#include "base/result.h"
#include "base/text.h"
#include "base/utf8.h"

namespace warpsmith {
namespace {

// libcurl, opened at run time: the program starts where it is not installed.

// The functions of libcurl.so.4 that are called, by their names without "curl_".
struct Curl {
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_perform) multi_perform;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_multi_poll) multi_poll;
  decltype(&curl_multi_wakeup) multi_wakeup;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
};

// OpenSSL's flavour, then GnuTLS's: the same interface.
constexpr const char* kSonames[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

Error Unavailable(const std::string& what) {
  return {ErrorCode::kUnavailable, "opening libcurl, which speaks with servers: " + what,
          "install it (Debian and Ubuntu: apt-get install libcurl4)"};
}

Result<void*> OpenLibrary() {
  std::string tried;
  for (const char* soname : kSonames) {
    void* handle = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return handle;
    const char* reason = dlerror();
    tried += (tried.empty() ? "" : "; ") + std::string(reason == nullptr ? soname : reason);
  }
  return Unavailable(tried);
}

template <typename F>
Status Load(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  if (*function == nullptr) return Unavailable("it is too old: no " + std::string(name));
  return {};
}

Result<Curl> LoadCurl() {
  void* library = TRY(OpenLibrary());
  Curl curl{};
  decltype(&curl_global_init) global_init = nullptr;
  TRY(Load(library, "curl_global_init", &global_init));
  TRY(Load(library, "curl_easy_init", &curl.easy_init));
  TRY(Load(library, "curl_easy_cleanup", &curl.easy_cleanup));
  TRY(Load(library, "curl_easy_setopt", &curl.easy_setopt));
  TRY(Load(library, "curl_easy_getinfo", &curl.easy_getinfo));
  TRY(Load(library, "curl_easy_strerror", &curl.easy_strerror));
  TRY(Load(library, "curl_multi_init", &curl.multi_init));
  TRY(Load(library, "curl_multi_cleanup", &curl.multi_cleanup));
  TRY(Load(library, "curl_multi_add_handle", &curl.multi_add_handle));
  TRY(Load(library, "curl_multi_remove_handle", &curl.multi_remove_handle));
  TRY(Load(library, "curl_multi_perform", &curl.multi_perform));
  TRY(Load(library, "curl_multi_info_read", &curl.multi_info_read));
  TRY(Load(library, "curl_multi_poll", &curl.multi_poll));
  TRY(Load(library, "curl_multi_wakeup", &curl.multi_wakeup));
  TRY(Load(library, "curl_slist_append", &curl.slist_append));
  TRY(Load(library, "curl_slist_free_all", &curl.slist_free_all));
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return Unavailable("it does not start");
  return curl;
}

// Opened and initialised by the first call, for good. kUnavailable: not installed, or older than
// 7.68 (multi_wakeup).
Result<const Curl*> OpenCurl() {
  static const Result<Curl> opened = LoadCurl();
  if (!opened.ok()) return opened.error();
  return &opened.value();
}

using std::chrono::milliseconds;

constexpr std::string_view kAddressFix = "write it as http://HOST:PORT or https://HOST/PATH";
constexpr int kPollMs = 100;  // how late Ctrl-C is seen; a stop token wakes the poll
constexpr size_t kMaxHeaderBytes = 16 << 10;

struct Transfer {
  const Curl* curl;
  CURL* easy;
  const HttpCall* call;
  HttpReply reply;
  size_t received_bytes = 0, header_bytes = 0;
  std::optional<Error> refused;  // why we ended it
  bool is_whole = false;         // we ended it, for nothing more is to come
};

// A query may hold a key.
std::string Shown(const HttpCall& call) { return call.url.substr(0, call.url.find('?')); }

size_t TakeHeader(char* data, size_t, size_t bytes, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  transfer.header_bytes += bytes;
  const std::string_view line(data, bytes);
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || transfer.header_bytes > kMaxHeaderBytes) return bytes;
  transfer.reply.headers[AsciiLower(line.substr(0, colon))] =
      std::string(Trimmed(line.substr(colon + 1)));
  return bytes;
}

// Anything but `bytes` ends the transfer.
size_t TakeBody(char* data, size_t, size_t bytes, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  transfer.received_bytes += bytes;
  if (transfer.received_bytes > transfer.call->max_reply_bytes) {
    transfer.refused = Error{ErrorCode::kBadInput,
                             "the reply of " + Shown(*transfer.call) + " is larger than " +
                                 std::to_string(transfer.call->max_reply_bytes) + " bytes",
                             "limit its length; nothing of it was kept"};
    return 0;
  }
  long status = 0;
  transfer.curl->easy_getinfo(transfer.easy, CURLINFO_RESPONSE_CODE, &status);
  if (!transfer.call->on_body || status != 200) {
    transfer.reply.body.append(data, bytes);
    return bytes;
  }
  const Status taken = transfer.call->on_body(std::string_view(data, bytes));
  if (!taken.ok()) transfer.refused = taken.error();
  transfer.is_whole = taken.ok() && transfer.call->is_whole && transfer.call->is_whole();
  return taken.ok() && !transfer.is_whole ? bytes : 0;
}

void SetOptions(Transfer& transfer, curl_slist* headers, char* problem) {
  const HttpCall& call = *transfer.call;
  const auto set = [&](CURLoption option, auto value) {
    transfer.curl->easy_setopt(transfer.easy, option, value);
  };
  set(CURLOPT_URL, call.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_HTTPHEADER, headers);
  if (call.body) {
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call.body->size()));
    set(CURLOPT_POSTFIELDS, call.body->data());
  }
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(call.connect_limit.count()));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::max<int64_t>(1, call.total_limit.count())));
  set(CURLOPT_HEADERFUNCTION, &TakeHeader);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_WRITEFUNCTION, &TakeBody);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_ERRORBUFFER, problem);
  set(CURLOPT_USERAGENT, "warpsmith");
}

// The transfer's result, or nothing when it was to be stopped.
std::optional<CURLcode> Drive(const Curl& curl, CURLM* multi, bool heeds_interrupt,
                              const std::stop_token& stop) {
  const std::stop_callback wake(stop, [&] { curl.multi_wakeup(multi); });
  while (!stop.stop_requested() && !(heeds_interrupt && Interrupted())) {
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
  const HttpCall& call = *transfer.call;
  double connected_s = 0;
  transfer.curl->easy_getinfo(transfer.easy, CURLINFO_PRETRANSFER_TIME, &connected_s);
  const std::string reason =
      problem.empty() ? std::string(transfer.curl->easy_strerror(code)) : problem;
  if (code == CURLE_OPERATION_TIMEDOUT && connected_s > 0) {
    return Error{ErrorCode::kTimeout,
                 "no whole reply of " + Shown(call) + " within " +
                     std::to_string(call.total_limit.count()) + " ms",
                 "allow more time, ask for less, or look at the server's load"};
  }
  if (code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
    return Error{ErrorCode::kConfig, "'" + Shown(call) + "' is no address of a server: " + reason,
                 std::string(kAddressFix)};
  }
  return HttpOutcome(ConnectionLost{reason});
}

using EasyHandle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

HeaderList HeadersOf(const Curl& curl, const HttpCall& call) {
  HeaderList headers(nullptr, curl.slist_free_all);
  for (const std::string& header : call.headers) {
    curl_slist* longer = curl.slist_append(headers.get(), header.c_str());
    CHECK(longer != nullptr);
    headers.release();  // NOLINT(bugprone-unused-return-value): it is the head of `longer`
    headers.reset(longer);
  }
  return headers;
}

constexpr double kMostMs = 1e9;  // 11 days: what is longer is as good as never

std::string Header(const HttpReply& reply, const char* name) {
  const auto found = reply.headers.find(name);
  return found == reply.headers.end() ? "" : found->second;
}

std::optional<milliseconds> Milliseconds(const std::string& text, double scale) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(number >= 0)) return {};
  return milliseconds(static_cast<int64_t>(std::min(number * scale, kMostMs)));
}

std::optional<milliseconds> UntilDate(const std::string& text, std::time_t now) {
  std::tm date{};
  if (strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) == nullptr) return {};
  const double seconds = std::difftime(timegm(&date), now);
  return milliseconds(static_cast<int64_t>(std::clamp(seconds * 1e3, 0.0, kMostMs)));
}

}  // namespace

bool HttpAddress::is_private() const {
  // Only what cannot be another: a name that a server of names could answer for is not looked up.
  in_addr four{};
  in6_addr six{};
  if (is_secure || host == "localhost") return true;
  if (inet_pton(AF_INET, host.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  return inet_pton(AF_INET6, host.c_str(), &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six) != 0;
}

Result<HttpAddress> ReadHttpAddress(const std::string& url) {
  constexpr std::string_view kSecure = "https://", kPlain = "http://";
  HttpAddress address;
  address.is_secure = url.starts_with(kSecure);
  const bool has_scheme = address.is_secure || url.starts_with(kPlain);
  const size_t begin = address.is_secure ? kSecure.size() : kPlain.size();
  std::string authority;
  if (has_scheme) authority = url.substr(begin, url.find_first_of("/?#", begin) - begin);
  if (authority.find('@') != std::string::npos) {
    return Error{ErrorCode::kConfig, "the server's address holds a name or password",
                 "take it out: keys and tokens have options of their own"};
  }
  if (authority.empty() || !IsVisible(authority, "\\")) {
    return Error{ErrorCode::kConfig, "'" + ValidUtf8(url) + "' is no address of a server",
                 std::string(kAddressFix)};
  }
  address.host =
      AsciiLower(authority.starts_with('[') ? authority.substr(1, authority.find(']') - 1)
                                            : authority.substr(0, authority.find(':')));
  return address;
}

Result<HttpClient> HttpClient::Open() {
  const Curl& curl = *TRY(OpenCurl());
  std::shared_ptr<void> connections(curl.multi_init(), curl.multi_cleanup);
  CHECK(connections != nullptr);
  return HttpClient(std::move(connections));
}

Result<HttpOutcome> HttpClient::Send(const HttpCall& call, const std::stop_token& stop) {
  const Curl& curl = *TRY(OpenCurl());
  CURLM* const multi = connections_.get();
  const HeaderList headers = HeadersOf(curl, call);
  const EasyHandle easy(curl.easy_init(), curl.easy_cleanup);
  CHECK(easy != nullptr);
  Transfer transfer{&curl, easy.get(), &call, {}, 0, 0, {}, false};
  std::string problem(CURL_ERROR_SIZE, '\0');
  SetOptions(transfer, headers.get(), problem.data());
  CHECK(curl.multi_add_handle(multi, easy.get()) == CURLM_OK);
  const std::optional<CURLcode> code = Drive(curl, multi, call.heeds_interrupt, stop);
  curl.multi_remove_handle(multi, easy.get());
  if (transfer.refused) return *transfer.refused;
  if (!code && !transfer.is_whole) {
    return Error{ErrorCode::kInterrupted, "stopped while waiting for " + Shown(call),
                 "run again to go on"};
  }
  if (!transfer.is_whole && *code != CURLE_OK) return Judge(transfer, *code, problem.c_str());
  long status = 0;
  curl.easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  transfer.reply.status = static_cast<int>(status);
  return HttpOutcome(std::move(transfer.reply));
}

bool IsRetryable(const HttpReply& reply) {
  const std::string said = Header(reply, "x-should-retry");
  if (said == "true" || said == "false") return said == "true";
  const int status = reply.status;
  return status == 408 || status == 409 || status == 429 || (status >= 500 && status < 600);
}

std::optional<milliseconds> RetryAfter(const HttpReply& reply, std::time_t now) {
  if (const auto wait = Milliseconds(Header(reply, "retry-after-ms"), 1)) return wait;
  const std::string after = Header(reply, "retry-after");
  if (const auto wait = Milliseconds(after, 1e3)) return wait;
  return UntilDate(after, now);
}

milliseconds Backoff(const RetryPolicy& policy, int retries_before, double jitter) {
  const double doubled =
      static_cast<double>(policy.first_wait.count()) * std::exp2(std::min(retries_before, 30));
  const double wait = std::min(doubled, static_cast<double>(policy.longest_wait.count()));
  return milliseconds(static_cast<int64_t>(wait * (1 - jitter / 4)));
}

}  // namespace warpsmith
