#include "command_tree.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/utf8.h"

namespace warpsmith::cli {

std::string CheckSeconds(const std::string& text) {
  double seconds = -1;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, seconds);
  if (error == std::errc() && parsed == end && std::isfinite(seconds) && seconds >= 0) return "";
  return "'" + text + "': expected a number of seconds from 0";
}

std::string CheckWholeNumber(const std::string& text) {
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() ? "" : "'" + text + "': expected a whole number from 0";
}

std::string CheckFailOn(const std::string& text) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view condition = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (condition != "regression" && condition != "incorrect" && condition != "never") {
      return "'" + std::string(condition) +
             "': expected regression, incorrect or never, separated by commas";
    }
  }
  return "";
}

std::string CheckOutputFile(const std::string& path) {
  const std::filesystem::path file(path);
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) {
    return "'" + path + "': there is no folder " + folder.string();
  }
  return std::filesystem::is_directory(file, none) ? "'" + path + "' is a folder" : "";
}

bool AsksForJson(int argc, const char* const* argv) {
  return std::any_of(argv, argv + argc,
                     [](const char* argument) { return std::string_view(argument) == "--json"; });
}

std::string CheckIsUtf8(int argc, const char* const* argv) {
  for (int i = 1; i < argc; ++i) {
    if (!IsUtf8(argv[i])) {
      return "argument " + std::to_string(i) + " is not UTF-8: '" + ValidUtf8(argv[i]) + "'";
    }
  }
  return "";
}

}  // namespace warpsmith::cli
