// TOML of a user's, before anything is known of its fields.
#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "task/toml_text.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::WriteInFolder("input.toml", fuzz::TextOf(data, size));
  const auto read = task::ReadTomlAsJson(fuzz::Folder() / "input.toml", "");
  if (fuzz::ValueOf(read)) CHECK(!read->dump().empty());
  return 0;
}
