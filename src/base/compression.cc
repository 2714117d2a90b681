#include "base/compression.h"

#include <zstd.h>

#include <algorithm>
#include <memory>

namespace warpsmith {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

constexpr size_t kLikelyRatio = 64;  // between text and its compressed form, at most

Error NotUsable(std::string_view source, std::string_view what) {
  return Error{ErrorCode::kBadInput,
               "decompressing " + std::string(source) + ": " + std::string(what),
               "the file may be cut off or damaged; fetch or make it again"};
}

}  // namespace

std::string Compress(std::string_view bytes, int level) {
  const std::unique_ptr<ZSTD_CCtx, FreeContext> context(ZSTD_createCCtx());
  CHECK(context != nullptr);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string compressed(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress2(context.get(), compressed.data(), compressed.size(),
                                     bytes.data(), bytes.size());
  CHECK(!ZSTD_isError(size));
  compressed.resize(size);
  return compressed;
}

Result<std::string> Decompress(std::string_view source, std::string_view bytes,
                               size_t limit_bytes) {
  const std::unique_ptr<ZSTD_DCtx, FreeContext> context(ZSTD_createDCtx());
  CHECK(context != nullptr);
  ZSTD_inBuffer input{bytes.data(), bytes.size(), 0};
  std::string chunk(ZSTD_DStreamOutSize(), '\0');
  std::string expanded;
  // What a frame says of itself is believed as far as it costs nothing.
  const unsigned long long claimed = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (claimed != ZSTD_CONTENTSIZE_UNKNOWN && claimed != ZSTD_CONTENTSIZE_ERROR) {
    expanded.reserve(std::min<size_t>({claimed, limit_bytes, bytes.size() * kLikelyRatio}));
  }
  size_t remaining = 1;  // 0 at the end of a frame
  while (input.pos < input.size || remaining != 0) {
    ZSTD_outBuffer output{chunk.data(), chunk.size(), 0};
    const size_t consumed_before = input.pos;
    remaining = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(remaining)) return NotUsable(source, ZSTD_getErrorName(remaining));
    if (output.pos > limit_bytes - expanded.size()) {
      return NotUsable(source, "expands past " + std::to_string(limit_bytes) + " bytes");
    }
    expanded.append(chunk, 0, output.pos);
    const bool stuck = input.pos == consumed_before && output.pos == 0;
    if (stuck && remaining != 0) return NotUsable(source, "not whole: the data ends too early");
  }
  return expanded;
}

}  // namespace warpsmith
