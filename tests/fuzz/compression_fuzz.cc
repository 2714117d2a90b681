// Recordings, bundles and cached artifacts are zstd; so are the samples in a store.
#include "base/compression.h"
#include "fuzz.h"
#include "store/verdict_parts.h"

using namespace warpsmith;

namespace {
constexpr size_t kLimitBytes = 1 << 20;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = fuzz::TextOf(data, size);
  const auto expanded = Decompress("input", bytes, kLimitBytes);
  if (fuzz::ValueOf(expanded)) CHECK(expanded->size() <= kLimitBytes);
  CHECK(Decompress("again", Compress(bytes, 1)).value() == bytes);

  fuzz::ValueOf(store::UnpackSamples("input", bytes));
  const auto samples = store::UnpackSamples("input", Compress(bytes, 1));
  if (fuzz::ValueOf(samples)) {
    CHECK(Decompress("again", store::PackSamples(*samples)).value() == bytes);
  }
  return 0;
}
