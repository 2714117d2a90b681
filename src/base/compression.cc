#include "base/compression.h"

#include <sys/mman.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace warpsmith {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

constexpr uintptr_t kHugePage = 2 << 20;
constexpr size_t kLikelyRatio = 64;  // between text and its compressed form, at most

Error NotUsable(std::string_view source, std::string_view what) {
  return Error{ErrorCode::kBadInput,
               "decompressing " + std::string(source) + ": " + std::string(what),
               "the file may be cut off or damaged; fetch or make it again"};
}

// Zeros. Large ones in huge pages, where the system has them: its faults take as long as the rest.
std::string Zeros(size_t size) {
  std::string zeros;
  zeros.reserve(size);
  const auto begin = reinterpret_cast<uintptr_t>(zeros.data());
  const uintptr_t first = (begin + kHugePage - 1) / kHugePage * kHugePage;
  const uintptr_t last = (begin + size) / kHugePage * kHugePage;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the aligned part of its own memory
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
  zeros.resize(size);
  return zeros;
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
  // What a frame says of itself is believed as far as it costs little: a whole frame into one piece
  // of memory takes half the time.
  size_t room = ZSTD_DStreamOutSize();
  const unsigned long long claimed = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (claimed != ZSTD_CONTENTSIZE_UNKNOWN && claimed != ZSTD_CONTENTSIZE_ERROR) {
    room = std::min<size_t>({claimed, limit_bytes, bytes.size() * kLikelyRatio});
  }
  std::string expanded = Zeros(room);
  size_t length = 0, remaining = 1;  // 0 at the end of a frame
  while (input.pos < input.size || remaining != 0) {
    if (length == expanded.size()) {
      expanded.resize(length + std::max(ZSTD_DStreamOutSize(), length / 2));
    }
    ZSTD_outBuffer output{expanded.data(), expanded.size(), length};
    const size_t consumed_before = input.pos;
    remaining = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(remaining)) return NotUsable(source, ZSTD_getErrorName(remaining));
    if (output.pos > limit_bytes) {
      return NotUsable(source, "expands past " + std::to_string(limit_bytes) + " bytes");
    }
    const bool stuck = input.pos == consumed_before && output.pos == length;
    if (stuck && remaining != 0) return NotUsable(source, "not whole: the data ends too early");
    length = output.pos;
  }
  expanded.resize(length);
  return expanded;
}

std::vector<std::string_view> WholeFrames(std::string_view bytes) {
  std::vector<std::string_view> frames;
  while (!bytes.empty()) {
    const size_t size = ZSTD_findFrameCompressedSize(bytes.data(), bytes.size());
    if (ZSTD_isError(size) || size > bytes.size()) break;
    frames.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return frames;
}

}  // namespace warpsmith
