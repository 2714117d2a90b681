#include "sample_frames.h"

#include <fmt/format.h>

#include "base/compressed_frames.h"
#include "base/compression.h"
#include "base/file.h"

namespace warpsmith::cli {
namespace {

namespace fs = std::filesystem;

Status CheckSamples(const fs::path& path, std::string_view frame, const Sizes& shape) {
  const std::string lines = TRY(Decompress(path.string(), frame));
  if (lines.starts_with(fmt::format("{},{},{},", shape[0], shape[1], shape[2]))) return {};
  return Error{ErrorCode::kBadInput,
               path.string() + " has none of " +
                   fmt::format("{}x{}x{}", shape[0], shape[1], shape[2]) +
                   " where the table has it",
               "put the samples that belong to the table there, or give --csv another name"};
}

Error NotTheTables(const fs::path& path, size_t frames, size_t shapes) {
  return {ErrorCode::kBadInput,
          path.string() + " holds samples of " + std::to_string(frames == 0 ? 0 : frames - 1) +
              " shapes, the table beside it has " + std::to_string(shapes),
          "put the samples that belong to the table there, or give --csv another name"};
}

// What a writer may cut off: behind the table's samples those of one shape, whose rows were not
// written any more. More than that is another table's.
Result<size_t> SampleBytesToKeep(const fs::path& path, const std::vector<Sizes>& shapes) {
  const std::string bytes = TRY(TextIfThere(path));
  const size_t frames = WholeFrames(bytes).size();
  if (frames > shapes.size() + 2) return NotTheTables(path, frames, shapes.size());
  if (frames == 0 && !Compress(kSampleColumns).starts_with(bytes)) {
    return NotTheTables(path, frames, shapes.size());
  }
  return SampleBytes(path, bytes, shapes);
}

}  // namespace

Result<std::string> TextIfThere(const fs::path& path) {
  std::error_code unknown;
  if (!fs::exists(path, unknown) && !unknown) return std::string();
  return ReadFile(path);
}

std::string SampleLines(const Sizes& shape, Mode mode, std::string_view contender,
                        const ContenderTiming& timing) {
  std::string text;
  for (const Sample& sample : timing.samples) {
    text += fmt::format("{},{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g}\n", shape[0], shape[1],
                        shape[2], Name(mode), contender, sample.process, sample.round, sample.us,
                        sample.sm_mhz, sample.temperature_c, sample.power_w);
  }
  return text;
}

fs::path SamplesPath(const fs::path& csv) {
  fs::path path = csv;
  if (path.extension() == ".csv") path.replace_extension();
  path += ".samples.csv.zst";
  return path;
}

Result<size_t> SampleBytes(const fs::path& path, std::string_view bytes,
                           const std::vector<Sizes>& shapes) {
  const std::vector<std::string_view> frames = WholeFrames(bytes);
  if (frames.empty() && shapes.empty()) return size_t{0};
  if (frames.size() < shapes.size() + 1) {
    return NotTheTables(path, frames.size(), shapes.size());
  }
  const std::string header = TRY(Decompress(path.string(), frames.front()));
  if (header != kSampleColumns) {
    return Error{ErrorCode::kBadInput, path.string() + " holds no samples of a comparison",
                 "give --csv another name; docs/files.md says what they look like"};
  }
  size_t whole = frames.front().size();
  for (size_t i = 0; i < shapes.size(); ++i) {
    TRY(CheckSamples(path, frames[i + 1], shapes[i]));
    whole += frames[i + 1].size();
  }
  return whole;
}

Result<AppendFile> OpenSamples(const fs::path& path, const std::vector<Sizes>& shapes) {
  const size_t whole = TRY(SampleBytesToKeep(path, shapes));
  AppendFile file = TRY(AppendFile::Open(path, static_cast<int64_t>(whole)));
  if (whole == 0) TRY(file.Append(Compress(kSampleColumns)));
  return file;
}

}  // namespace warpsmith::cli
