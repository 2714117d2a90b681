// libcurl, opened at run time: the program starts where it is not installed.
#ifndef WARPSMITH_BASE_CURL_H_
#define WARPSMITH_BASE_CURL_H_

#include <curl/curl.h>

#include "base/result.h"

namespace warpsmith {

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

// Opened and initialised by the first call, for good. kUnavailable: not installed, or older than
// 7.68 (multi_wakeup).
Result<const Curl*> OpenCurl();

}  // namespace warpsmith

#endif  // WARPSMITH_BASE_CURL_H_
