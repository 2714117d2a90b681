// Text of any bytes, as it goes into JSON, onto a terminal and into a prompt.
#include <nlohmann/json.hpp>

#include "base/display_text.h"
#include "base/utf8.h"
#include "fuzz.h"

using namespace warpsmith;

namespace {

bool HasControls(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::TextOf(data, size);
  const std::string valid = ValidUtf8(text);
  CHECK(IsUtf8(valid) && ValidUtf8(valid) == valid);
  CHECK(!IsUtf8(text) || valid == text);
  CHECK(nlohmann::json::parse(nlohmann::json(valid).dump()).get<std::string>() == valid);

  const std::string shown = ForTerminal(text);
  CHECK(IsUtf8(shown) && !HasControls(shown));
  const std::string quoted = QuotedForModel(text);
  CHECK(!HasControls(quoted) && quoted.find_first_of("<>`{}") == quoted.npos);
  CHECK(nlohmann::json::parse(quoted).is_string());
  return 0;
}
