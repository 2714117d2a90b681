#include "base/curl.h"

#include <dlfcn.h>

#include <string>

namespace warpsmith {
namespace {

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

}  // namespace

Result<const Curl*> OpenCurl() {
  static const Result<Curl> opened = LoadCurl();
  if (!opened.ok()) return opened.error();
  return &opened.value();
}

}  // namespace warpsmith
