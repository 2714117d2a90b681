// What a compiler's worker process and we send each other.
#include "compile/compilation.h"
#include "fuzz.h"

using namespace warpsmith;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::TextOf(data, size);
  const auto items = compile::Unpack("input", bytes);
  if (fuzz::ValueOf(items)) CHECK(compile::Pack(*items) == bytes);
  const auto compilation = compile::UnpackCompilation(bytes);
  if (fuzz::ValueOf(compilation)) {
    const std::string packed = compile::PackCompilation(compilation->first, compilation->second);
    const auto again = compile::UnpackCompilation(packed);
    CHECK(again.ok() && compile::PackCompilation(again->first, again->second) == packed);
  }
  const auto compiled = compile::UnpackCompiled(bytes);
  if (fuzz::ValueOf(compiled)) {
    const std::string packed = compile::PackCompiled(*compiled);
    CHECK(compile::PackCompiled(compile::UnpackCompiled(packed).value()) == packed);
  }
  return 0;
}
