#include "serve/http/access.h"

#include <algorithm>
#include <charconv>

#include "base/sha256.h"
#include "base/text.h"
#include "base/utf8.h"

namespace warpsmith::serve {
namespace {

Error BadTarget(const std::string& what) {
  return {ErrorCode::kBadInput, "the request's target " + what, "see /openapi.json"};
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Result<std::string> Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
      if (high < 0 || low < 0) return BadTarget("has a bad % escape");
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (IsControl(c)) return BadTarget("has a control character");
    decoded += c;
  }
  return decoded;
}

// Without ":port", with the brackets of an address.
std::string_view WithoutPort(std::string_view host) {
  const size_t bracket = host.find(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  return host.substr(0, colon);
}

}  // namespace

Result<Target> ReadTarget(std::string_view target) {
  if (!target.starts_with('/')) return BadTarget("does not begin with '/'");
  Target read;
  const size_t question = std::min(target.find('?'), target.size());
  std::string_view path = target.substr(0, question);
  if (path.starts_with("/t/")) {
    path.remove_prefix(3);
    const size_t slash = path.find('/');
    if (slash == std::string_view::npos) return BadTarget("has a token and no path behind it");
    read.token = TRY(Decoded(path.substr(0, slash)));
    path.remove_prefix(slash);
  }
  read.path = TRY(Decoded(path));
  for (size_t begin = question + 1; begin < target.size();) {
    const size_t end = std::min(target.find('&', begin), target.size());
    const std::string_view field = target.substr(begin, end - begin);
    begin = end + 1;
    const size_t equals = std::min(field.find('='), field.size());
    const std::string name = TRY(Decoded(field.substr(0, equals)));
    std::string value = TRY(Decoded(field.substr(std::min(equals + 1, field.size()))));
    if (!read.query.emplace(name, std::move(value)).second) {
      return BadTarget("names \"" + name + "\" twice");
    }
  }
  return read;
}

bool IsSameSecret(std::string_view given, std::string_view expected) {
  // Hashes have one length, and where they differ says nothing about where the texts do.
  const std::string a = Sha256Hex(given), b = Sha256Hex(expected);
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

std::string_view BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return {};
  if (AsciiLower(authorization.substr(0, kScheme.size())) != kScheme) return {};
  authorization.remove_prefix(kScheme.size());
  authorization.remove_prefix(std::min(authorization.find_first_not_of(' '), authorization.size()));
  return authorization;
}

bool IsOwnHost(std::string_view host, const std::vector<std::string>& others) {
  const std::string name = AsciiLower(WithoutPort(host));
  if (name == "localhost" || name == "127.0.0.1" || name == "[::1]") return true;
  return std::ranges::any_of(others, [&](const std::string& other) {
    return !other.empty() && (name == AsciiLower(other) || name == "[" + AsciiLower(other) + "]");
  });
}

bool ListenAddress::is_loopback() const {
  return host == "127.0.0.1" || host == "::1" || host == "localhost";
}

Result<ListenAddress> ReadListenAddress(std::string_view text) {
  ListenAddress address;
  const size_t colon = text.rfind(':');
  std::string_view port = text;
  if (colon != std::string_view::npos) {
    std::string_view host = text.substr(0, colon);
    port.remove_prefix(colon + 1);
    if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
    address.host = std::string(host);
  }
  const auto read = std::from_chars(port.data(), port.data() + port.size(), address.port);
  const bool is_port = read.ec == std::errc() && read.ptr == port.data() + port.size() &&
                       address.port >= 0 && address.port <= 65535;
  if (is_port && !address.host.empty()) return address;
  return Error{ErrorCode::kUsage, "--listen " + std::string(text) + " is no address",
               "write HOST:PORT, [ADDRESS]:PORT or PORT"};
}

}  // namespace warpsmith::serve
