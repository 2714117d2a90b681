// The raw samples that lie beside a table of measurements: a zstd frame of the columns' names, then
// one for each shape, in the table's order.
#ifndef WARPSMITH_TOOLS_SAMPLE_FRAMES_H_
#define WARPSMITH_TOOLS_SAMPLE_FRAMES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/append_file.h"
#include "base/result.h"
#include "core/protocol.h"
#include "core/verdict.h"

namespace warpsmith::cli {

using Sizes = std::array<int64_t, 3>;  // m, n, k

// A line a batch: which contender ("kernel", "ours", "lt_auto", or a baseline's name), when, how
// long a call took, and the clock, temperature and power that were read with it (0: not read).
inline constexpr std::string_view kSampleColumns =
    "m,n,k,mode,contender,process,round,us,sm_mhz,temperature_c,power_w\n";

// One contender's.
std::string SampleLines(const Sizes& shape, Mode mode, std::string_view contender,
                        const ContenderTiming& timing);

// Empty where there is no such file.
Result<std::string> TextIfThere(const std::filesystem::path& path);

// "h200.csv" -> "h200.samples.csv.zst"
std::filesystem::path SamplesPath(const std::filesystem::path& csv);

// How many of `bytes` are the columns' names and these shapes' samples. kBadInput where they are
// not there; `path` is for messages.
Result<size_t> SampleBytes(const std::filesystem::path& path, std::string_view bytes,
                           const std::vector<Sizes>& shapes);

// To append the next shape's: what a killed writer left of a shape that its table lacks is cut off.
// kBadInput where the file is not the table's.
Result<AppendFile> OpenSamples(const std::filesystem::path& path, const std::vector<Sizes>& shapes);

}  // namespace warpsmith::cli

#endif  // WARPSMITH_TOOLS_SAMPLE_FRAMES_H_
