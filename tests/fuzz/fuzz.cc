#include "fuzz.h"

#include <fstream>

#include "base/file.h"

namespace warpsmith::fuzz {

std::pair<std::string_view, std::string_view> CutLine(std::string_view text) {
  const size_t newline = text.find('\n');
  if (newline == text.npos) return {text, {}};
  return {text.substr(0, newline), text.substr(newline + 1)};
}

void MustExplain(const Error& error) { CHECK(!error.message.empty()); }

const std::filesystem::path& Folder() {
  static const TemporaryDirectory folder = TemporaryDirectory::Create("fuzz").value();
  return folder.path();
}

void WriteInFolder(const std::string& name, std::string_view content) {
  const std::filesystem::path path = Folder() / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  CHECK(file.good());
}

}  // namespace warpsmith::fuzz
