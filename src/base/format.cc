// fmt's formatting, compiled here and nowhere else: distributions have it as headers and as a shared
// library, which is not linked, and every source that includes fmt/format.h would take three seconds
// more. The others include fmt/core.h, which declares what this defines.
#define FMT_HEADER_ONLY 1
#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <tuple>

namespace warpsmith {

// Named, so that the compiler keeps what is inline in those headers.
[[gnu::used]] constexpr std::tuple kCompiledFormatting(
    static_cast<std::string (*)(fmt::string_view, fmt::format_args)>(&fmt::vformat),
    static_cast<void (*)(fmt::string_view, fmt::format_args)>(&fmt::vprint),
    static_cast<void (*)(std::FILE*, fmt::string_view, fmt::format_args)>(&fmt::vprint));

}  // namespace warpsmith
